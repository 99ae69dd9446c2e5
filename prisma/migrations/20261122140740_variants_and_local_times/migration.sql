-- expand
-- CreateEnum
CREATE TYPE "ab_test_metric" AS ENUM ('OPENS', 'CLICKS');

-- AlterTable
ALTER TABLE "campaigns" ADD COLUMN     "decide_at" TIMESTAMPTZ(3),
ADD COLUMN     "local_time" TIMESTAMP(3),
ADD COLUMN     "test_metric" "ab_test_metric",
ADD COLUMN     "test_minutes" INTEGER,
ADD COLUMN     "test_percent" SMALLINT,
ADD COLUMN     "time_zone" TEXT,
ADD COLUMN     "winner" SMALLINT,
ADD COLUMN     "zone_times" JSONB;

-- AlterTable
ALTER TABLE "campaign_recipients" ADD COLUMN     "due_at" TIMESTAMPTZ(3),
ADD COLUMN     "variant" SMALLINT;

-- AlterTable
ALTER TABLE "campaign_tallies" ADD COLUMN     "variant" SMALLINT;

-- AlterTable
ALTER TABLE "contact_erasures" ADD COLUMN     "due_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "emails" ADD COLUMN     "variant" SMALLINT;

-- CreateTable
CREATE TABLE "campaign_variants" (
    "project_id" UUID NOT NULL,
    "campaign_id" UUID NOT NULL,
    "number" SMALLINT NOT NULL,
    "subject" TEXT,
    "body" TEXT,
    "weight" SMALLINT NOT NULL,
    "pending_count" INTEGER NOT NULL DEFAULT 0,
    "sending_count" INTEGER NOT NULL DEFAULT 0,
    "sent_count" INTEGER NOT NULL DEFAULT 0,
    "failed_count" INTEGER NOT NULL DEFAULT 0,
    "suppressed_count" INTEGER NOT NULL DEFAULT 0,
    "skipped_count" INTEGER NOT NULL DEFAULT 0,
    "cancelled_count" INTEGER NOT NULL DEFAULT 0,
    "delivered_count" INTEGER NOT NULL DEFAULT 0,
    "opened_count" INTEGER NOT NULL DEFAULT 0,
    "clicked_count" INTEGER NOT NULL DEFAULT 0,
    "bounced_count" INTEGER NOT NULL DEFAULT 0,
    "complained_count" INTEGER NOT NULL DEFAULT 0,
    "unsubscribed_count" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "campaign_variants_pkey" PRIMARY KEY ("project_id","campaign_id","number")
);

-- AddForeignKey
ALTER TABLE "campaign_variants" ADD CONSTRAINT "campaign_variants_project_id_campaign_id_fkey" FOREIGN KEY ("project_id", "campaign_id") REFERENCES "campaigns"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Written by hand: an index of some rows only.
CREATE INDEX "campaign_recipients_due" ON "campaign_recipients" ("project_id", "campaign_id", "due_at", "contact_id") WHERE "status" = 'PENDING' AND "due_at" IS NOT NULL;
