import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { feedPage } from '../support/events.js';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { refusal, useOperator } from './operator.js';
import { startProcess } from './runProgram.js';

const { harness, environment, run } = useOperator();
let partner: Partner;
beforeAll(async () => {
  partner = await newPartner(harness);
});

const commandsOf = ({ tenantId }: Partner) =>
  harness.domain.db.prisma.auditEvent.findMany({ where: { tenantId, operationId: 'events tail' } });

/** Runs `events tail` in a child process. */
function startTail(...options: readonly string[]) {
  const child = startProcess(environment, 'events', 'tail', '--tenant', partner.tenantId, ...options);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const stderr = text(child.stderr);
  return {
    next: async (): Promise<unknown> => JSON.parse((await lines.next()).value),
    /** Sends a signal, and returns the rest of the output. */
    async end(signal: NodeJS.Signals): Promise<object> {
      child.kill(signal);
      const [code] = (await once(child, 'exit')) as [number | null];
      const rest = await lines.next();
      return { code, more: !rest.done, stderr: await stderr };
    },
  };
}

it('events tail prints new events, or those after a cursor, after it has recorded its audit row, and ends on a signal', async () => {
  await newPatient(harness, partner);
  const { next_cursor: before } = await feedPage(harness, partner);
  const tail = startTail();
  // The command is audited once it knows its position in the feed.
  while ((await commandsOf(partner)).length === 0) await delay(50);
  await newPatient(harness, partner);
  const { data, next_cursor: after } = await feedPage(harness, partner, { after: before });
  expect(await tail.next()).toEqual(data[0]);
  const ended = (cursor: string) => ({ code: 0, more: false, stderr: `Continue from here with --after ${cursor}\n` });
  expect(await tail.end('SIGTERM')).toEqual(ended(after));

  await newPatient(harness, partner);
  const page = await feedPage(harness, partner, { after });
  const next = startTail('--after', after, '--json');
  expect(await next.next()).toEqual(page.data[0]);
  const notice = JSON.stringify({ notice: ended(page.next_cursor).stderr.trimEnd() });
  expect(await next.end('SIGINT')).toEqual({ ...ended(''), stderr: `${notice}\n` });
  const success = { outcome: 'success', resourceType: 'event', clientId: null };
  expect(await commandsOf(partner)).toMatchObject([success, success]);
}, 60_000);

it('events tail refuses an unknown tenant and a cursor of another tenant', async () => {
  const { next_cursor: foreign } = await feedPage(harness, await newPartner(harness));
  const tail = (tenant: string) => run('events', 'tail', '--tenant', tenant, '--after', foreign);
  expect(await tail('nowhere')).toEqual(refusal(1, /^There is no tenant/));
  expect(await tail(partner.tenantId)).toEqual(
    refusal(
      1,
      'The cursor of --after is not a cursor of this list. Use a next_cursor of this tenant, or omit --after.\n',
    ),
  );
});
