-- expand
-- AlterEnum
ALTER TYPE "limit_kind" ADD VALUE 'DOMAIN_CHECKS';

-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "dkim_next_private_key" BYTEA,
ADD COLUMN     "dkim_next_selector" TEXT,
ADD COLUMN     "dkim_previous" JSONB,
ADD COLUMN     "missing_since" TIMESTAMPTZ(3),
ADD COLUMN     "next_check_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "vouched" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE INDEX "domains_next_check_at_idx" ON "domains"("next_check_at");

-- Until now only operators have let real domains count as verified.
UPDATE "domains" SET "vouched" = true WHERE "status" = 'VERIFIED' AND NOT "mailbox_only";
