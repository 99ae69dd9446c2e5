-- expand
-- Written by hand: an index of some rows only.
CREATE INDEX "emails_variables" ON "emails" ("project_id", "id") WHERE "variables" IS NOT NULL;
