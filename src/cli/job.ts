import type { Command } from '@commander-js/extra-typings';
import { listJobs, retryJob } from '../adapters/jobs/jobQueue.js';
import { addCommand, addGroup } from './command.js';
import { withDatabase } from './operator.js';
import { print, table } from './output.js';
import type { CliIo } from './cliIo.js';

export function addJobCommands(program: Command, terminal: CliIo): void {
  const job = addGroup(program, 'job', "the servers' periodic jobs");

  addCommand(job, 'list', 'list jobs that are due, running, waiting for a retry or failed').action(async ({ json }) => {
    const jobs = await withDatabase(terminal, ({ db }) => listJobs(db));
    const rows = jobs.map(({ name, state, attempts, runAt }) => [name, state, String(attempts), runAt.toISOString()]);
    print(terminal, json, jobs, table(['JOB', 'STATE', 'ATTEMPTS', 'RUN AT'], rows));
  });

  const retrying = 'run a waiting or failed job now; a server must be running';
  addCommand(job, 'retry <job>', retrying, ['purge-events']).action(async (name, { json }) => {
    await withDatabase(terminal, async ({ db }) => {
      if (!(await retryJob(db, name))) throw new Error(`No job ${name} is waiting or has failed. See "job list".`);
    });
    print(terminal, json, { job: name }, `${name} is due.`);
  });
}
