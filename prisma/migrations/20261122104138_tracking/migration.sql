-- AlterTable
ALTER TABLE "emails" ADD COLUMN     "hits" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "tracking_hits" (
    "project_id" UUID NOT NULL,
    "email_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "link" TEXT,
    "links" SMALLINT NOT NULL,
    "machine" BOOLEAN NOT NULL,

    CONSTRAINT "tracking_hits_pkey" PRIMARY KEY ("project_id","email_id","id")
);

-- Rows stay for seconds, however many there are in a day.
ALTER TABLE "tracking_hits" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
