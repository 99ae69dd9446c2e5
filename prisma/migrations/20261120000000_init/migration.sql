-- CreateEnum
CREATE TYPE "billing_category" AS ENUM ('WORKFLOWS', 'CAMPAIGNS', 'TRANSACTIONAL', 'INBOUND');

-- CreateEnum
CREATE TYPE "campaign_status" AS ENUM ('DRAFT', 'SCHEDULED', 'SENDING', 'SENT', 'CANCELLED');

-- CreateEnum
CREATE TYPE "audience_type" AS ENUM ('ALL', 'SEGMENT', 'FILTERED');

-- CreateEnum
CREATE TYPE "recipient_status" AS ENUM ('PENDING', 'SENDING', 'SENT', 'FAILED', 'SUPPRESSED', 'SKIPPED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "suppression_reason" AS ENUM ('BOUNCE', 'COMPLAINT', 'MANUAL');

-- CreateEnum
CREATE TYPE "contact_job_type" AS ENUM ('IMPORT', 'SUBSCRIBE', 'UNSUBSCRIBE', 'DELETE');

-- CreateEnum
CREATE TYPE "job_state" AS ENUM ('waiting', 'active', 'completed', 'failed');

-- CreateEnum
CREATE TYPE "domain_status" AS ENUM ('PENDING', 'VERIFIED', 'FAILED');

-- CreateEnum
CREATE TYPE "email_status" AS ENUM ('PENDING', 'SENDING', 'SENT', 'DELIVERED', 'OPENED', 'CLICKED', 'BOUNCED', 'COMPLAINED', 'FAILED', 'SUPPRESSED', 'CANCELLED', 'RECEIVED');

-- CreateEnum
CREATE TYPE "email_source" AS ENUM ('TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'TEST', 'INBOUND');

-- CreateEnum
CREATE TYPE "limit_kind" AS ENUM ('REQUESTS', 'SENDS');

-- CreateEnum
CREATE TYPE "tracking" AS ENUM ('ENABLED', 'DISABLED', 'MARKETING_ONLY');

-- CreateEnum
CREATE TYPE "role" AS ENUM ('OWNER', 'ADMIN', 'MEMBER');

-- CreateEnum
CREATE TYPE "segment_type" AS ENUM ('DYNAMIC', 'STATIC');

-- CreateEnum
CREATE TYPE "message_type" AS ENUM ('TRANSACTIONAL', 'MARKETING', 'HEADLESS');

-- CreateEnum
CREATE TYPE "user_token_purpose" AS ENUM ('VERIFY_EMAIL', 'RESET_PASSWORD');

-- CreateEnum
CREATE TYPE "trigger_type" AS ENUM ('EVENT', 'MANUAL', 'SCHEDULE');

-- CreateEnum
CREATE TYPE "step_type" AS ENUM ('TRIGGER', 'SEND_EMAIL', 'DELAY', 'WAIT_FOR_EVENT', 'CONDITION', 'WEBHOOK', 'UPDATE_CONTACT', 'EXIT');

-- CreateEnum
CREATE TYPE "execution_status" AS ENUM ('RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "step_execution_status" AS ENUM ('PENDING', 'SCHEDULED', 'WAITING', 'RUNNING', 'COMPLETED', 'SKIPPED', 'FAILED');

-- CreateTable
CREATE TABLE "billing_accounts" (
    "project_id" UUID NOT NULL,
    "customer_id" TEXT NOT NULL,
    "subscription_id" TEXT,
    "status" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "billing_accounts_pkey" PRIMARY KEY ("project_id")
);

-- CreateTable
CREATE TABLE "billing_limits" (
    "project_id" UUID NOT NULL,
    "category" "billing_category" NOT NULL,
    "limit" INTEGER,

    CONSTRAINT "billing_limits_pkey" PRIMARY KEY ("project_id","category")
);

-- CreateTable
CREATE TABLE "billing_usage" (
    "project_id" UUID NOT NULL,
    "month" DATE NOT NULL,
    "category" "billing_category" NOT NULL,
    "used" INTEGER NOT NULL DEFAULT 0,
    "warned_at" TIMESTAMPTZ(3),

    CONSTRAINT "billing_usage_pkey" PRIMARY KEY ("project_id","month","category")
);

-- CreateTable
CREATE TABLE "campaigns" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "subject" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "from_name" TEXT,
    "reply_to" TEXT,
    "type" "message_type" NOT NULL DEFAULT 'MARKETING',
    "status" "campaign_status" NOT NULL DEFAULT 'DRAFT',
    "audience_type" "audience_type" NOT NULL,
    "segment_id" UUID,
    "audience_condition" JSONB,
    "scheduled_for" TIMESTAMPTZ(3),
    "total_recipients" INTEGER NOT NULL DEFAULT 0,
    "sent_count" INTEGER NOT NULL DEFAULT 0,
    "delivered_count" INTEGER NOT NULL DEFAULT 0,
    "opened_count" INTEGER NOT NULL DEFAULT 0,
    "clicked_count" INTEGER NOT NULL DEFAULT 0,
    "bounced_count" INTEGER NOT NULL DEFAULT 0,
    "complained_count" INTEGER NOT NULL DEFAULT 0,
    "unsubscribed_count" INTEGER NOT NULL DEFAULT 0,
    "sent_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "campaigns_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "campaign_recipients" (
    "project_id" UUID NOT NULL,
    "campaign_id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "status" "recipient_status" NOT NULL DEFAULT 'PENDING',
    "email_id" UUID,

    CONSTRAINT "campaign_recipients_pkey" PRIMARY KEY ("project_id","campaign_id","contact_id")
);

-- CreateTable
CREATE TABLE "contacts" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "subscribed" BOOLEAN NOT NULL,
    "data" JSONB NOT NULL DEFAULT '{}',
    "subscription_event_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "contacts_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "suppressions" (
    "project_id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "reason" "suppression_reason" NOT NULL,
    "email_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "suppressions_pkey" PRIMARY KEY ("project_id","email")
);

-- CreateTable
CREATE TABLE "contact_jobs" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "type" "contact_job_type" NOT NULL,
    "state" "job_state" NOT NULL DEFAULT 'waiting',
    "progress" INTEGER NOT NULL DEFAULT 0,
    "file" BYTEA,
    "request" JSONB NOT NULL DEFAULT '{}',
    "position" INTEGER NOT NULL DEFAULT 0,
    "result" JSONB NOT NULL DEFAULT '{}',
    "failed_reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "contact_jobs_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "domains" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "domain" TEXT NOT NULL,
    "status" "domain_status" NOT NULL DEFAULT 'PENDING',
    "records" JSONB NOT NULL DEFAULT '[]',
    "dkim_selector" TEXT,
    "dkim_private_key" BYTEA,
    "last_checked_at" TIMESTAMPTZ(3),
    "verified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "domains_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "emails" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "to_email" TEXT NOT NULL,
    "to_name" TEXT,
    "from" TEXT NOT NULL,
    "from_name" TEXT,
    "reply_to" TEXT,
    "subject" TEXT NOT NULL,
    "type" "message_type" NOT NULL,
    "source_type" "email_source" NOT NULL,
    "status" "email_status" NOT NULL,
    "template_id" UUID,
    "campaign_id" UUID,
    "workflow_execution_id" UUID,
    "message_id" TEXT NOT NULL,
    "provider_message_id" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "claim_id" UUID,
    "lease_until" TIMESTAMPTZ(3),
    "attachment_set_id" UUID,
    "sent_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "opened_at" TIMESTAMPTZ(3),
    "clicked_at" TIMESTAMPTZ(3),
    "bounced_at" TIMESTAMPTZ(3),
    "complained_at" TIMESTAMPTZ(3),
    "opens" INTEGER NOT NULL DEFAULT 0,
    "clicks" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "emails_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "email_contents" (
    "project_id" UUID NOT NULL,
    "email_id" UUID NOT NULL,
    "html" TEXT NOT NULL,
    "headers" JSONB NOT NULL DEFAULT '[]',

    CONSTRAINT "email_contents_pkey" PRIMARY KEY ("project_id","email_id")
);

-- CreateTable
CREATE TABLE "email_attachments" (
    "project_id" UUID NOT NULL,
    "set_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "filename" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "disposition" TEXT NOT NULL,
    "content_id" TEXT,
    "content" BYTEA NOT NULL,

    CONSTRAINT "email_attachments_pkey" PRIMARY KEY ("project_id","set_id","position")
);

-- CreateTable
CREATE TABLE "events" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "email_id" UUID,
    "data" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "holder" UUID NOT NULL,
    "request" TEXT NOT NULL,
    "body_hash" BYTEA,
    "status_code" INTEGER,
    "response" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("project_id","key")
);

-- CreateTable
CREATE TABLE "limit_windows" (
    "project_id" UUID NOT NULL,
    "kind" "limit_kind" NOT NULL,
    "window_start" TIMESTAMPTZ(3) NOT NULL,
    "used" INTEGER NOT NULL,

    CONSTRAINT "limit_windows_pkey" PRIMARY KEY ("project_id","kind")
);

-- CreateTable
CREATE TABLE "notification_receipts" (
    "provider" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notification_receipts_pkey" PRIMARY KEY ("provider","id")
);

-- CreateTable
CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "public_key_hash" BYTEA NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "secret_last_four" TEXT NOT NULL,
    "disabled" BOOLEAN NOT NULL DEFAULT false,
    "disabled_reason" TEXT,
    "tracking" "tracking" NOT NULL DEFAULT 'ENABLED',
    "language" TEXT NOT NULL DEFAULT 'en',
    "rate_limit_per_minute" INTEGER,
    "send_rate_per_second" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "members" (
    "project_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" "role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "members_pkey" PRIMARY KEY ("project_id","user_id")
);

-- CreateTable
CREATE TABLE "invitations" (
    "project_id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "role" "role" NOT NULL,
    "invited_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("project_id","email")
);

-- CreateTable
CREATE TABLE "suspensions" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "details" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "lifted_at" TIMESTAMPTZ(3),

    CONSTRAINT "suspensions_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "uploads" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "uploads_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "segments" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "description" TEXT,
    "type" "segment_type" NOT NULL DEFAULT 'DYNAMIC',
    "condition" JSONB,
    "track_membership" BOOLEAN NOT NULL DEFAULT false,
    "member_count" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "segments_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "segment_members" (
    "project_id" UUID NOT NULL,
    "segment_id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "segment_members_pkey" PRIMARY KEY ("project_id","segment_id","contact_id")
);

