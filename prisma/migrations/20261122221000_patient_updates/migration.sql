ALTER TYPE "event_type" ADD VALUE 'patient.updated' BEFORE 'patient.verification_updated';

ALTER TABLE "ref_state" ADD COLUMN "country_code" TEXT NOT NULL DEFAULT 'US';
ALTER TABLE "ref_state" ALTER COLUMN "country_code" DROP DEFAULT;

-- Invitations whose reminders are spent: what the sweep looks at.
CREATE INDEX "client_invitation_idx" ON "client"("verifier_invite_sent_date")
  WHERE "is_verified" = 'INVITED' AND "verifier_reminder_count" = 3;
