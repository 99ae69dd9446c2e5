-- expand
-- AlterTable
ALTER TABLE "webhook_messages" ADD COLUMN     "awaited" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "execution_id" UUID;
