-- AlterTable
ALTER TABLE "contact_jobs" ADD COLUMN     "up_to" UUID;

-- Changes by a filter that have not ended are for the contacts that there are.
UPDATE "contact_jobs" j SET "up_to" = (
  SELECT c."id" FROM "contacts" c WHERE c."project_id" = j."project_id" ORDER BY c."id" DESC LIMIT 1)
WHERE j."type" <> 'IMPORT' AND j."state" IN ('waiting', 'active');
