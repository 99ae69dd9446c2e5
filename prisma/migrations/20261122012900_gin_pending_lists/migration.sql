-- New entries of these indexes wait in a list, which whoever fills it has to put into the index. At the usual 4 MB
-- that held up one statement of a bulk write for half a second; at 256 kB for a tenth. Single inserts pay a little.
ALTER INDEX "contacts_data" SET (gin_pending_list_limit = 256);
ALTER INDEX "contacts_email_part" SET (gin_pending_list_limit = 256);
