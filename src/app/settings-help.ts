/**
 * Shows the settings: the first screen of help with those that people set first, all of them as text for a terminal, and all
 * of them as the table in `ops/README.md`.
 */
import { SETTINGS } from '../settings.js';

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

/** What people set first. The others can wait until something asks for them. */
const FIRST = [SETTINGS.dataDir, SETTINGS.port, SETTINGS.host, SETTINGS.databaseUrl, SETTINGS.compute].map(
  ({ env }) => env,
);

/** One screen. */
export const helpText =
  (): string => `Troupe runs a team's computing on the team's own machine: batch Jobs, Sandboxes for coding agents, and
Workspaces for people, behind one API in the style of Kubernetes.

    npm start
        Starts the service, with a Postgres of its own. It prints its addresses and where the first key is.
        Ctrl-C or SIGTERM stops it; running work goes on, and the next start takes it up.
    kubectl --kubeconfig .data/kubeconfig get jobs -A
        The first request, in another terminal.

Settings are environment variables: PORT=8081 npm start. Those that people set first:

${textOf(entries().filter(({ env }) => FIRST.includes(env)))}
All settings: npm start -- --settings
A tour of five minutes: README.md. For people on other machines, backup, a standby: ops/README.md
`;

/** One block for each setting. */
export const settingsText = (): string => textOf(entries());

const textOf = (shown: ReturnType<typeof entries>): string =>
  shown.map(({ env, unit, fallback, about }) => `${env} (${unit}; ${fallback})\n${wrapped(about)}\n`).join('');

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
