import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { newPartner, newPatient } from '../../support/factories.js';
import { sampleFiles } from '../../support/fileHost.js';
import { openHarnessWithHost } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem, withoutTable } from '../../support/refusals.js';

const { harness, host } = await openHarnessWithHost();
const partner = await newPartner(harness, 'sandbox');
const patientId = await newPatient(harness, partner);
const url = host.serve('/blood.pdf', { content: sampleFiles.pdf });

const upload = (from: string, key: string): Promise<Answer> =>
  call(harness, `POST /clients-documents/${patientId}/upload-url/lab-results`, {
    token: partner.token,
    json: { url: from, fileName: 'Jane Miller.pdf' },
    headers: { 'Idempotency-Key': key },
  });

/** The rows, events and objects that uploads have left, including temporary objects. */
async function left(): Promise<{ rows: number; events: number; objects: number }> {
  const { db } = harness.domain;
  const { tenantId } = partner;
  const files = await readdir(join(harness.dataDir, 'documents'), { recursive: true, withFileTypes: true });
  return {
    rows: await db.prisma.document.count({ where: { tenantId } }),
    events: await db.prisma.event.count({ where: { tenantId, type: 'document_created' } }),
    objects: files.filter((entry) => entry.isFile()).length,
  };
}

// Every document has its row, its event and its object; none exists alone.
afterEach(async () => {
  const { rows, events, objects } = await left();
  expect([events, objects]).toEqual([rows, rows]);
});

describe('an upload', () => {
  it('replays the response to a repeated Idempotency-Key without fetching the file again', async () => {
    const first = await upload(url, 'again');
    const before = [host.connections(), await left()];
    const again = await upload(url, 'again');
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect([host.connections(), await left()]).toEqual(before);
  });

  it('answers idempotency_key_reused to the Idempotency-Key of another upload, without fetching the file', async () => {
    await upload(url, 'other');
    const before = host.connections();
    expectProblem(await upload(`${url}?v=2`, 'other'), 400, 'idempotency_key_reused');
    expect(host.connections()).toBe(before);
  });

  it('keeps one document when two uploads with one Idempotency-Key race, and deletes the slower one’s object', async () => {
    const waiting: (() => void)[] = [];
    const slow = host.serve('/slow.pdf', (_, response) => {
      waiting.push(() => response.end(sampleFiles.pdf));
      // Both are fetched before either can be stored.
      if (waiting.length === 2) for (const answer of waiting) answer();
    });
    const before = await left();
    const [first, second] = await Promise.all([upload(slow, 'same key'), upload(slow, 'same key')]);
    expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
    expect((await left()).rows).toBe(before.rows + 1);
    expect((await fetch(first.body.fileUrl)).status).toBe(200);
  });

  it.each(['document', 'event', 'idempotency_key'])(
    'leaves no row, event or object when writing to the table %s fails',
    async (table) => {
      const before = await left();
      expectProblem(await withoutTable(harness, table, () => upload(url, table)), 500, 'internal_error');
      expect(await left()).toEqual(before);
      expect((await upload(url, table)).status).toBe(200);
    },
  );

  it('returns a link that works at first, and not after 900 s of real time, in a sandbox whose clock is ahead', async () => {
    const ahead = 30 * 24 * 3600_000;
    await harness.domain.db.prisma.tenant.updateMany({
      where: { id: partner.tenantId },
      data: { clockOffsetMs: ahead },
    });
    const { body } = await upload(url, 'ahead');
    expect(Date.parse(body.userDocument.createdAt)).toBe(harness.clock.now.getTime() + ahead);
    expect((await fetch(body.fileUrl)).status).toBe(200);
    harness.clock.advance(901);
    expect((await fetch(body.fileUrl)).status).toBe(403);
  });
});
