-- expand
-- AlterTable
ALTER TABLE "domains" ADD COLUMN     "warm_up" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
ADD COLUMN     "warm_up_from" DATE;

-- CreateTable
CREATE TABLE "warm_up_days" (
    "project_id" UUID NOT NULL,
    "domain" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "granted" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "warm_up_days_pkey" PRIMARY KEY ("project_id","domain","day")
);
