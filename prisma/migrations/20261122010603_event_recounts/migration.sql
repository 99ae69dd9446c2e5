-- DropForeignKey
ALTER TABLE "event_folds" DROP CONSTRAINT "event_folds_project_id_fkey";

-- DropTable
DROP TABLE "event_folds";

-- CreateTable
CREATE TABLE "event_recounts" (
    "project_id" UUID NOT NULL,
    "settled_until" TIMESTAMPTZ(3) NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "counted_at" TIMESTAMPTZ(3),
    "took_ms" INTEGER NOT NULL DEFAULT 0,
    "open_count" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "event_recounts_pkey" PRIMARY KEY ("project_id")
);

-- CreateTable
CREATE TABLE "event_deletions" (
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "before" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "event_deletions_pkey" PRIMARY KEY ("project_id","name")
);

-- CreateIndex
CREATE INDEX "event_recounts_due_at_idx" ON "event_recounts"("due_at");

-- CreateIndex
CREATE INDEX "event_counts_project_id_day_idx" ON "event_counts"("project_id", "day");

-- AddForeignKey
ALTER TABLE "event_recounts" ADD CONSTRAINT "event_recounts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "event_deletions" ADD CONSTRAINT "event_deletions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on.

-- The service counts again: these were counted up to some event, not up to the end of a day.
TRUNCATE "event_counts", "event_names";
