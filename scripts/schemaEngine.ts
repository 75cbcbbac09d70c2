import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import { openPool } from '../src/adapters/database/openPool.js';
import { packageRoot } from '../src/packageRoot.js';

// Node has WebAssembly, but neither @types/node 20 nor TypeScript's lib without the DOM declares it.
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
};

/** The SQL from an older schema.prisma (default: an empty one) to the present one, by Prisma's schema engine. Changes nothing at `url`. */
export async function schemaDiff(url: string, olderSchema?: string): Promise<string> {
  const tag = 'schemaDatamodel' as const;
  const datamodel = (content: string) => ({ tag, files: [{ path: 'schema.prisma', content }] });
  const present = await readFile(new URL('prisma/schema.prisma', packageRoot), 'utf8');
  const from = olderSchema === undefined ? { tag: 'empty' as const } : datamodel(olderSchema);
  const filters = { externalTables: [], externalEnums: [] };
  await (loaded ??= load());
  const pool = openPool({ connectionString: url, max: 1 });
  try {
    const factory = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool));
    const engine = await bindings.SchemaEngine.new({ datamodels: undefined }, () => {}, factory);
    const diff = await engine.diff({ from, to: datamodel(present), script: true, exitCode: null, filters });
    return diff.stdout ?? '';
  } finally {
    await pool.end();
  }
}

let loaded: Promise<void> | undefined;

/** Node 20 cannot import .wasm files, so load the engine and its bindings here. */
async function load(): Promise<void> {
  const engine = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm');
  const program = await readFile(engine.replace(/\.js$/, '_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(program, { './schema_engine_bg.js': { ...bindings } });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
}