-- CreateTable
CREATE TABLE "templates" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "subject" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "from_name" TEXT,
    "reply_to" TEXT,
    "type" "message_type" NOT NULL DEFAULT 'MARKETING',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "templates_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT,
    "email_verified_at" TIMESTAMPTZ(3),
    "github_id" TEXT,
    "google_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user_tokens" (
    "hash" BYTEA NOT NULL,
    "user_id" UUID NOT NULL,
    "purpose" "user_token_purpose" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "user_tokens_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "sign_in_failures" (
    "address" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "window_start" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_failures_pkey" PRIMARY KEY ("address","email")
);

-- CreateTable
CREATE TABLE "workflows" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "enabled" BOOLEAN NOT NULL DEFAULT false,
    "trigger_type" "trigger_type" NOT NULL DEFAULT 'EVENT',
    "trigger_config" JSONB NOT NULL DEFAULT '{}',
    "allow_reentry" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "workflows_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "workflow_steps" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "type" "step_type" NOT NULL,
    "name" TEXT NOT NULL,
    "position" JSONB NOT NULL DEFAULT '{}',
    "config" JSONB NOT NULL DEFAULT '{}',
    "template_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "workflow_steps_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "workflow_transitions" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "from_step_id" UUID NOT NULL,
    "to_step_id" UUID NOT NULL,
    "branch" TEXT,
    "priority" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "workflow_transitions_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "workflow_executions" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "status" "execution_status" NOT NULL DEFAULT 'RUNNING',
    "current_step_id" UUID,
    "waiting_for_event" TEXT,
    "exit_reason" TEXT,
    "context" JSONB NOT NULL DEFAULT '{}',
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "workflow_executions_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "workflow_entries" (
    "project_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "workflow_entries_pkey" PRIMARY KEY ("project_id","workflow_id","contact_id")
);

