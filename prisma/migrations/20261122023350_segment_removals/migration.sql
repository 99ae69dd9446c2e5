-- DropForeignKey
ALTER TABLE "segment_members" DROP CONSTRAINT "segment_members_project_id_segment_id_fkey";

-- CreateTable
CREATE TABLE "segment_removals" (
    "project_id" UUID NOT NULL,
    "segment_id" UUID NOT NULL,

    CONSTRAINT "segment_removals_pkey" PRIMARY KEY ("project_id","segment_id")
);

-- AddForeignKey
ALTER TABLE "segment_removals" ADD CONSTRAINT "segment_removals_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
