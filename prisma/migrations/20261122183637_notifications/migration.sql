-- expand
-- CreateEnum
CREATE TYPE "report_kind" AS ENUM ('DELIVERED', 'BOUNCED', 'SOFT_BOUNCED', 'COMPLAINED', 'REJECTED', 'OPENED', 'CLICKED', 'UNSUBSCRIBED');

-- CreateEnum
CREATE TYPE "reputation_level" AS ENUM ('HEALTHY', 'WARNING', 'CRITICAL');

-- AlterEnum
ALTER TYPE "suppression_reason" ADD VALUE 'SOFT_BOUNCES';

-- AlterTable
ALTER TABLE "emails" ADD COLUMN     "rejected_at" TIMESTAMPTZ(3),
ADD COLUMN     "soft_bounced_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "mail_reports" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "source" TEXT NOT NULL,
    "kind" "report_kind" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "email_id" UUID,
    "recipient" TEXT,
    "provider_message_id" TEXT,
    "reason" TEXT,
    "link" TEXT,
    "machine" BOOLEAN NOT NULL DEFAULT false,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mail_reports_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "unmatched_reports" (
    "id" UUID NOT NULL,
    "project_id" UUID,
    "source" TEXT NOT NULL,
    "kind" "report_kind" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "email_id" UUID,
    "recipient" TEXT,
    "provider_message_id" TEXT,
    "reason" TEXT,

    CONSTRAINT "unmatched_reports_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reputation_states" (
    "project_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "level" "reputation_level" NOT NULL DEFAULT 'HEALTHY',

    CONSTRAINT "reputation_states_pkey" PRIMARY KEY ("project_id")
);

-- CreateIndex
CREATE INDEX "reputation_states_due_at_idx" ON "reputation_states"("due_at");

-- AddForeignKey
ALTER TABLE "reputation_states" ADD CONSTRAINT "reputation_states_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Rows live for seconds.
ALTER TABLE "mail_reports" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
