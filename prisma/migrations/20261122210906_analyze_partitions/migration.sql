-- expand
-- What the planner knows of the tables as a whole, which autovacuum does not find out. A migration of its own: it reads a sample of
-- their rows, while everybody reads and writes.
ANALYZE "emails";
ANALYZE "events";
