-- CreateTable
CREATE TABLE "deliveries" (
    "project_id" UUID NOT NULL,
    "email_id" UUID NOT NULL,
    "priority" SMALLINT NOT NULL,
    "size" INTEGER NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "taken_by" UUID,
    "taken_attempt" INTEGER,
    "uncertain" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("project_id","email_id")
);

-- CreateTable
CREATE TABLE "provider_troubles" (
    "name" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "advice" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "provider_troubles_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "work_sweeps" (
    "kind" TEXT NOT NULL,
    "swept_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "work_sweeps_pkey" PRIMARY KEY ("kind")
);

-- By hand from here on.

-- An older version that still runs must not accept or settle mail while it is carried over.
LOCK TABLE "emails" IN ACCESS EXCLUSIVE MODE;

-- Mail that waits is carried over; what a worker held may have been handed over already.
INSERT INTO "deliveries" ("project_id", "email_id", "priority", "size", "attempts", "due_at", "uncertain")
SELECT e."project_id", e."id", CASE e."source_type" WHEN 'CAMPAIGN' THEN 2 WHEN 'WORKFLOW' THEN 1 ELSE 0 END,
  coalesce(octet_length(c."html"), 0) + coalesce((SELECT sum(octet_length(a."content")) FROM "email_attachments" a
    WHERE a."project_id" = e."project_id" AND a."set_id" = e."attachment_set_id"), 0),
  e."attempts", CASE e."status" WHEN 'FAILED' THEN 'infinity' WHEN 'SENDING' THEN now() ELSE e."due_at" END,
  e."status" = 'SENDING'
FROM "emails" e LEFT JOIN "email_contents" c ON c."project_id" = e."project_id" AND c."email_id" = e."id"
WHERE e."status" IN ('PENDING', 'SENDING', 'FAILED');

UPDATE "emails" SET "status" = 'PENDING',
  "error" = 'The worker ended while handing this message over; it may arrive twice.' WHERE "status" = 'SENDING';

DROP INDEX "emails_due";
DROP INDEX "emails_sending";
DROP INDEX "emails_failed";

ALTER TABLE "emails" DROP COLUMN "claim_id",
DROP COLUMN "due_at",
DROP COLUMN "lease_until";

-- What goes next, by project; and what is being handed over.
CREATE INDEX "deliveries_due" ON "deliveries" ("project_id", "priority", "due_at", "email_id") WHERE "taken_by" IS NULL;
CREATE INDEX "deliveries_taken" ON "deliveries" ("project_id", "taken_by") WHERE "taken_by" IS NOT NULL;

-- Written and emptied all the time.
ALTER TABLE "deliveries" SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02);

-- Worthless after a crash.
ALTER TABLE "work_sweeps" SET UNLOGGED;
