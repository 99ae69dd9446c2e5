-- expand
-- AlterTable
ALTER TABLE "contact_fields" ADD COLUMN     "counted_at" TIMESTAMPTZ(3),
ADD COLUMN     "coverage" DOUBLE PRECISION;

-- Whose coverage is due to be counted again.
CREATE INDEX "contact_fields_counted" ON "contact_fields" ("counted_at") WHERE "counted_at" IS NOT NULL;
