-- Locks: none
-- An event tells that the partner changed an encounter (R-232).
ALTER TYPE "event_type" ADD VALUE 'encounter.updated' AFTER 'encounter.rescheduled';
