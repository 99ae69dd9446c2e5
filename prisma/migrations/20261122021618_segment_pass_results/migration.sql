-- AlterTable
ALTER TABLE "segments" ADD COLUMN     "ended_added" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "ended_removed" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "listening_at" TIMESTAMPTZ(3),
ADD COLUMN     "listening_xid" BIGINT,
ADD COLUMN     "pass_ended" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "pass_held_until" TIMESTAMPTZ(3);
