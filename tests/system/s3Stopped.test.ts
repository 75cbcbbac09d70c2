import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { portOf } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { bodyOf, outcomeOf } from '../support/objectStores.js';
import { hasS3Server, startS3Server } from '../support/s3.js';

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('the S3 store', () => {
  const spool = temporaryFolder();
  it('is unavailable and empties its spool when the server stops in the middle of a put', async () => {
    const s3 = await startS3Server();
    const relay = await startRelay(Number(new URL(s3.account.endpoint).port), 5_000_000);
    const endpoint = `http://127.0.0.1:${relay.port}`;
    const store = await openS3Store({ ...s3.account, endpoint, spoolFolder: spool(), timeout: 5_000 });
    const content = randomBytes(20 * 1024 * 1024);
    const attempt = outcomeOf(store.put('a/b.pdf', bodyOf(content), 'application/pdf'));
    await relay.reached;
    expect(await s3.keys()).toEqual([]);
    await s3.close();
    expect(await attempt).toBe('dependency_unavailable');
    expect(await readdir(spool())).toEqual([]);
    expect(await outcomeOf(store.check())).toBe('dependency_unavailable');
    relay.close();
  });
});

/** Relays to a local port; `reached` resolves after this many bytes, so that the test needs no clock. */
async function startRelay(target: number, bytes: number) {
  let relayed = 0;
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const relay = createServer((from: Socket) => {
    const to = connect(target, '127.0.0.1');
    from.on('data', (chunk) => {
      relayed += chunk.length;
      if (relayed > bytes) reach();
    });
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) {
      socket.on('error', () => undefined).on('close', () => [from, to].forEach((end) => end.destroy()));
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return { port: portOf(relay.address()), reached, close: () => relay.close() };
}
