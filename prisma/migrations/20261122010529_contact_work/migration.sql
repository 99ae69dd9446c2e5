-- AlterTable
ALTER TABLE "contact_jobs" ADD COLUMN     "advanced_at" TIMESTAMPTZ(3),
ADD COLUMN     "file_offset" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "file_row" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "slow_tries" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "step_size" INTEGER NOT NULL DEFAULT 500,
ADD COLUMN     "survey" JSONB;

-- CreateTable
CREATE TABLE "contact_erasures" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "contact_id" UUID,
    "attachment_sets" UUID[],
    "answers_after" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "contact_erasures_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "contact_field_deletions" (
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL,
    "up_to" UUID,
    "after" UUID,
    "deleted_from" INTEGER NOT NULL DEFAULT 0,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "contact_field_deletions_pkey" PRIMARY KEY ("project_id","name")
);

-- CreateTable
CREATE TABLE "contact_totals" (
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "counted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "contact_totals_pkey" PRIMARY KEY ("project_id","key")
);

-- AddForeignKey
ALTER TABLE "contact_erasures" ADD CONSTRAINT "contact_erasures_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "contact_field_deletions" ADD CONSTRAINT "contact_field_deletions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "contact_totals" ADD CONSTRAINT "contact_totals_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Written by hand: Prisma knows no partial indexes.
CREATE INDEX "contact_jobs_unfinished" ON "contact_jobs" ("project_id", "advanced_at" NULLS FIRST, "id")
  WHERE "state" IN ('waiting', 'active');
CREATE INDEX "contact_field_deletions_running" ON "contact_field_deletions" ("project_id")
  WHERE "completed_at" IS NULL;

-- Traces whose removal waited in the queue of the version before are looked for everywhere once.
INSERT INTO "contact_erasures" ("project_id", "id", "attachment_sets")
SELECT "id", "id", ARRAY(
  SELECT DISTINCT a."set_id" FROM "email_attachments" a WHERE a."project_id" = p."id" AND NOT EXISTS (
    SELECT FROM "emails" e WHERE e."project_id" = a."project_id" AND e."attachment_set_id" = a."set_id"))
FROM "projects" p;
