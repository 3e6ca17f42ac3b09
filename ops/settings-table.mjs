/** Writes the table of settings into `ops/README.md`, between its two marks. Run it after `src/settings.ts` changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOME, prepare } from './prepare.mjs';

await prepare();
const { settingsTable } = await import('../dist/src/app/settings-help.js');
const file = join(HOME, 'ops', 'README.md');
const [before, , after] = readFileSync(file, 'utf8').split(/<!-- settings(?: end)? -->/);
writeFileSync(file, `${before}<!-- settings -->\n\n${settingsTable()}\n\n<!-- settings end -->${after}`);
