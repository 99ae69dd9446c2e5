-- CreateEnum
CREATE TYPE "consumer" AS ENUM ('SEGMENT', 'CAMPAIGN', 'WORKFLOW');

-- CreateEnum
CREATE TYPE "interest_kind" AS ENUM ('EVENT', 'DATA', 'FIELD', 'SEGMENT');

-- CreateTable
CREATE TABLE "interests" (
    "project_id" UUID NOT NULL,
    "consumer" "consumer" NOT NULL,
    "consumer_id" UUID NOT NULL,
    "kind" "interest_kind" NOT NULL,
    "name" TEXT NOT NULL,
    "listens" BOOLEAN NOT NULL,

    CONSTRAINT "interests_pkey" PRIMARY KEY ("project_id","consumer","consumer_id","kind","name")
);

-- CreateTable
CREATE TABLE "changes" (
    "project_id" UUID NOT NULL,
    "consumer" "consumer" NOT NULL,
    "id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "event_id" UUID,
    "name" TEXT,
    "keys" TEXT[],

    CONSTRAINT "changes_pkey" PRIMARY KEY ("project_id","consumer","id")
);

-- CreateIndex
CREATE INDEX "interests_project_id_kind_name_idx" ON "interests"("project_id", "kind", "name");

-- AddForeignKey
ALTER TABLE "interests" ADD CONSTRAINT "interests_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "changes" ADD CONSTRAINT "changes_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on.

-- Asked by every change of a contact and every event.
CREATE INDEX "interests_listening" ON "interests" ("project_id", "consumer", "kind", "name") WHERE "listens";

-- Written and emptied all the time.
ALTER TABLE "changes" SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- What the conditions of segments name; the first key of a path ends at a dot that no backslash is before.
INSERT INTO "interests" ("project_id", "consumer", "consumer_id", "kind", "name", "listens")
WITH RECURSIVE tree AS (
  SELECT "project_id", "id", "condition" AS node FROM "segments" WHERE "type" = 'DYNAMIC'
  UNION ALL
  SELECT tree."project_id", tree."id", g.value -> 'conditions' FROM tree, jsonb_path_query(tree.node, '$.groups[*]') AS g (value)
  WHERE jsonb_typeof(g.value -> 'conditions') = 'object'
),
named AS (
  SELECT DISTINCT "project_id", "id", f.value #>> '{}' AS field
  FROM tree, jsonb_path_query(tree.node, '$.groups[*].filters[*].field') AS f (value)
)
SELECT DISTINCT "project_id", 'SEGMENT'::"consumer", "id",
  (CASE WHEN field LIKE 'data.%' THEN 'DATA' WHEN field LIKE 'segment.%' THEN 'SEGMENT'
    WHEN field LIKE 'event.%' OR field LIKE 'email.%' THEN 'EVENT' ELSE 'FIELD' END)::"interest_kind",
  CASE
    WHEN field LIKE 'data.%' THEN
      regexp_replace(substring(substr(field, 6) FROM '^(?:[^.\\]|\\[.\\]|\\(?![.\\]))*'), '\\([.\\])', '\1', 'g')
    WHEN field LIKE 'segment.%' THEN lower(substr(field, 9))
    WHEN field LIKE 'event.%' THEN substr(field, 7)
    WHEN field LIKE 'email.%' THEN CASE field WHEN 'email.sent' THEN 'email.sent' WHEN 'email.delivered' THEN 'email.delivery'
      WHEN 'email.opened' THEN 'email.open' WHEN 'email.clicked' THEN 'email.click' WHEN 'email.bounced' THEN 'email.bounce'
      ELSE 'email.complaint' END
    ELSE field
  END,
  false
FROM named;

-- Tracked segments listen, and so do the conditions of those that they name.
WITH RECURSIVE listening AS (
  SELECT "project_id", "id" FROM "segments" WHERE "type" = 'DYNAMIC' AND "track_membership"
  UNION
  SELECT i."project_id", i."name"::uuid FROM listening l
  JOIN "interests" i ON i."project_id" = l."project_id" AND i."consumer_id" = l."id" AND i."kind" = 'SEGMENT'
)
UPDATE "interests" i SET "listens" = true FROM listening l WHERE i."project_id" = l."project_id" AND i."consumer_id" = l."id";

-- What nobody has followed yet is carried over: anything about the contact may have changed.
INSERT INTO "changes" ("project_id", "consumer", "id", "contact_id")
SELECT "project_id", 'SEGMENT', "id", "contact_id" FROM "contact_changes";

DROP TABLE "contact_changes";
