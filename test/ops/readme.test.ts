/** README.md and CONTRIBUTING.md are true: kinds and folders are those that there are, and what they point at exists. */
import test from 'ava';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { KINDS } from '../../src/kinds/index.js';

const HOME = fileURLToPath(new URL('../../../', import.meta.url));
const README = readFileSync(`${HOME}README.md`, 'utf8');
const CONTRIBUTING = readFileSync(`${HOME}CONTRIBUTING.md`, 'utf8');

/** Words in backticks in the row of a table that begins with this. */
function row(head: string): readonly string[] {
  const line = README.split('\n').find((each) => each.startsWith(`| ${head} |`)) ?? '';
  return [...line.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

test('the kinds of the README are all that there are, each as served or as described', (t) => {
  const plurals = (unbuilt: boolean): readonly string[] =>
    KINDS.filter((kind) => (kind.unbuilt === true) === unbuilt)
      .map(({ plural }) => plural)
      .toSorted();
  t.deepEqual(row('served'), plurals(false));
  t.deepEqual(row('described'), plurals(true));
});

test('every category that the README names exists, and every one that exists is named', (t) => {
  const said = /`kubectl get (all)` shows the work; (.+) are categories as well/.exec(README);
  const named = [said?.[1] ?? '', ...[...(said?.[2] ?? '').matchAll(/`(\w+)`/g)].map(([, word = '']) => word)];
  t.deepEqual(named.toSorted(), [...new Set(KINDS.flatMap(({ categories }) => categories))].toSorted());
});

test('the table of folders has every one, and every file that README.md and CONTRIBUTING.md point at is there', (t) => {
  const plan = [...CONTRIBUTING.matchAll(/^\| `([a-z/]+)` \|/gm)].map(([, folder = '']) => folder);
  const folders = ['actors', 'http', 'storage', 'ops', 'test', ...directories('src').map((name) => `src/${name}`)];
  t.deepEqual(plan.toSorted(), folders.toSorted());
  const files = [
    ...`${README}${CONTRIBUTING}`.matchAll(/`((?:src|actors|http|storage|ops|test)\/[\w./-]+)`|\]\(([\w./-]+)\)/g),
  ];
  t.true(files.length > 15);
  for (const [, quoted, linked] of files) t.true(existsSync(`${HOME}${quoted ?? linked}`), quoted ?? linked);
});

function directories(under: string): readonly string[] {
  return readdirSync(`${HOME}${under}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
