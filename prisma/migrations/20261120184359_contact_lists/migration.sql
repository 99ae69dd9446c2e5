-- AlterTable
ALTER TABLE "contact_jobs" ADD COLUMN     "last_contact" UUID,
ADD COLUMN     "total" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "contact_fields" (
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "contact_fields_pkey" PRIMARY KEY ("project_id","name")
);

-- AddForeignKey
ALTER TABLE "contact_fields" ADD CONSTRAINT "contact_fields_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- By hand from here on: what Prisma's schema cannot say.

-- Both come with PostgreSQL, and the owner of a database may install them.
CREATE EXTENSION IF NOT EXISTS "btree_gin";
CREATE EXTENSION IF NOT EXISTS "pg_trgm";

-- The list of contacts: a part of the address, and those who are subscribed or not.
CREATE INDEX "contacts_email_part" ON "contacts" USING gin ("project_id", "email" gin_trgm_ops);
CREATE INDEX "contacts_subscribed" ON "contacts" ("project_id", "subscribed", "id");

-- A quarter of the contacts in an order that has nothing to do with anything: the last half of an id is random.
-- Its first rows are a fair sample.
CREATE INDEX "contacts_sample" ON "contacts" ("project_id", (substring(uuid_send("id") FROM 9)))
  WHERE get_byte(uuid_send("id"), 15) < 64;

-- How often a template was sent.
CREATE INDEX "emails_template" ON "emails" ("project_id", "template_id") WHERE "template_id" IS NOT NULL;