-- CreateTable
CREATE TABLE "step_executions" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "execution_id" UUID NOT NULL,
    "step_id" UUID NOT NULL,
    "status" "step_execution_status" NOT NULL DEFAULT 'PENDING',
    "scheduled_for" TIMESTAMPTZ(3),
    "output" JSONB,
    "error" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "step_executions_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "billing_accounts_customer_id_key" ON "billing_accounts"("customer_id");

-- CreateIndex
CREATE INDEX "campaigns_project_id_created_at_id_idx" ON "campaigns"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "campaign_recipients_project_id_campaign_id_status_idx" ON "campaign_recipients"("project_id", "campaign_id", "status");

-- CreateIndex
CREATE UNIQUE INDEX "contacts_project_id_email_key" ON "contacts"("project_id", "email");

-- CreateIndex
CREATE UNIQUE INDEX "domains_domain_key" ON "domains"("domain");

-- CreateIndex
CREATE INDEX "emails_project_id_contact_id_id_idx" ON "emails"("project_id", "contact_id", "id");

-- CreateIndex
CREATE INDEX "events_project_id_contact_id_id_idx" ON "events"("project_id", "contact_id", "id");

-- CreateIndex
CREATE INDEX "events_project_id_name_created_at_contact_id_idx" ON "events"("project_id", "name", "created_at", "contact_id");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE INDEX "notification_receipts_received_at_idx" ON "notification_receipts"("received_at");

