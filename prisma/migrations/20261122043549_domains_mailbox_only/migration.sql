-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "mailbox_only" BOOLEAN NOT NULL DEFAULT false;

-- What was verified in the moment in which it was added was verified because mail stayed in the mailbox.
UPDATE "domains" SET "mailbox_only" = true WHERE "status" = 'VERIFIED' AND "verified_at" = "created_at";
