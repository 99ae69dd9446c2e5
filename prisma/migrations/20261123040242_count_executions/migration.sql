-- expand
-- Counts the executions that there are already: what there is, less what has been counted since the triggers are there. One statement
-- sees both at the same moment, so nobody who writes executions has to wait. A migration of its own: the triggers have to be
-- committed before.
INSERT INTO "workflow_tallies" ("project_id", "workflow_id", "id", "counted_id", "status", "count")
  SELECT "project_id", "workflow_id", gen_random_uuid(), "counted_id", "status", sum("count") FROM (
    SELECT "project_id", "workflow_id", "workflow_id" AS "counted_id", "status"::text AS "status", count(*) AS "count"
    FROM "workflow_executions" GROUP BY "project_id", "workflow_id", "status"
    UNION ALL
    SELECT s."project_id", s."workflow_id", s."id", e."status"::text, e."count" FROM (
      SELECT "project_id", "step_id", "status", count(*) AS "count" FROM "step_executions" GROUP BY "project_id", "step_id", "status"
    ) AS e JOIN "workflow_steps" AS s ON s."project_id" = e."project_id" AND s."id" = e."step_id"
    UNION ALL
    SELECT "project_id", "workflow_id", "counted_id", "status", -"count" FROM "workflow_tallies"
    UNION ALL
    SELECT "project_id", "workflow_id", "counted_id", "status", -"count" FROM "workflow_counts"
  ) AS "missing" GROUP BY "project_id", "workflow_id", "counted_id", "status" HAVING sum("count") <> 0;
