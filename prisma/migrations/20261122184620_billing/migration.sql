-- expand
-- AlterTable
ALTER TABLE "billing_accounts" ADD COLUMN     "changes" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "next_at" TIMESTAMPTZ(3),
ADD COLUMN     "read_changes" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "billing_usage" ADD COLUMN     "granted" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "granted_at" TIMESTAMPTZ(3),
ADD COLUMN     "reported" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "reporting" INTEGER,
ADD COLUMN     "reporting_at" TIMESTAMPTZ(3),
ADD COLUMN     "reserved" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "billing_tallies" (
    "project_id" UUID NOT NULL,
    "month" DATE NOT NULL,
    "category" "billing_category" NOT NULL,
    "id" UUID NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "billing_tallies_pkey" PRIMARY KEY ("project_id","month","category","id")
);

-- CreateTable
CREATE TABLE "billing_events" (
    "id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "billing_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "billing_events_received_at_idx" ON "billing_events"("received_at");
