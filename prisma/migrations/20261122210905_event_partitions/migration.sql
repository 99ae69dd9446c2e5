-- expand
-- Makes events and emails partitioned by ranges of their ids, which sort by time, with a single partition for all of them.
-- The service cuts months off where they have a retention.
LOCK TABLE "contacts" IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE "emails", "email_contents", "events" IN ACCESS EXCLUSIVE MODE;

-- A foreign key to emails would be compared with all of email_contents whenever a partition is dropped. This is its cascade.
ALTER TABLE "email_contents" DROP CONSTRAINT "email_contents_project_id_email_id_fkey";

-- emails: the table of before becomes its first partition, with its indexes and its foreign key. No row is read: every id that
-- is not null is in its range.
ALTER TABLE "emails" RENAME TO "emails_base";
ALTER INDEX "emails_pkey" RENAME TO "emails_base_pkey";
ALTER INDEX "emails_project_id_contact_id_id_idx" RENAME TO "emails_base_project_id_contact_id_id_idx";
ALTER INDEX "emails_attachment_set" RENAME TO "emails_base_attachment_set";
ALTER INDEX "emails_template" RENAME TO "emails_base_template";
ALTER INDEX "emails_variables" RENAME TO "emails_base_variables";
CREATE TABLE "emails" (LIKE "emails_base" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
ALTER TABLE "emails" ADD CONSTRAINT "emails_pkey" PRIMARY KEY ("project_id", "id");
CREATE INDEX "emails_project_id_contact_id_id_idx" ON "emails" ("project_id", "contact_id", "id");
CREATE INDEX "emails_attachment_set" ON "emails" ("project_id", "attachment_set_id") WHERE "attachment_set_id" IS NOT NULL;
CREATE INDEX "emails_template" ON "emails" ("project_id", "template_id") WHERE "template_id" IS NOT NULL;
CREATE INDEX "emails_variables" ON "emails" ("project_id", "id") WHERE "variables" IS NOT NULL;
ALTER TABLE "emails" ADD CONSTRAINT "emails_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id")
  REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "emails" ATTACH PARTITION "emails_base" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);

CREATE FUNCTION "delete_contents_of_emails" () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "email_contents" c USING "gone"
    WHERE c."project_id" = "gone"."project_id" AND c."email_id" = "gone"."id";
  RETURN NULL;
END $$;
CREATE TRIGGER "delete_contents" AFTER DELETE ON "emails" REFERENCING OLD TABLE AS "gone"
  FOR EACH STATEMENT EXECUTE FUNCTION "delete_contents_of_emails"();

-- events: the table of before becomes its first partition, with its indexes and its foreign key. No row is read: every id that
-- is not null is in its range.
ALTER TABLE "events" RENAME TO "events_base";
ALTER INDEX "events_pkey" RENAME TO "events_base_pkey";
ALTER INDEX "events_project_id_contact_id_id_idx" RENAME TO "events_base_project_id_contact_id_id_idx";
ALTER INDEX "events_project_id_name_created_at_contact_id_idx" RENAME TO "events_base_project_id_name_created_at_contact_id_idx";
ALTER INDEX "events_of_some_contacts" RENAME TO "events_base_of_some_contacts";
CREATE TABLE "events" (LIKE "events_base" INCLUDING DEFAULTS) PARTITION BY RANGE ("id");
ALTER TABLE "events" ADD CONSTRAINT "events_pkey" PRIMARY KEY ("project_id", "id");
CREATE INDEX "events_project_id_contact_id_id_idx" ON "events" ("project_id", "contact_id", "id");
CREATE INDEX "events_project_id_name_created_at_contact_id_idx" ON "events" ("project_id", "name", "created_at", "contact_id");
CREATE INDEX "events_of_some_contacts" ON "events" ("project_id", "name", "created_at", "contact_id") WHERE get_byte(uuid_send("contact_id"), 15) < 8;
ALTER TABLE "events" ADD CONSTRAINT "events_project_id_contact_id_fkey" FOREIGN KEY ("project_id", "contact_id")
  REFERENCES "contacts"("project_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "events" ATTACH PARTITION "events_base" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
