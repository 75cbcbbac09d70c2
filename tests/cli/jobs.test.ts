import { rowsOf } from '../support/migrations.js';
import { refusal, openOperator } from './operator.js';

// With the rights of the service's role, which may not migrate.
const { database, run, json } = await openOperator('service');

const addJob = (name: string, change: string) =>
  rowsOf(
    database.url,
    `WITH added AS (SELECT id FROM graphile_worker.add_job('${name}'))
      SELECT FROM added, graphile_worker.reschedule_jobs(ARRAY[added.id], ${change})`,
  );

describe('job list and retry', () => {
  it('show the state of each queued job; retry makes a waiting or failed job due now and restores all its attempts', async () => {
    await addJob('purge-events', `run_at => now() - interval '2 minutes', attempts => 25`);
    await addJob('seal-audit', `run_at => now() + interval '1 hour', attempts => 2`);
    await addJob('hold-expired-lines', `run_at => now() - interval '1 minute'`);
    expect(await json('job', 'list')).toMatchObject([
      { name: 'purge-events', state: 'failed', attempts: 25 },
      { name: 'hold-expired-lines', state: 'due', attempts: 0 },
      { name: 'seal-audit', state: 'waiting', attempts: 2 },
    ]);
    for (const name of ['purge-events', 'seal-audit']) {
      expect(await run('job', 'retry', name)).toEqual({ code: 0, stdout: `${name} is due.\n`, stderr: '' });
    }
    const due = expect.objectContaining({ state: 'due', attempts: 0 });
    expect(await json('job', 'list')).toEqual([due, due, due]);
  });

  it('refuse to retry a job that is not in the queue', async () => {
    const message = 'No job apply-retention is waiting or has failed. See "job list".\n';
    expect(await run('job', 'retry', 'apply-retention')).toEqual(refusal(1, message));
  });
});
