-- Who made the requests of the last hours is not known: the public key is told nothing of them. Both steps touch the
-- catalogue only, however many keys there are.
ALTER TABLE "idempotency_keys" ADD COLUMN     "with_secret_key" BOOLEAN NOT NULL DEFAULT true;
ALTER TABLE "idempotency_keys" ALTER COLUMN "with_secret_key" SET DEFAULT false;

-- AlterTable
ALTER TABLE "limit_windows" ADD COLUMN     "public_used" INTEGER NOT NULL DEFAULT 0;
