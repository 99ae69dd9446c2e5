-- DropForeignKey
ALTER TABLE "campaign_recipients" DROP CONSTRAINT "campaign_recipients_project_id_contact_id_fkey";

-- DropIndex
DROP INDEX "campaign_recipients_project_id_campaign_id_status_idx";

-- AlterTable
ALTER TABLE "campaigns" DROP COLUMN "total_recipients",
ADD COLUMN     "audience" JSONB,
ADD COLUMN     "cancelled_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "deleted" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "failed_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "frozen_to" UUID,
ADD COLUMN     "is_frozen" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "next_at" TIMESTAMPTZ(3),
ADD COLUMN     "paused" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "pending_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "sending_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "skipped_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "started_at" TIMESTAMPTZ(3),
ADD COLUMN     "step_size" INTEGER NOT NULL DEFAULT 2000,
ADD COLUMN     "suppressed_count" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "up_to" UUID;

-- AlterTable
ALTER TABLE "campaign_recipients" ADD COLUMN     "unsubscribed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "emails" ADD COLUMN     "variables" JSONB;

-- AlterTable
ALTER TABLE "deliveries" ADD COLUMN     "campaign_id" UUID;

-- CreateTable
CREATE TABLE "campaign_tallies" (
    "project_id" UUID NOT NULL,
    "campaign_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "pending" INTEGER NOT NULL DEFAULT 0,
    "sending" INTEGER NOT NULL DEFAULT 0,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "suppressed" INTEGER NOT NULL DEFAULT 0,
    "skipped" INTEGER NOT NULL DEFAULT 0,
    "cancelled" INTEGER NOT NULL DEFAULT 0,
    "delivered" INTEGER NOT NULL DEFAULT 0,
    "opened" INTEGER NOT NULL DEFAULT 0,
    "clicked" INTEGER NOT NULL DEFAULT 0,
    "bounced" INTEGER NOT NULL DEFAULT 0,
    "complained" INTEGER NOT NULL DEFAULT 0,
    "unsubscribed" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "campaign_tallies_pkey" PRIMARY KEY ("project_id","campaign_id","id")
);

-- CreateIndex
CREATE INDEX "campaign_recipients_project_id_campaign_id_status_contact_i_idx" ON "campaign_recipients"("project_id", "campaign_id", "status", "contact_id");

-- Written by hand: indexes of some rows only, and how the tables are kept.
CREATE INDEX "campaigns_next" ON "campaigns" ("next_at", "project_id") WHERE "next_at" IS NOT NULL;
CREATE INDEX "deliveries_campaign" ON "deliveries" ("project_id", "campaign_id") WHERE "campaign_id" IS NOT NULL;
ALTER TABLE "campaign_recipients" SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE "campaign_tallies" SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);
