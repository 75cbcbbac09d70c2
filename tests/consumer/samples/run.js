/** Runs the compiled samples that the file `operations` names, and prints their statuses. What one changed is reset. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

const { BASE_URL, TOKEN } = process.env;
const send = globalThis.fetch;
let status = 0;
// The client returns bodies.
globalThis.fetch = async (...request) => {
  const response = await send(...request);
  ({ status } = response);
  return response;
};
// What samples print is not looked at.
globalThis.console.log = () => undefined;

for (const line of (await readFile('operations', 'utf8')).trim().split('\n')) {
  const [operation, method] = line.split(' ');
  const failure = await import(join(process.cwd(), `${operation}.js`)).then(
    () => '',
    (error) => ` ${error}`,
  );
  process.stdout.write(`${operation} ${status}${failure}\n`);
  if (method !== 'GET') {
    await send(`${BASE_URL}/sandbox/reset`, { method: 'POST', headers: { Authorization: `Bearer ${TOKEN}` } });
  }
}
