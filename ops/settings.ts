/**
 * Owns how the table of settings is shown: as text for a terminal, and as the table in `ops/README.md`.
 */
import { SETTINGS } from '../src/config.js';

const entries = (): { env: string; unit: string; fallback: string; about: string }[] =>
  Object.values(SETTINGS).map(({ env, unit, default: fallback, about }) => ({
    env,
    unit,
    fallback: fallback ?? 'unset',
    about,
  }));

/** Width of a terminal line, in characters. */
const LINE = 100;
const INDENT = '    ';

/** One block for each setting. */
export const settingsText = (): string =>
  entries()
    .map(({ env, unit, fallback, about }) => `${env} (${unit}; ${fallback})\n${wrapped(about)}\n`)
    .join('');

/** A Markdown table. */
export const settingsTable = (): string =>
  [
    '| Setting | Unit | Default | What it does |',
    '|-|-|-|-|',
    ...entries().map(({ env, unit, fallback, about }) => `| \`${env}\` | ${unit} | \`${fallback}\` | ${about} |`),
  ].join('\n');

const wrapped = (text: string): string => {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (INDENT.length + line.length + word.length + 1 > LINE) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => INDENT + line).join('\n');
};
