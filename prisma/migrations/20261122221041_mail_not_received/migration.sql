-- expand
-- AlterEnum
ALTER TYPE "report_kind" ADD VALUE 'NOT_RECEIVED';
