/** What ops/SECURITY.md says is tried is tried: every test and file that it names is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(ROOT, 'ops/SECURITY.md'), 'utf8');

/** The last column of every table that says `tried by`. */
function tried(): readonly string[] {
  return page
    .split(/\n(?!\|)/)
    .map((block) => block.split('\n').filter((line) => line.startsWith('|')))
    .filter(([head]) => head?.includes('| tried by |') === true)
    .flatMap((lines) => lines.slice(2).map((line) => line.split('|').at(-2)?.trim() ?? ''));
}

test('every test that the threat model names is there, and so is every file', (t) => {
  const sources = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'test', name), 'utf8').replaceAll("\\'", "'"))
    .join('\n');
  const cells = tried();
  t.true(cells.length > 40, `${cells.length} rows`);
  for (const [, path = ''] of page.matchAll(/`((?:test|src|ops)\/[^` ]+)`/g))
    t.true(existsSync(join(ROOT, path)), path);
  for (const cell of cells) {
    t.not(cell, '');
    // Without the files, and the few words that lead to them.
    const names = cell.replaceAll(/(the numbers: )?`[^`]+`(:|,)?/g, ';').split(';');
    for (const name of names.map((text) => text.trim()).filter((text) => text !== '' && text !== 'the same')) {
      // A title that is put together from parts is known by those.
      const parts = name.includes('…') ? name.replace(/^hostile: /, '').split('…') : [name];
      for (const part of parts) t.true(sources.includes(part.trim()), name);
    }
  }
});
