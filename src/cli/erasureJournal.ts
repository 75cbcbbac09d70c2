import { validate as isUuid } from 'uuid';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readText } from './files.js';

/** An entry of the journal of erasures: a file, so that erasures can be repeated after an older backup is restored. */
export interface Erasure {
  readonly tenantId: string;
  readonly patientId: string;
  readonly erasedAt: string;
}

/** Opens the journal for appending, and appends an erasure, if given: without it, only checks that this is possible. */
export async function noteErasure(file: string, erasure?: Erasure): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const journal = await open(file, 'a', 0o600);
  try {
    if (!erasure) return;
    const { tenantId, patientId, erasedAt } = erasure;
    await journal.appendFile(`${JSON.stringify({ tenantId, patientId, erasedAt })}\n`);
    await journal.sync();
  } finally {
    await journal.close();
  }
}

/** Reads the journal. @throws Error naming the first line that is not an erasure; errors of {@link readText} */
export async function readErasures(file: string): Promise<Erasure[]> {
  const lines = (await readText(file)).split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    const erasure = parsed(line);
    if (!erasure)
      throw new Error(
        `${file}:${index + 1}: This line is not an erasure, {"tenantId":"…","patientId":"…","erasedAt":"…"}. If the file is the journal, correct the line, or remove it if it names no patient; otherwise name the journal by --erasures.`,
      );
    return erasure;
  });
}

function parsed(line: string): Erasure | undefined {
  try {
    const erasure = JSON.parse(line) as Partial<Erasure>;
    const { tenantId, patientId, erasedAt = '' } = erasure;
    return typeof tenantId === 'string' && typeof patientId === 'string' && isUuid(patientId)
      ? { tenantId, patientId, erasedAt }
      : undefined;
  } catch {
    return undefined;
  }
}
