-- expand
-- DropIndex
DROP INDEX "workflow_executions_project_id_workflow_id_status_idx";

-- AlterTable
ALTER TABLE "workflows" ADD COLUMN     "deleted" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "next_at" TIMESTAMPTZ(3),
ADD COLUMN     "run_after" UUID,
ADD COLUMN     "run_for" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "workflow_executions" ADD COLUMN     "next_at" TIMESTAMPTZ(3),
ADD COLUMN     "revision" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "waiting_since" TIMESTAMPTZ(3),
ADD COLUMN     "woken_by" UUID;

-- AlterTable
ALTER TABLE "workflow_entries" ADD COLUMN     "recent" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN     "recent_since" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "workflow_executions_project_id_workflow_id_status_id_idx" ON "workflow_executions"("project_id", "workflow_id", "status", "id");

-- CreateIndex
CREATE INDEX "workflow_executions_project_id_workflow_id_id_idx" ON "workflow_executions"("project_id", "workflow_id", "id");

-- Written by hand: executions and schedules that can go on, and how the table is kept.
CREATE INDEX "workflow_executions_next" ON "workflow_executions" ("project_id", "next_at", "id") WHERE "next_at" IS NOT NULL;
CREATE INDEX "workflows_next" ON "workflows" ("next_at", "project_id") WHERE "next_at" IS NOT NULL;
ALTER TABLE "workflow_executions" SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
