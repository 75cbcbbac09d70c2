import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { Pool } from 'pg';
import { eventOf } from './benchAudit.js';

/** Credentials, and ids of records that exist before the first request. */
export interface Sample {
  readonly tenantId: string;
  readonly apiClientId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
  readonly patientId: string;
  readonly email: string;
  readonly clinicId: string;
  readonly productId: string;
  readonly encounterId: number;
}

export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key?: string;
  readonly body?: object;
}

/** A measured operation: the request to the service, and the minimal SQL that gives the same response. */
export interface BenchOperation {
  readonly name: string;
  /** Set if the operation's own statement writes the audit row, as changes do. */
  readonly isChange?: true;
  request(sample: Sample): BenchRequest;
  plain(query: Query, sample: Sample, body: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Runs a named statement, which PostgreSQL parses only once per connection. */
export type Query = (text: string, values: readonly unknown[]) => Promise<Record<string, unknown>[]>;

export function namedQueries(pool: Pool): Query {
  const names = new Map<string, string>();
  return async (text, values) => {
    const name = names.get(text) ?? `s${names.size}`;
    names.set(text, name);
    return (await pool.query<Record<string, unknown>>({ name, text, values: [...values] })).rows;
  };
}

const get = (path: string): BenchRequest => ({ method: 'GET', path });
const children = (table: string, order: string): string =>
  `(SELECT json_agg(x ORDER BY ${order}) FROM ${table} x WHERE x.tenant_id = e.tenant_id AND x.encounter_id = e.id)`;
const ENCOUNTER = `SELECT e.*, ${children('encounter_treatment', 'position')} AS treatments,
  ${children('encounter_document', 'position')} AS documents, ${children('gfe_item', 'position')} AS items,
  (SELECT to_json(o) FROM "order" o WHERE o.tenant_id = e.tenant_id AND o.encounter_id = e.id) AS "order"
  FROM encounter e WHERE e.tenant_id = $1`;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** An access and a refresh token, signed in the same way as the service's. */
const tokens = (claims: object): string[] =>
  ['at+jwt', 'rt+jwt'].map((typ) => {
    const input = [
      { typ, alg: 'ES256' },
      { ...claims, jti: randomUUID() },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
  });

export const operations: readonly BenchOperation[] = [
  {
    name: 'GET /clients/{id}',
    request: ({ patientId }) => get(`/clients/${patientId}`),
    plain: (query, { tenantId, patientId }) =>
      query(
        `SELECT c.*, s.name AS state, s.code FROM client c LEFT JOIN ref_state s ON s.id = c.state_id
         WHERE c.tenant_id = $1 AND c.id = $2`,
        [tenantId, patientId],
      ),
  },
  {
    name: 'GET /clients?email=',
    request: ({ email }) => get(`/clients?email=${encodeURIComponent(email)}`),
    plain: (query, { tenantId, email }) =>
      query('SELECT * FROM client WHERE tenant_id = $1 AND email_key = $2', [tenantId, email.toLowerCase()]),
  },
  {
    name: 'GET /clinics',
    request: () => get('/clinics'),
    plain: (query, { tenantId }) =>
      query(
        `SELECT c.*, (SELECT json_agg(l ORDER BY is_primary DESC, name, id) FROM clinic_location l
           WHERE l.tenant_id = c.tenant_id AND l.clinic_id = c.id) AS locations,
           count(*) OVER () AS total, count(*) FILTER (WHERE is_active) OVER () AS active
         FROM clinic c WHERE tenant_id = $1 ORDER BY name_key, created_at DESC, id LIMIT 20`,
        [tenantId],
      ),
  },
  {
    name: 'GET /tenants/products',
    request: () => get('/tenants/products'),
    plain: (query, { tenantId }) =>
      query(
        `SELECT p.*, to_json(c) AS category, to_json(s) AS subcategory, to_json(r) AS rx, to_json(o) AS offer,
           (SELECT json_agg(v ORDER BY v.id) FROM offer_variant v
             WHERE v.tenant_id = o.tenant_id AND v.product_offer_id = o.id) AS variants,
           (SELECT json_agg(json_build_object('entry', a, 'clinic', k) ORDER BY a.id) FROM clinic_availability a
             JOIN clinic k ON k.tenant_id = a.tenant_id AND k.id = a.clinic_id
             WHERE a.tenant_id = p.tenant_id AND a.product_id = p.id) AS availability, count(*) OVER () AS total
         FROM product p
         JOIN category c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
         JOIN subcategory s ON s.tenant_id = p.tenant_id AND s.id = p.subcategory_id
         LEFT JOIN product_rx r ON r.tenant_id = p.tenant_id AND r.product_id = p.id
         LEFT JOIN product_offer o ON o.tenant_id = p.tenant_id AND o.product_id = p.id
         WHERE p.tenant_id = $1 AND NOT p.is_deleted ORDER BY p.name_key, p.created_at DESC, p.id LIMIT 20`,
        [tenantId],
      ),
  },
  {
    name: 'POST /encounters/status',
    request: ({ encounterId }) => ({ method: 'POST', path: '/encounters/status', body: { encounter_id: encounterId } }),
    plain: (query, { tenantId }, body) =>
      query(`${ENCOUNTER} AND e.encounter_no = $2`, [tenantId, body['encounter_id']]),
  },
  {
    name: 'GET /encounters/{encounter_id}',
    request: ({ encounterId }) => get(`/encounters/${encounterId}`),
    plain: (query, { tenantId, encounterId }) => query(`${ENCOUNTER} AND e.encounter_no = $2`, [tenantId, encounterId]),
  },
  {
    name: 'GET /encounters',
    request: () => get('/encounters'),
    plain: (query, { tenantId }) =>
      query(`${ENCOUNTER} ORDER BY e.created_at DESC, e.encounter_no DESC LIMIT 21`, [tenantId]),
  },
  {
    name: 'GET /clients/{id}/clearances',
    request: ({ patientId, clinicId, productId }) =>
      get(`/clients/${patientId}/clearances?clinicId=${clinicId}&treatmentIds=${productId}`),
    plain: (query, { tenantId, patientId, clinicId, productId }) =>
      query(
        `SELECT p.id, c.facts_version, l.timezone, (SELECT json_agg(json_build_object('item', i, 'no', e.encounter_no,
             'gfe_no', e.gfe_no, 'at', e.created_at, 'cancelled', e.cancelled_at, 'expires', e.expires_at))
           FROM encounter e JOIN gfe_item i ON i.tenant_id = e.tenant_id AND i.encounter_id = e.id
           WHERE e.tenant_id = c.tenant_id AND e.patient_id = c.id AND e.clinic_id = k.id
             AND i.category_id = p.category_id AND i.subcategory_id = p.subcategory_id) AS facts
         FROM client c JOIN product p ON p.tenant_id = c.tenant_id AND p.id = $4
         JOIN clinic k ON k.tenant_id = c.tenant_id AND k.id = $3
         LEFT JOIN clinic_location l ON l.tenant_id = k.tenant_id AND l.clinic_id = k.id AND l.is_primary
         WHERE c.tenant_id = $1 AND c.id = $2`,
        [tenantId, patientId, clinicId, productId],
      ),
  },
  {
    name: 'GET /renewals',
    request: () => get('/renewals?expiring_before=2100-01-01'),
    plain: (query, { tenantId }) =>
      query(
        `SELECT i.*, e.patient_id, e.encounter_no, e.gfe_no, u.date_of_birth, u.account_is_active, (
           SELECT json_agg(json_build_object('id', p.id, 'name', t.name, 'rx', t.rx, 'is_active', p.is_active))
           FROM encounter_treatment t JOIN product p ON p.tenant_id = t.tenant_id AND p.id = t.product_id
           WHERE t.tenant_id = $1 AND t.encounter_id = e.id AND t.decision = 'approved') AS treatments
         FROM gfe_item i
         JOIN encounter e ON e.tenant_id = i.tenant_id AND e.id = i.encounter_id
         JOIN client u ON u.tenant_id = e.tenant_id AND u.id = e.patient_id
         WHERE i.tenant_id = $1 AND i.status = 'approved'
           AND i.valid_until > now() AND i.valid_until < '2100-01-01' AND NOT EXISTS (
             SELECT FROM encounter n JOIN gfe_item s ON s.tenant_id = n.tenant_id AND s.encounter_id = n.id
             WHERE n.tenant_id = $1 AND n.patient_id = e.patient_id AND n.clinic_id = e.clinic_id
               AND s.category_id = i.category_id AND s.subcategory_id = i.subcategory_id AND s.status = 'approved'
               AND s.valid_until > i.valid_until)
         ORDER BY i.valid_until, i.id LIMIT 21`,
        [tenantId],
      ),
  },
  {
    name: 'GET /events',
    request: () => get('/events'),
    plain: (query, { tenantId }) =>
      query('SELECT id, type, timestamp, data, position FROM event WHERE tenant_id = $1 ORDER BY position LIMIT 21', [
        tenantId,
      ]),
  },
  {
    name: 'POST /oauth/token',
    request: ({ clientId: client_id, clientSecret: client_secret }) => ({
      method: 'POST',
      path: '/oauth/token',
      body: { grant_type: 'client_credentials', client_id, client_secret },
    }),
    async plain(query, _sample, { client_id, client_secret }) {
      createHash('sha256').update(String(client_secret)).digest();
      const [client] = await query(
        `SELECT c.*, s.secret_hash FROM api_client c JOIN tenant t ON t.id = c.tenant_id AND t.is_active
         JOIN api_client_secret s ON s.tenant_id = c.tenant_id AND s.api_client_id = c.id
         WHERE c.client_id = $1 AND c.is_active`,
        [client_id],
      );
      return tokens({ sub: client_id, scope: client?.['permissions'] });
    },
  },
  {
    name: 'POST /clients',
    isChange: true,
    request: () => ({ method: 'POST', path: '/clients', body: patientBody() }),
    plain: (query, { tenantId }, body) =>
      query(
        `WITH ${eventOf("$10, $2, position, NULL, 'patient.created', $9, $8")}
         INSERT INTO client (id, tenant_id, first_name, last_name, email, date_of_birth, country_code, phone,
           is_verified, is_home_address_same_as_shipping, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, '+1', $7, 'NOTVERIFIED', true, $8, $8) RETURNING *`,
        [
          ...[randomUUID(), tenantId, body['firstName'], body['lastName'], body['email'], body['dateOfBirth']],
          ...[body['phone'], new Date(), JSON.stringify({ user_id: randomUUID() }), randomUUID()],
        ],
      ),
  },
  {
    name: 'POST /encounters with key',
    isChange: true,
    request: ({ clinicId, patientId, productId }) => ({
      method: 'POST',
      path: '/encounters',
      key: randomUUID(),
      body: {
        ...{ clinicId, patientId, treatmentIds: [productId] },
        ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
      },
    }),
    async plain(query, { tenantId, apiClientId }, { clinicId, patientId, treatmentIds }) {
      const [productId] = treatmentIds as string[];
      const [found] = await query(
        `SELECT p.*, c.category_name, c.review_often, c.review_recurring, s.sub_category_name, o.price,
           o.shipping_type, o.shipping_amount FROM product p
         JOIN product_offer o ON o.tenant_id = p.tenant_id AND o.product_id = p.id
         JOIN category c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
         JOIN subcategory s ON s.tenant_id = p.tenant_id AND s.id = p.subcategory_id
         JOIN clinic k ON k.tenant_id = p.tenant_id AND k.id = $3 AND k.is_active
         JOIN client u ON u.tenant_id = p.tenant_id AND u.id = $4 AND u.account_is_active
         WHERE p.tenant_id = $1 AND p.id = $2 AND p.is_active`,
        [tenantId, productId, clinicId, patientId],
      );
      const record = { ...found, id: randomUUID(), clinicId, patientId };
      return query(
        `WITH key AS (
           INSERT INTO idempotency_key (tenant_id, api_client_id, operation_id, key, fingerprint, answer)
           VALUES ($2, $5, 'createEncounter', $6, $7, $8)
         ), made AS (
           INSERT INTO encounter (id, tenant_id, clinic_id, patient_id, status, review_type, service_queue, sub_total,
             total_shipping_amt, grand_total, currency, claimable_from, expires_at, created_at, updated_at)
           VALUES ($1, $2, $3, $4, 'pending_review', 'asynchronous', 'provider_network', 1, 1, 2, 'USD',
             now(), now() + interval '90 days', now(), now()) RETURNING *
         ), treatment AS (
           INSERT INTO encounter_treatment SELECT * FROM jsonb_populate_record(NULL::encounter_treatment,
             $8 || jsonb_build_object('id', $9::uuid, 'encounter_id', $1, 'clinic_id', $3, 'patient_id', $4,
               'product_id', $8->'id0', 'position', 0))
         ), item AS (
           INSERT INTO gfe_item (id, tenant_id, encounter_id, clinic_id, position, category_id, category_name, subcategory_id,
             sub_category_name, review_often, review_recurring, status)
           SELECT $9::uuid, $2, $1, $3, 0, category_id, category_name, subcategory_id, sub_category_name, 'YEARLY', true,
             'pending_review' FROM jsonb_populate_record(NULL::encounter_treatment, $8)
         ), ${eventOf("$9::uuid, $2, position, $3, 'encounter.created', $8, now()")}
         SELECT * FROM made`,
        [
          ...[record.id, tenantId, clinicId, patientId, apiClientId, randomUUID()],
          ...[createHash('sha256').update(JSON.stringify(record)).digest()],
          ...[JSON.stringify({ ...record, id0: productId }), randomUUID()],
        ],
      );
    },
  },
];

export const patientBody = (): Record<string, string> => ({
  ...{ firstName: 'Jane', lastName: 'Miller', email: `${randomUUID()}@example.com`, dateOfBirth: '1990-06-30' },
  ...{ countryCode: '+1', phone: '5125550142' },
});
