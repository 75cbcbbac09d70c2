-- An event tells that the partner changed an encounter (R-232). No table is rewritten.
ALTER TYPE "event_type" ADD VALUE 'encounter.updated' AFTER 'encounter.rescheduled';