-- CreateIndex
CREATE UNIQUE INDEX "projects_public_key_hash_key" ON "projects"("public_key_hash");

-- CreateIndex
CREATE UNIQUE INDEX "projects_secret_hash_key" ON "projects"("secret_hash");

-- CreateIndex
CREATE INDEX "members_user_id_idx" ON "members"("user_id");

-- CreateIndex
CREATE INDEX "invitations_email_idx" ON "invitations"("email");

-- CreateIndex
CREATE UNIQUE INDEX "uploads_key_key" ON "uploads"("key");

-- CreateIndex
CREATE INDEX "segments_project_id_created_at_id_idx" ON "segments"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "segment_members_project_id_contact_id_idx" ON "segment_members"("project_id", "contact_id");

-- CreateIndex
CREATE INDEX "templates_project_id_created_at_id_idx" ON "templates"("project_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE UNIQUE INDEX "users_github_id_key" ON "users"("github_id");

-- CreateIndex
CREATE UNIQUE INDEX "users_google_id_key" ON "users"("google_id");

-- CreateIndex
CREATE INDEX "sessions_user_id_idx" ON "sessions"("user_id");

-- CreateIndex
CREATE INDEX "user_tokens_user_id_created_at_idx" ON "user_tokens"("user_id", "created_at");

-- CreateIndex
CREATE INDEX "workflows_project_id_created_at_id_idx" ON "workflows"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_steps_project_id_workflow_id_idx" ON "workflow_steps"("project_id", "workflow_id");

-- CreateIndex
CREATE INDEX "workflow_transitions_project_id_workflow_id_idx" ON "workflow_transitions"("project_id", "workflow_id");

-- CreateIndex
CREATE INDEX "workflow_transitions_project_id_from_step_id_idx" ON "workflow_transitions"("project_id", "from_step_id");

-- CreateIndex
CREATE INDEX "workflow_transitions_project_id_to_step_id_idx" ON "workflow_transitions"("project_id", "to_step_id");

-- CreateIndex
CREATE INDEX "workflow_executions_project_id_workflow_id_status_idx" ON "workflow_executions"("project_id", "workflow_id", "status");

-- CreateIndex
CREATE INDEX "workflow_executions_project_id_contact_id_idx" ON "workflow_executions"("project_id", "contact_id");

-- CreateIndex
CREATE INDEX "step_executions_project_id_step_id_idx" ON "step_executions"("project_id", "step_id");

-- CreateIndex
CREATE UNIQUE INDEX "step_executions_project_id_execution_id_step_id_key" ON "step_executions"("project_id", "execution_id", "step_id");

-- AddForeignKey
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "campaigns" ADD CONSTRAINT "campaigns_project_id_segment_id_fkey" FOREIGN KEY ("project_id", "segment_id") REFERENCES "segments"("project_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "campaign_recipients" ADD CONSTRAINT "campaign_recipients_project_id_campaign_id_fkey" FOREIGN KEY ("project_id", "campaign_id") REFERENCES "campaigns"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "campaign_recipients" ADD CONSTRAINT "campaign_recipients_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "contact_jobs" ADD CONSTRAINT "contact_jobs_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "domains" ADD CONSTRAINT "domains_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "emails" ADD CONSTRAINT "emails_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "email_contents" ADD CONSTRAINT "email_contents_project_id_email_id_fkey" FOREIGN KEY ("project_id", "email_id") REFERENCES "emails"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "suspensions" ADD CONSTRAINT "suspensions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "segments" ADD CONSTRAINT "segments_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "segment_members" ADD CONSTRAINT "segment_members_project_id_segment_id_fkey" FOREIGN KEY ("project_id", "segment_id") REFERENCES "segments"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "segment_members" ADD CONSTRAINT "segment_members_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "templates" ADD CONSTRAINT "templates_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "user_tokens" ADD CONSTRAINT "user_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflows" ADD CONSTRAINT "workflows_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_steps" ADD CONSTRAINT "workflow_steps_project_id_workflow_id_fkey" FOREIGN KEY ("project_id", "workflow_id") REFERENCES "workflows"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_steps" ADD CONSTRAINT "workflow_steps_project_id_template_id_fkey" FOREIGN KEY ("project_id", "template_id") REFERENCES "templates"("project_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_transitions" ADD CONSTRAINT "workflow_transitions_project_id_workflow_id_fkey" FOREIGN KEY ("project_id", "workflow_id") REFERENCES "workflows"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_transitions" ADD CONSTRAINT "workflow_transitions_project_id_from_step_id_fkey" FOREIGN KEY ("project_id", "from_step_id") REFERENCES "workflow_steps"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_transitions" ADD CONSTRAINT "workflow_transitions_project_id_to_step_id_fkey" FOREIGN KEY ("project_id", "to_step_id") REFERENCES "workflow_steps"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_executions" ADD CONSTRAINT "workflow_executions_project_id_workflow_id_fkey" FOREIGN KEY ("project_id", "workflow_id") REFERENCES "workflows"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_executions" ADD CONSTRAINT "workflow_executions_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_entries" ADD CONSTRAINT "workflow_entries_project_id_workflow_id_fkey" FOREIGN KEY ("project_id", "workflow_id") REFERENCES "workflows"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "workflow_entries" ADD CONSTRAINT "workflow_entries_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id") REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "step_executions" ADD CONSTRAINT "step_executions_project_id_execution_id_fkey" FOREIGN KEY ("project_id", "execution_id") REFERENCES "workflow_executions"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "step_executions" ADD CONSTRAINT "step_executions_project_id_step_id_fkey" FOREIGN KEY ("project_id", "step_id") REFERENCES "workflow_steps"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on: what Prisma's schema cannot say.

-- Uniqueness of (project_id, email) must not depend on case or blanks.
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_email_normal" CHECK ("email" = lower(btrim("email")));
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_data_object" CHECK (jsonb_typeof("data") = 'object');
-- The limit of 64 KB holds for what is merged, whoever merges.
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_data_size" CHECK (octet_length("data"::text) <= 65536);

-- The delivery queue: mail that waits, by project and time, and mail that a worker holds.
CREATE INDEX "emails_due" ON "emails" ("project_id", "due_at", "id") WHERE "status" = 'PENDING';
CREATE INDEX "emails_sending" ON "emails" ("lease_until") WHERE "status" = 'SENDING';
-- Mail that was given up, for those who look after it.
CREATE INDEX "emails_failed" ON "emails" ("project_id", "id") WHERE "status" = 'FAILED';

-- Who still needs the files of a request.
CREATE INDEX "emails_attachment_set" ON "emails" ("project_id", "attachment_set_id") WHERE "attachment_set_id" IS NOT NULL;

-- One active execution of a workflow per contact at a time.
CREATE UNIQUE INDEX "workflow_executions_active" ON "workflow_executions" ("project_id", "workflow_id", "contact_id")
  WHERE "status" IN ('RUNNING', 'WAITING');
-- Executions that an event resumes.
CREATE INDEX "workflow_executions_waiting" ON "workflow_executions" ("project_id", "waiting_for_event", "contact_id")
  WHERE "status" = 'WAITING' AND "waiting_for_event" IS NOT NULL;

-- Counts of the running minute or second: worthless after a crash, and written by every request.
ALTER TABLE "limit_windows" SET UNLOGGED;
ALTER TABLE "limit_windows" SET (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- Rows that are updated often keep room for their next version on the same page, and are vacuumed early.
ALTER TABLE "contacts" SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE "emails" SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Ends a statement, and with it everything it did, when it finds that it must not go on.
CREATE FUNCTION "abort_statement" ("reason" text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'MW001';
END $$;
