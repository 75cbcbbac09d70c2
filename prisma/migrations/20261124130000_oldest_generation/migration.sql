-- The oldest generation of servers that works on this schema (GENERATION in src/adapters/database/migrations.ts). A
-- migration that breaks older servers replaces it by one that returns a higher number.
CREATE FUNCTION "oldest_generation"() RETURNS INTEGER LANGUAGE sql IMMUTABLE AS 'SELECT 1';
