-- expand
-- DropForeignKey
ALTER TABLE "changes" DROP CONSTRAINT "changes_project_id_fkey";
