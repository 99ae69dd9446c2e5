-- AlterTable
ALTER TABLE "idempotency_keys" ADD COLUMN     "with_secret_key" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "limit_windows" ADD COLUMN     "public_used" INTEGER NOT NULL DEFAULT 0;

-- Who made the requests of the last hours is not known; what the public key cannot call was not its own.
UPDATE "idempotency_keys" SET "with_secret_key" = true WHERE "request" <> 'POST /v1/track';
