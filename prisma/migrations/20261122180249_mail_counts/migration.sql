-- expand
-- CreateEnum
CREATE TYPE "mailbox_provider" AS ENUM ('GMAIL', 'OUTLOOK', 'YAHOO', 'APPLE', 'OTHER');

-- AlterTable
ALTER TABLE "campaigns" ADD COLUMN     "scheduled_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "mail_counts" (
    "project_id" UUID NOT NULL,
    "quarter" TIMESTAMPTZ(3) NOT NULL,
    "provider" "mailbox_provider" NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "delivered" INTEGER NOT NULL DEFAULT 0,
    "bounced" INTEGER NOT NULL DEFAULT 0,
    "soft_bounced" INTEGER NOT NULL DEFAULT 0,
    "complained" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "suppressed" INTEGER NOT NULL DEFAULT 0,
    "received" INTEGER NOT NULL DEFAULT 0,
    "opened" INTEGER NOT NULL DEFAULT 0,
    "clicked" INTEGER NOT NULL DEFAULT 0,
    "opens" INTEGER NOT NULL DEFAULT 0,
    "clicks" INTEGER NOT NULL DEFAULT 0,
    "bot_opens" INTEGER NOT NULL DEFAULT 0,
    "bot_clicks" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "mail_counts_pkey" PRIMARY KEY ("project_id","quarter","provider")
);

-- CreateTable
CREATE TABLE "mail_tallies" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "quarter" TIMESTAMPTZ(3) NOT NULL,
    "provider" "mailbox_provider" NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "delivered" INTEGER NOT NULL DEFAULT 0,
    "bounced" INTEGER NOT NULL DEFAULT 0,
    "soft_bounced" INTEGER NOT NULL DEFAULT 0,
    "complained" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "suppressed" INTEGER NOT NULL DEFAULT 0,
    "received" INTEGER NOT NULL DEFAULT 0,
    "opened" INTEGER NOT NULL DEFAULT 0,
    "clicked" INTEGER NOT NULL DEFAULT 0,
    "opens" INTEGER NOT NULL DEFAULT 0,
    "clicks" INTEGER NOT NULL DEFAULT 0,
    "bot_opens" INTEGER NOT NULL DEFAULT 0,
    "bot_clicks" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "mail_tallies_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "campaign_links" (
    "project_id" UUID NOT NULL,
    "campaign_id" UUID NOT NULL,
    "link_id" UUID NOT NULL,
    "link" TEXT NOT NULL,
    "clicks" INTEGER NOT NULL DEFAULT 0,
    "bot_clicks" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "campaign_links_pkey" PRIMARY KEY ("project_id","campaign_id","link_id")
);

-- CreateIndex
CREATE INDEX "campaign_links_project_id_campaign_id_clicks_link_id_idx" ON "campaign_links"("project_id", "campaign_id", "clicks", "link_id");

-- CreateIndex
CREATE INDEX "campaigns_project_id_scheduled_at_id_idx" ON "campaigns"("project_id", "scheduled_at", "id");

-- CreateIndex
CREATE INDEX "campaigns_project_id_sent_at_id_idx" ON "campaigns"("project_id", "sent_at", "id");

-- AddForeignKey
ALTER TABLE "mail_counts" ADD CONSTRAINT "mail_counts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "campaign_links" ADD CONSTRAINT "campaign_links_project_id_campaign_id_fkey" FOREIGN KEY ("project_id", "campaign_id") REFERENCES "campaigns"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on: what Prisma's schema cannot say.

-- When a campaign began, or was written when it has not begun.
CREATE INDEX "campaigns_began" ON "campaigns" ("project_id", (coalesce("started_at", "created_at")), "id");

-- Executions that have come to their end, by when they did.
CREATE INDEX "workflow_executions_completed" ON "workflow_executions" ("project_id", "completed_at", "id")
  WHERE "status" IN ('COMPLETED', 'EXITED');

-- Rows stay for seconds, however many there are in a day.
ALTER TABLE "mail_tallies" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The counts of the present quarter of an hour are changed every few seconds.
ALTER TABLE "mail_counts" SET (fillfactor = 85);
