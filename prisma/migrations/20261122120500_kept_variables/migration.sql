-- expand
-- Written by hand: indexes of some rows only.
CREATE INDEX "emails_variables" ON "emails" ("project_id", "id") WHERE "variables" IS NOT NULL;
CREATE INDEX "campaigns_next_of_project" ON "campaigns" ("project_id", "next_at", "id") WHERE "next_at" IS NOT NULL;
