import { newToken } from '../support/factories.js';
import { call } from '../support/http.js';
import { tally } from './faults.js';

// Runs as a child process: 40 callers reset one sandbox, move its clock and read its lists until the parent stops them.

const [baseUrl = '', clientId = '', clientSecret = ''] = process.argv.slice(2);
const CALLERS = 40;
const requests = [
  ['POST /sandbox/reset', {}],
  ['PUT /sandbox/clock', { json: { offsetSeconds: 60 } }],
  ['GET /tenants/products?limit=100', {}],
  ['GET /encounters?limit=100', {}],
] as const;

let isOver = false;
process.on('message', () => (isOver = true));
const token = await newToken({ baseUrl }, { clientId, clientSecret });
process.send?.('begun');
const statuses: number[] = [];
await Promise.all(
  Array.from({ length: CALLERS }, async (_, index) => {
    for (let count = index; !isOver; count += 1) {
      const [target, options] = requests[count % requests.length] ?? requests[2];
      statuses.push((await call({ baseUrl }, target, { token, ...options })).status);
    }
  }),
);
process.send?.(tally(statuses));
process.disconnect();
