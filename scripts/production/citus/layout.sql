-- The layout of one large cell on Citus 12 or newer, for the owner of the migrated, empty database. Not run by the tests: see README.md.
-- tests/contract/shards.test.ts reads this file and checks that the schema fits it.
SET citus.enable_unsafe_triggers = on;

-- Whole on every node.
SELECT create_reference_table('ref_state'); -- the same for all tenants
SELECT create_reference_table('tenant'); -- sweeps and commands go through all tenants
SELECT create_reference_table('api_client'); -- a token names the API client before the tenant is known
SELECT create_reference_table('api_client_secret'); -- read with its API client
SELECT create_reference_table('cell'); -- the cells that this one knows
SELECT create_reference_table('tenant_cell'); -- sweeps ask for the place of each tenant

-- On the coordinator.
SELECT citus_add_local_table_to_metadata('_prisma_migrations'); -- describes the schema

-- These constraints close a circle; they are added again when both ends are distributed.
ALTER TABLE encounter DROP CONSTRAINT encounter_completed_has_order;
ALTER TABLE "order" DROP CONSTRAINT order_has_line;

-- By tenant, each after the tables that it references: all rows of a tenant are on one node.
SELECT create_distributed_table('event_counter', 'tenant_id');
SELECT create_distributed_table(name, 'tenant_id', colocate_with => 'event_counter') FROM unnest(ARRAY[
  'event', 'audit_event', 'audit_counter', 'audit_seal', 'webhook_cursor', 'webhook_endpoint', 'webhook_delivery', 'webhook_inbox', 'webhook_inbox_message',
  'idempotency_key', 'sweep_failure', 'provider', 'provider_licence', 'clinic', 'clinic_location', 'category',
  'subcategory', 'product', 'product_rx', 'product_offer', 'offer_variant', 'clinic_availability', 'client', 'document',
  'encounter', 'encounter_treatment', 'encounter_document', 'encounter_information', 'encounter_addendum', 'gfe_item',
  '"order"', 'order_line', 'payment', 'refund'
]) AS name;

ALTER TABLE encounter ADD CONSTRAINT encounter_completed_has_order
  FOREIGN KEY (tenant_id, completed_id) REFERENCES "order" (tenant_id, encounter_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "order" ADD CONSTRAINT order_has_line
  FOREIGN KEY (tenant_id, id, first_position) REFERENCES order_line (tenant_id, order_id, position)
  DEFERRABLE INITIALLY DEFERRED;
