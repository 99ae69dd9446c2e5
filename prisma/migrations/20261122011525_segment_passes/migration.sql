-- AlterTable
ALTER TABLE "segments" DROP COLUMN "compute_ms",
ADD COLUMN     "pass" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "pass_added" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "pass_after" UUID,
ADD COLUMN     "pass_asked" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN     "pass_is_slow" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "pass_removed" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "pass_until" UUID,
ADD COLUMN     "revision" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN     "troubled_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "segment_checks" (
    "project_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "rests_until" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00',
    "windows_at" TIMESTAMPTZ(3) NOT NULL,
    "scan_to" TIMESTAMPTZ(3),
    "scan_after" UUID,

    CONSTRAINT "segment_checks_pkey" PRIMARY KEY ("project_id")
);

-- CreateIndex
CREATE INDEX "segment_checks_due_at_idx" ON "segment_checks"("due_at");


-- AddForeignKey
ALTER TABLE "segment_checks" ADD CONSTRAINT "segment_checks_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on.

-- Of segments that share a slug the oldest keeps it; the others get the first free number.
DO $$
DECLARE
  double record;
  number int;
BEGIN
  FOR double IN
    SELECT "project_id", "id", "slug" FROM (
      SELECT "project_id", "id", "slug", row_number() OVER (PARTITION BY "project_id", "slug" ORDER BY "id") AS place
      FROM "segments"
    ) ranked WHERE place > 1 ORDER BY "id"
  LOOP
    number := 2;
    WHILE EXISTS (SELECT FROM "segments"
      WHERE "project_id" = double."project_id" AND "slug" = double."slug" || '-' || number) LOOP
      number := number + 1;
    END LOOP;
    UPDATE "segments" SET "slug" = double."slug" || '-' || number
    WHERE "project_id" = double."project_id" AND "id" = double."id";
  END LOOP;
END $$;

CREATE UNIQUE INDEX "segments_project_id_slug_key" ON "segments"("project_id", "slug");

-- Members that are followed already need no pass; segments that were to be computed do, and all are looked at soon.
UPDATE "segments" SET "pass_asked" = 0 WHERE "type" = 'STATIC' OR NOT "track_membership" OR "computed_at" IS NOT NULL;
INSERT INTO "segment_checks" ("project_id", "due_at", "windows_at")
SELECT "project_id", now(), coalesce(min("computed_at"), now()) FROM "segments" GROUP BY "project_id";

DROP INDEX "segments_tracked";

-- Written all the time.
ALTER TABLE "segment_checks" SET (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);
