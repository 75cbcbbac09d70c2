-- Locks: SHARE UPDATE EXCLUSIVE encounter, SHARE UPDATE EXCLUSIVE order; reads no row
-- A tenant keeps its numbers in another cell, where another tenant may have the same (D-324). One sequence still gives each once.
DROP INDEX CONCURRENTLY IF EXISTS "encounter_encounter_no_real_key";
DROP INDEX CONCURRENTLY IF EXISTS "order_order_sequence_real_key";
