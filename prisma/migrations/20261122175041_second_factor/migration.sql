-- expand
-- AlterTable
ALTER TABLE "users" ADD COLUMN     "recovery_hashes" BYTEA[] DEFAULT ARRAY[]::BYTEA[],
ADD COLUMN     "totp_enabled_at" TIMESTAMPTZ(3),
ADD COLUMN     "totp_secret" BYTEA,
ADD COLUMN     "totp_step" BIGINT NOT NULL DEFAULT 0;
