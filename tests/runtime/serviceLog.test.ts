import { stripVTControlCharacters } from 'node:util';
import { openServiceLog } from '../../src/runtime/serviceLog.js';

/** The text that a terminal shows. */
async function shown(level: string, write: (log: Awaited<ReturnType<typeof openServiceLog>>) => void): Promise<string> {
  let text = '';
  write(await openServiceLog(level, { write: (line: string) => void (text += stripVTControlCharacters(line)) }));
  return text;
}

const request = { requestId: 'r-1', method: 'GET', route: '/clients/{id}', operationId: 'getPatient', status: 200 };

it('the log on a terminal writes a request as one readable line with its ids', async () => {
  const text = await shown('info', (log) =>
    log.info({ ...request, code: undefined, tenantId: 'demo', clientId: 'ces_a', durationMs: 11.6 }, 'request'),
  );
  expect(text).toMatch(/^\[\d\d:\d\d:\d\d] INFO: /);
  const ids = '{"requestId":"r-1","tenantId":"demo","clientId":"ces_a"}';
  expect(text.split('INFO: ')[1]).toBe(`GET /clients/{id} 200 in 12 ms ${ids}\n`);
});

it('the log on a terminal writes a request without a response and any other message as one readable line each', async () => {
  const text = await shown('info', (log) => {
    log.info({ ...request, status: null, durationMs: 1, aborted: true }, 'request');
    log.warn({ reason: 'ECONNREFUSED' }, 'the scanner does not answer');
    log.debug('too much');
  });
  expect(text.split('\n').map((line) => line.slice('[00:00:00] '.length))).toEqual([
    'INFO: GET /clients/{id} no response in 1 ms {"requestId":"r-1","aborted":true}',
    'WARN: the scanner does not answer {"reason":"ECONNREFUSED"}',
    '',
  ]);
});
