-- The review queue of one state, in the order of the queue.
CREATE INDEX "encounter_queue_state_idx"
  ON "encounter"("tenant_id", "service_queue", "review_state", coalesce("scheduled_at", "created_at"), "encounter_no")
  WHERE "status" = 'pending_review';
