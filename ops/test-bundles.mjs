/**
 * What a whole test run loads instead of the hundreds of modules that the compiler made for each test file: bundles that share chunks, which
 * halves the processor time of a load. Some test files share one bundle, and so one process; their titles
 * still say where they come from. Each test file can be run by itself as the compiler made it (`npm test -- FILE`).
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { HOME } from './prepare.mjs';

const TESTS = join(HOME, 'test');
/** Where the bundles are, below the clone. */
export const BUNDLES = join('dist', 'bundled');
/**
 * Test files that share a process, by the beginnings of their paths: those that need nothing but a processor, and those that ask for the
 * same service (`shareRunning`).
 */
const TOGETHER = {
  api: ['api/', 'deadline/', 'money/', 'storage-envelope/'],
  kinds: ['kinds/'],
  actors: [
    ...['activity', 'cache', 'children', 'commands', 'detached', 'file-faults', 'kept-blobs', 'logs', 'mailbox'],
    ...['registry-logins', 'reports', 'ring', 'start-work', 'supervision'],
  ].map((name) => `actors/${name}.`),
  engines: [
    ...['delivery/schedule', 'delivery/sign', 'dialer/never-dialled', 'dialer/special-addresses', 'egress/policy'],
    ...['egress/serial-requests', 'egress/socks', 'frames', 'registry', 'spares-bound'],
  ].map((name) => `engines/${name}.`),
  inference: ['clients', 'endpoints', 'limits', 'money', 'refusals', 'streams', 'upstreams'].map(
    (name) => `inference/${name}.`,
  ),
  'inference-in-turn': ['audio', 'charges', 'translation'].map((name) => `inference/${name}.`),
  jobs: ['costs', 'data', 'ending', 'inside', 'logs', 'network'].map((name) => `jobs/${name}.`),
  parents: ['parents/'],
  sandboxes: ['sandboxes/exec.', 'sandboxes/files.', 'sandboxes/life.', 'workspaces/public-url.'],
  workspaces: ['workspaces/life.', 'workspaces/tools.'],
  billing: ['prepaid', 'promo-codes', 'spend', 'topups'].map((name) => `billing/${name}.`),
  'with-work': ['billing/mails.', 'kubectl/kubectl.', 'secrets/secrets.'],
  'without-work': [
    'access/',
    'billing/budgets.',
    'events/',
    'inference/examples.',
    'kubectl/explain.',
    'kubectl/fields.',
  ],
  // Their tests kill what they share, one after the other.
  killed: ['jobs/lost.', 'sandboxes/live.', 'sandboxes/lost.', 'workspaces/ssh.'],
  restarted: ['errors/', 'faults/malformed.', 'faults/parked.', 'informer/', 'openapi/client.', 'webhooks/webhooks.'],
};

/**
 * The other files of these rooms share so many processes, in which they take turns: to load what they test is most of the processor time of a
 * small file. Those of ALONE are large, or count turns of the loop, and keep a process to themselves.
 */
const IN_TURN = { actors: 2, engines: 2, http: 3, ops: 1, storage: 2 };
const ALONE = [
  'actors/slices.',
  'engines/namespaces.',
  'engines/runner.',
  'engines/warm-pool.',
  'storage/ledger-schedules.',
];
/** What makes a file unfit for that: it sets up or measures the whole process, or it starts services of its own, and is large. */
const OF_THE_PROCESS = /\btest\.(before|after|serial)|\bprocess\.(env|on|once|umask|memoryUsage)\b|\bstartRunning\b/;

/** A module that asks for its own address means the place that the compiler gave it. */
const compiledAddress = {
  name: 'compiled address',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const address = pathToFileURL(join(HOME, 'dist', relative(HOME, path).replace(/\.ts$/, '.js')));
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(address.href)), loader: 'ts' };
    }),
};

/** The groups of test files by their names, each with its files and whether these take turns. */
const groupsOf = (files) => {
  const begins = (file, beginnings) => beginnings.some((beginning) => file.startsWith(beginning));
  const groups = Object.entries(TOGETHER).map(([name, beginnings]) => ({
    ...{ name, inTurn: false },
    files: files.filter((file) => begins(file, beginnings)),
  }));
  const taken = new Set(groups.flatMap((group) => group.files));
  const fit = files.filter(
    (file) => !taken.has(file) && !begins(file, ALONE) && !OF_THE_PROCESS.test(readFileSync(join(TESTS, file), 'utf8')),
  );
  for (const [room, processes] of Object.entries(IN_TURN)) {
    const ofRoom = fit.filter((file) => file.startsWith(`${room}/`));
    for (let n = 0; n < processes; n += 1) {
      groups.push({
        ...{ name: `${room}-${n + 1}`, inTurn: true },
        files: ofRoom.filter((_, i) => i % processes === n),
      });
    }
  }
  return groups;
};

/** `together:GROUP` is a module that imports all test files of the group, each with an ava that puts the file's name before titles. */
const together = (groups) => ({
  name: 'together',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^together:/ }, ({ path }) => ({ path, namespace: 'together' }));
    onLoad({ filter: /./, namespace: 'together' }, ({ path }) => ({
      contents: groups
        .find(({ name }) => path === `together:${name}`)
        .files.map((file) => `import ${JSON.stringify(`./${file}`)};`)
        .join('\n'),
      resolveDir: TESTS,
    }));
    onResolve({ filter: /^ava$/ }, ({ importer }) => {
      const file = relative(TESTS, importer);
      return groups.some(({ files }) => files.includes(file)) ? { path: file, namespace: 'titled' } : undefined;
    });
    onLoad({ filter: /./, namespace: 'titled' }, ({ path }) => ({
      contents: `
        import ava from 'ava';
        import { titled } from './support/titled.js';
        export * from 'ava';
        export default titled(ava, ${JSON.stringify(path.replace(/\.test\.ts$/, '').replaceAll('/', ' › '))},
          ${groups.find(({ files }) => files.includes(path)).inTurn});`,
      resolveDir: TESTS,
    }));
  },
});

/** Makes the bundles anew; resolves to the pattern of their test files. */
export const bundleTests = async () => {
  rmSync(join(HOME, BUNDLES), { recursive: true, force: true });
  const files = readdirSync(TESTS, { recursive: true })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.test.ts'))
    .toSorted();
  const groups = groupsOf(files);
  const shared = new Set(groups.flatMap((group) => group.files));
  const alone = files.filter((file) => !shared.has(file));
  await build({
    entryPoints: [
      ...alone.map((file) => ({ in: join(TESTS, file), out: file.replace(/\.ts$/, '') })),
      ...groups.map(({ name }) => ({ in: `together:${name}`, out: `together/${name}.test` })),
    ],
    outdir: join(HOME, BUNDLES),
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [together(groups), compiledAddress],
  });
  return `${BUNDLES}/**/*.test.js`;
};
