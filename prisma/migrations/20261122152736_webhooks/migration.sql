-- expand
-- CreateEnum
CREATE TYPE "webhook_status" AS ENUM ('PENDING', 'SENT', 'FAILED');

-- AlterEnum
ALTER TYPE "consumer" ADD VALUE 'WEBHOOK';

-- CreateTable
CREATE TABLE "webhook_secrets" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "secret" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT,
    "event_names" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "failing_since" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "webhook_messages" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "endpoint_id" UUID,
    "contact_id" UUID,
    "event_name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "headers" JSONB NOT NULL,
    "body" TEXT NOT NULL,
    "status" "webhook_status" NOT NULL DEFAULT 'PENDING',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3),
    "taken_by" UUID,
    "taken_attempt" INTEGER,
    "ended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_messages_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "webhook_attempts" (
    "project_id" UUID NOT NULL,
    "message_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "status" INTEGER,
    "answer" TEXT,
    "error" TEXT,
    "took_ms" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("project_id","message_id","id")
);

-- CreateIndex
CREATE INDEX "webhook_messages_project_id_endpoint_id_id_idx" ON "webhook_messages"("project_id", "endpoint_id", "id");

-- CreateIndex
CREATE INDEX "webhook_messages_project_id_contact_id_idx" ON "webhook_messages"("project_id", "contact_id");

-- AddForeignKey
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "webhook_messages" ADD CONSTRAINT "webhook_messages_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "webhook_messages" ADD CONSTRAINT "webhook_messages_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_project_id_message_id_fkey" FOREIGN KEY ("project_id", "message_id") REFERENCES "webhook_messages"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Written by hand: calls that can be made, and those that are being made.
CREATE INDEX "webhook_messages_due" ON "webhook_messages" ("project_id", "due_at", "id") WHERE "taken_by" IS NULL AND "due_at" IS NOT NULL;
CREATE INDEX "webhook_messages_taken" ON "webhook_messages" ("taken_by") WHERE "taken_by" IS NOT NULL;
