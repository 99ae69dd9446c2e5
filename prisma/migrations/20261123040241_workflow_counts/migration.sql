-- expand
-- CreateTable
CREATE TABLE "workflow_counts" (
    "project_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "counted_id" UUID NOT NULL,
    "status" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "workflow_counts_pkey" PRIMARY KEY ("project_id","workflow_id","counted_id","status")
);

-- CreateTable
CREATE TABLE "workflow_tallies" (
    "project_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "counted_id" UUID NOT NULL,
    "status" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "workflow_tallies_pkey" PRIMARY KEY ("project_id","workflow_id","id")
);

ALTER TABLE "workflow_tallies" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE "workflow_counts" SET (fillfactor = 70);

-- Triggers count for whoever writes executions, so that no writer can forget it. What a statement does shares a row for each status
-- of a workflow or step. What goes with its workflow or its step is not counted: nobody asks for it any more.
CREATE FUNCTION "tally_executions" () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT "project_id", "workflow_id", gen_random_uuid(), "workflow_id", "status", count(*)
      FROM "after" GROUP BY "project_id", "workflow_id", "status";
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT "project_id", "workflow_id", gen_random_uuid(), "workflow_id", "status", sum("change") FROM (
        SELECT "project_id", "workflow_id", "status", 1 AS "change" FROM "after"
        UNION ALL
        SELECT "project_id", "workflow_id", "status", -1 FROM "before"
      ) AS "moved" GROUP BY "project_id", "workflow_id", "status" HAVING sum("change") <> 0;
  ELSE
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT x."project_id", x."workflow_id", gen_random_uuid(), x."workflow_id", x."status", -count(*) FROM "before" AS x
      JOIN "workflows" AS w ON w."project_id" = x."project_id" AND w."id" = x."workflow_id" AND NOT w."deleted"
      GROUP BY x."project_id", x."workflow_id", x."status";
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "tally_inserts" AFTER INSERT ON "workflow_executions" REFERENCING NEW TABLE AS "after"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_executions"();
CREATE TRIGGER "tally_updates" AFTER UPDATE ON "workflow_executions" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_executions"();
CREATE TRIGGER "tally_deletes" AFTER DELETE ON "workflow_executions" REFERENCING OLD TABLE AS "before"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_executions"();

CREATE FUNCTION "tally_step_executions" () RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT s."project_id", s."workflow_id", gen_random_uuid(), s."id", m."status", m."count" FROM (
        SELECT "project_id", "step_id", "status", count(*) AS "count" FROM "after" GROUP BY "project_id", "step_id", "status"
      ) AS m JOIN "workflow_steps" AS s ON s."project_id" = m."project_id" AND s."id" = m."step_id";
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT s."project_id", s."workflow_id", gen_random_uuid(), s."id", m."status", m."count" FROM (
        SELECT "project_id", "step_id", "status", sum("change") AS "count" FROM (
          SELECT "project_id", "step_id", "status", 1 AS "change" FROM "after"
          UNION ALL
          SELECT "project_id", "step_id", "status", -1 FROM "before"
        ) AS "moved" GROUP BY "project_id", "step_id", "status" HAVING sum("change") <> 0
      ) AS m JOIN "workflow_steps" AS s ON s."project_id" = m."project_id" AND s."id" = m."step_id";
  ELSE
    INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
      SELECT s."project_id", s."workflow_id", gen_random_uuid(), s."id", m."status", -m."count" FROM (
        SELECT "project_id", "step_id", "status", count(*) AS "count" FROM "before" GROUP BY "project_id", "step_id", "status"
      ) AS m JOIN "workflow_steps" AS s ON s."project_id" = m."project_id" AND s."id" = m."step_id"
      JOIN "workflows" AS w ON w."project_id" = s."project_id" AND w."id" = s."workflow_id" AND NOT w."deleted";
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "tally_inserts" AFTER INSERT ON "step_executions" REFERENCING NEW TABLE AS "after"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_step_executions"();
CREATE TRIGGER "tally_updates" AFTER UPDATE ON "step_executions" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_step_executions"();
CREATE TRIGGER "tally_deletes" AFTER DELETE ON "step_executions" REFERENCING OLD TABLE AS "before"
  FOR EACH STATEMENT EXECUTE FUNCTION "tally_step_executions"();
