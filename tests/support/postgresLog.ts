import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';

/**
 * The log with PostgreSQL's default settings, those that scripts/production/database.md asks for, and every statement. New
 * connections use it.
 */
const settings = `
  SET log_min_messages = warning; SET log_min_error_statement = error; SET log_statement = 'all';
  SET log_min_duration_statement = 0; SET log_parameter_max_length = 0; SET log_error_verbosity = terse`;

/**
 * Has PostgreSQL log all that is done in a database.
 * @param url a superuser's
 * @returns what reads the log since then; null for a server whose files are not on this machine
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
