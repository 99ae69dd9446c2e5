-- AlterTable
ALTER TABLE "segments" ADD COLUMN     "compute_ms" INTEGER,
ADD COLUMN     "computed_at" TIMESTAMPTZ(3),
ADD COLUMN     "counted_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "event_names" (
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "event_names_pkey" PRIMARY KEY ("project_id","name")
);

-- CreateTable
CREATE TABLE "event_counts" (
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "event_counts_pkey" PRIMARY KEY ("project_id","name","day")
);

-- CreateTable
CREATE TABLE "event_folds" (
    "project_id" UUID NOT NULL,
    "first_open" UUID NOT NULL,

    CONSTRAINT "event_folds_pkey" PRIMARY KEY ("project_id")
);

-- CreateTable
CREATE TABLE "contact_changes" (
    "project_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "contact_id" UUID NOT NULL,

    CONSTRAINT "contact_changes_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateIndex
CREATE INDEX "campaign_recipients_project_id_contact_id_idx" ON "campaign_recipients"("project_id", "contact_id");

-- CreateIndex
CREATE INDEX "workflow_steps_project_id_template_id_idx" ON "workflow_steps"("project_id", "template_id");

-- CreateIndex
CREATE INDEX "workflow_entries_project_id_contact_id_idx" ON "workflow_entries"("project_id", "contact_id");

-- AddForeignKey
ALTER TABLE "event_names" ADD CONSTRAINT "event_names_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "event_counts" ADD CONSTRAINT "event_counts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "event_folds" ADD CONSTRAINT "event_folds_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "contact_changes" ADD CONSTRAINT "contact_changes_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on: what Prisma's schema cannot say.

-- Which projects have segments to follow: asked by every change of a contact, so it must be small.
CREATE INDEX "segments_tracked" ON "segments" ("project_id") WHERE "track_membership" AND "type" = 'DYNAMIC';

-- The events of one in 32 contacts; the last bits of an id are random. How many contacts had an event is
-- estimated from them where counting would take long.
CREATE INDEX "events_of_some_contacts" ON "events" ("project_id", "name", "created_at", "contact_id")
  WHERE get_byte(uuid_send("contact_id"), 15) < 8;

-- Written and emptied all the time.
ALTER TABLE "contact_changes" SET (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- Filters that ask whether a custom field equals something.
CREATE INDEX "contacts_data" ON "contacts" USING gin ("project_id", "data" jsonb_path_ops);
