import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';

/**
 * PostgreSQL's default log settings, those of scripts/production/database.md, and every statement. They apply to new
 * connections.
 */
const settings = `
  SET log_min_messages = warning; SET log_min_error_statement = error; SET log_statement = 'all';
  SET log_min_duration_statement = 0; SET log_parameter_max_length = 0; SET log_error_verbosity = terse`;

/**
 * Makes PostgreSQL log every statement in a database.
 * @param url the superuser's address
 * @returns a function that reads the log from now on; null if the log is not where the embedded PostgreSQL writes it
 */
export async function logEverything(url: string): Promise<(() => Promise<string>) | null> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ folder: string; name: string }>(
      `SELECT current_setting('data_directory') AS folder, current_database() AS name`,
    );
    const [{ folder, name } = { folder: '', name: '' }] = rows;
    for (const setting of settings.split(';')) await client.query(`ALTER DATABASE ${name} ${setting}`);
    const file = join(folder, '../../postgres.log');
    const before = await readFile(file).catch(() => null);
    return before && (async () => (await readFile(file)).subarray(before.length).toString('utf8'));
  } finally {
    await client.end();
  }
}
