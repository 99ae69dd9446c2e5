-- expand
-- AlterTable
ALTER TABLE "emails" ADD COLUMN     "answers_id" UUID;

-- AlterTable
ALTER TABLE "email_contents" ADD COLUMN     "files" JSONB,
ADD COLUMN     "text" TEXT;
