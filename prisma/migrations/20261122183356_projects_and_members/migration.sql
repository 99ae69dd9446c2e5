-- expand
-- CreateEnum
CREATE TYPE "key_scope" AS ENUM ('FULL', 'READ', 'SEND', 'TRACK');

-- CreateEnum
CREATE TYPE "audit_actor" AS ENUM ('USER', 'KEY', 'SYSTEM');

-- AlterTable
ALTER TABLE "projects" ADD COLUMN     "footer_text" TEXT;

-- CreateTable
CREATE TABLE "project_wipes" (
    "project_id" UUID NOT NULL,
    "deletes" BOOLEAN NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL,
    "step" INTEGER NOT NULL DEFAULT 0,
    "was_disabled" BOOLEAN NOT NULL,
    "was_reason" TEXT,
    "opened_at" TIMESTAMPTZ(3),

    CONSTRAINT "project_wipes_pkey" PRIMARY KEY ("project_id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "scope" "key_scope" NOT NULL,
    "hash" BYTEA NOT NULL,
    "last_four" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "actor_kind" "audit_actor" NOT NULL,
    "user_id" UUID,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "changes" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- AddForeignKey
ALTER TABLE "project_wipes" ADD CONSTRAINT "project_wipes_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
