import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

const root = fileURLToPath(packageRoot);
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

const all = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).split('\n');

/** Hand-written texts, without SQL: applied migrations must not change. */
const files = all
  .filter((file) => /\.(ts|js|md|yaml|prisma)$|^Makefile$/.test(file))
  .filter((file) => !file.startsWith('generated/') && file !== 'tests/contract/references.test.ts');

/** The ids that a document defines, by the start of their line. */
function definedIn(document: string, start: RegExp): string[] {
  return [...read(document).matchAll(start)].map(([, id = '']) => id);
}

const rules = definedIn('openapi/rules.md', /^- \*\*(R-\d+)\*\*/gm);
const decisions = definedIn('openapi/decisions.md', /^### (D-\d+):/gm);
const records = all.flatMap(
  (file) =>
    /^src\/adr\/0*(\d+)-/
      .exec(file)
      ?.slice(1)
      .map((number) => `ADR ${number}`) ?? [],
);

const citations = files.flatMap((file) =>
  [...read(file).matchAll(/(?<![A-Z])\b(?:[RD]-\d{2,3}|ADR \d+)\b/g)].map(([id]) => ({ file, id })),
);

it('every rule, decision and ADR that a text cites is defined exactly once', () => {
  const definitions = [...rules, ...decisions, ...records];
  expect(definitions.filter((id, index) => definitions.indexOf(id) !== index)).toEqual([]);
  const defined = new Set(definitions);
  expect(citations.filter(({ id }) => !defined.has(id))).toEqual([]);
  expect(rules.length).toBeGreaterThan(100);
});

it('every decision is cited outside of decisions.md', () => {
  const cited = new Set(citations.filter(({ file }) => file !== 'openapi/decisions.md').map(({ id }) => id));
  expect(decisions.filter((id) => !cited.has(id))).toEqual([]);
  expect(decisions.length).toBeGreaterThan(10);
});

it('no text cites a domain rule by its title or a section of the interface, which are outside of the repository', () => {
  const strays = files.flatMap((file) =>
    [...read(file).matchAll(/[Dd]omain rules? "|\binterface §/g)].map(([text]) => `${file}: ${text}`),
  );
  expect(strays).toEqual([]);
});

it('README has at most 150 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

it('every relative link of a document leads to a file or folder of the repository', () => {
  const broken = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      // A leading slash is an address of the service, which artifacts.test.ts checks.
      [...read(file).matchAll(/\]\((?!https?:|#|\/)([^)#]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => new URL(target, new URL(file, packageRoot)))
        .filter((url) => !all.some((known) => known.startsWith(fileURLToPath(url).slice(root.length))))
        .map((url) => `${file}: ${url.pathname}`),
    );
  expect(broken).toEqual([]);
});
