import { statementGuard } from '../../src/adapters/database/statementGuard.js';

const check = (text: string, tenantId: string | null = 'lakeside') =>
  statementGuard(new Set(['tenant', 'clinic', 'place', 'order']))(text, ['lakeside', 'other'], tenantId);

it.each([
  'SELECT id FROM clinic WHERE tenant_id = $1 AND id = $2',
  'SELECT id FROM clinic WHERE $1 = tenant_id',
  'SELECT now() FROM ref_state WHERE code = $2',
  'SELECT name FROM tenant WHERE id = $1',
  'SELECT * FROM clinic AS one JOIN place ON place.tenant_id = one.tenant_id AND place.id = one.id WHERE one.tenant_id = $1',
  'SELECT * FROM tenant JOIN clinic ON clinic.tenant_id = tenant.id WHERE tenant.id = $1',
  'SELECT (SELECT name FROM place WHERE place.tenant_id = $1 AND place.id = clinic.id) FROM clinic WHERE clinic.tenant_id = $1',
  'SELECT id FROM clinic WHERE tenant_id = $1 UNION SELECT id FROM place WHERE tenant_id = $1',
  'SELECT extract(epoch FROM place) FROM clinic WHERE tenant_id = $1 AND name IS DISTINCT FROM place',
  'SELECT id FROM unnest($2) AS one (id), clinic WHERE clinic.tenant_id = $1 FOR UPDATE',
  'UPDATE "order" AS stored SET name = changed.name FROM changed WHERE stored.tenant_id = $1 AND stored.id = changed.id',
  'DELETE FROM clinic USING old WHERE clinic.tenant_id = $1 AND clinic.id = old.id',
  'INSERT INTO "order" ("tenant_id", id) SELECT $1, id FROM old ON CONFLICT (id) DO UPDATE SET id = excluded.id',
])('a statement that names the tenant of each tenant-owned table is accepted: %s', (text) => {
  expect(() => check(text)).not.toThrow();
});

it.each([
  ['SELECT id FROM clinic', 'clinic'],
  ['SELECT id FROM clinic WHERE tenant_id = $2', 'clinic'],
  ["SELECT id FROM clinic WHERE name = 'tenant_id = $1'", 'clinic'],
  ['SELECT id FROM clinic AS one, place WHERE one.tenant_id = $1', 'place'],
  ['SELECT name FROM tenant WHERE name = $1', 'tenant'],
  [
    'SELECT (SELECT name FROM place WHERE place.tenant_id = clinic.tenant_id) FROM clinic WHERE clinic.tenant_id = $1',
    'place',
  ],
  ['SELECT id FROM clinic WHERE tenant_id = $1 AND EXISTS (SELECT FROM place WHERE id = $2)', 'place'],
  ['SELECT id FROM clinic WHERE tenant_id = $1 UNION SELECT id FROM place', 'place'],
  ['WITH old AS (DELETE FROM place WHERE id = $2 RETURNING id) SELECT id FROM clinic WHERE tenant_id = $1', 'place'],
  ['UPDATE "order" SET name = $1 WHERE id = $2', 'order'],
  ['INSERT INTO "order" (id) VALUES ($1)', 'order'],
])('a statement with a table whose tenant it does not name is refused: %s', (text, table) => {
  expect(() => check(text)).toThrow(`does not name the tenant of ${table} by "=":`);
});

it('a statement that was accepted for one tenant is refused with the parameter of another one', () => {
  const guard = statementGuard(new Set(['clinic']));
  const text = 'SELECT id FROM clinic WHERE tenant_id = $1 AND id = $2';
  expect(() => guard(text, ['lakeside', 'other'], 'lakeside')).not.toThrow();
  expect(() => guard(text, ['other', 'lakeside'], 'lakeside')).toThrow('does not name the tenant of clinic');
});

it('the last statement of a transaction may name any tenant, but must name one', () => {
  expect(() => check('DELETE FROM clinic WHERE tenant_id = $2', null)).not.toThrow();
  expect(() => check('DELETE FROM clinic WHERE id = $2', null)).toThrow();
});
