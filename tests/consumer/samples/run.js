/**
 * Runs the compiled samples that the file `operations` names, and prints their statuses. If a sample fails after others
 * have changed the sandbox, resets the sandbox and runs the sample again: faster than a reset after each, as in `run.sh`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

const { BASE_URL, TOKEN } = process.env;
const send = globalThis.fetch;
let status = 0;
// Note the status, because the client returns only the body.
globalThis.fetch = async (...request) => {
  const response = await send(...request);
  ({ status } = response);
  return response;
};
// Drop the output of the samples.
globalThis.console.log = () => undefined;

/** Runs the sample; the number of the try makes it a new module. */
const run = async (operation, number) => {
  const failure = await import(`${join(process.cwd(), `${operation}.js`)}?${number}`).then(
    () => '',
    (error) => ` ${error}`,
  );
  return { line: `${operation} ${status}${failure}\n`, isSuccess: status < 300 && failure === '' };
};

let isChanged = false;
for (const line of (await readFile('operations', 'utf8')).trim().split('\n')) {
  const [operation, method] = line.split(' ');
  let result = await run(operation, 1);
  if (isChanged && !result.isSuccess) {
    await send(`${BASE_URL}/sandbox/reset`, { method: 'POST', headers: { Authorization: `Bearer ${TOKEN}` } });
    isChanged = false;
    result = await run(operation, 2);
  }
  isChanged ||= method !== 'GET';
  process.stdout.write(result.line);
}
