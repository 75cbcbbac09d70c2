/**
 * `make test-titles`: counts the titles of tests that are not sentences. A title is a sentence if it has more verbs
 * than subordinate clauses: "answers 503 while the table is locked" is one, "a table that is locked" is not. Prints the
 * titles that are none, and fails if they are 2 % or more.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');
const MAX_SHARE = 0.02;
/** Words that begin a subordinate clause, which has its own verb. */
const SUBORDINATE = /^(?:although|because|if|that|unless|when|where|which|while|who|whose)$/;
/** Verbs in the present tense. Words like `requests` are missing, because they are usually plural nouns. */
const VERBS = new Set(
  `
  aborts accept accepts add added adds admits adopts agree agrees allow allows announces answer answers appear
  appears applies apply approves are arrives ask asks assigns attempts await awaits becomes begin begins believes
  belong belongs bills block blocks bounds breaks brings buffers caches calls can cancels cannot canonicalizes caps
  carries change changes checks cites claims cleans clears close closes collapses collide come comes commits compares
  compiles completes computes configures confirms conflicts conform conforms connects consists consumes contain
  contains continues contradict contradicts converts copies corrects costs could count counters counts cover covers
  create created creates crosses cuts dates debits decides declares defaults delays deletes delivers demand demands
  denies depend depends describes detects did differ differs disables discovers distinguishes do documents does
  drains draws drops echoes emits empties encodes end ends enforce enforces ensures enters equals erases escapes
  evicts examines exceed exceeds excepts excludes exempts exist exists exits expects expire expired expires explains
  exposes extracts fail fails fall falls fetches fills filters find finds fits fixes flow follows forges forgets
  formats freezes generate generates get gets give gives go goes got grant grants groups grow grows had hands hangs
  happens has hashes have hides hold holds honors honours identifies ignores imports includes interleave invents
  invites is issues joins judges keep keeps kill know knows lacks lapses lead leads learns leave leaves left lets
  lies limits list listed listens lists lives loads locks logs look looks lose loses make makes maps marks match
  matches may means measures meets mentions merges migrates move moves must name names narrows need needs normalizes
  notices notifies numbers obtains occur occurs offers omits open opens orders outlives outranks overrides paid
  parses pass passes pay pays permits persists pins plans points prefer prefers preserves prevents print prints
  probes processes produces protects proves provides publishes puts queue queues quotes race races raises ranks reach
  reaches read reads rebuild receive receives record records recovers redacts redirects refers reflects refreshes
  refunds refuse refuses registers rejects releases reloads remain remains remembers remove removes renames renders
  renews reopens repeat repeated repeats replaces replays reports require requires resets resolves respects respond
  responds restarts restores restricts resumes retires retries return returns reuse reuses reveals revokes rolls
  rotates rounds run runs sanitizes satisfies saves say says scans searches see sees selects sends sent separates
  serialize serializes serve serves set sets settle settles share shares shipped ships shortens should show shows
  shut shuts signs skip skipped skips sorts spells splits stalls stands start starts states stay stays stop stops
  store stored stores streams strips succeed succeeds suggests sums supersedes supports survive survives swallows
  sweeps take takes tell tells terminate terminates throttles throws tolerates touches tracks treats trims truncates
  trusts types understands undoes unlocks updates uploaded uploads use uses validates verifies violate violates wait
  waited waits waives wakes wants warns was were widens will win wins work works would write writes wrote yields
  zeroes`.split(/\s+/),
);

function titlesOf(path: string): string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:it|test|reads)\b/.test(node.expression.getText())) {
      const [title] = node.arguments;
      if (title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title)))
        titles.push(title.getText().slice(1, -1));
    }
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return titles;
}

const files = readdirSync(join(root, 'tests'), { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.test.ts') && !path.includes('node_modules'),
);
const titles = files.flatMap((file) => titlesOf(join(root, 'tests', file)).map((title) => ({ file, title })));
const fragments = titles.filter(({ title }) => {
  // Read a parameter at the end of a title as a verb, because it stands for the rest of the sentence.
  const words = title
    .toLowerCase()
    .replace(/%s$/, 'is')
    .split(/[^a-z'’-]+/);
  const clauses = words.filter((word) => SUBORDINATE.test(word)).length;
  return words.filter((word) => VERBS.has(word)).length <= clauses;
});
for (const { file, title } of fragments) process.stdout.write(`tests/${file}: ${title}\n`);
const share = fragments.length / titles.length;
process.stdout.write(
  `${fragments.length} of ${titles.length} titles are not sentences (${(share * 100).toFixed(1)} %)\n`,
);
if (share >= MAX_SHARE) process.exitCode = 1;
