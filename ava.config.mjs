/**
 * How ava runs the tests. The files that take longest begin first, so that none of them runs alone at the end, with the other processors idle.
 * A name that is missing here, or that no file has, costs time and nothing else; `npm test` shows the slowest files at its end.
 */

/** From the one that takes longest on. */
const LONGEST = [
  ...['together/sandboxes', 'storage/ledger-schedules', 'engines/namespaces', 'billing/funding', 'faults/silence'],
  ...[
    'storage-queues/silence',
    'together/inference-in-turn',
    'together/actors-1',
    'inference/process',
    'together/killed',
  ],
  ...['together/engines-2', 'faults/own-postgres', 'upgrade/upgrade', 'standby/adopt', 'faults/packet-loss'],
  ...['together/with-work', 'secrets/logs', 'together/restarted', 'ops/embedded-postgres', 'engines/runner'],
  ...['standby/standby', 'together/without-work', 'faults/redis', 'crash/crash', 'together/jobs', 'together/storage-1'],
  ...['together/storage-2', 'faults/postgres', 'together/workspaces', 'together/billing', 'ops/restore', 'fuzz/fuzz'],
  ...[
    'payments/browser',
    'engines/warm-pool',
    'together/http-2',
    'together/http-3',
    'together/http-1',
    'together/kinds',
  ],
];

/** The place of a test file: `dist/test/A/B.test.js`, or the same below `dist/bundled`. */
const place = (file) => {
  const found = LONGEST.findIndex((name) => file.replaceAll('\\', '/').endsWith(`/${name}.test.js`));
  return found < 0 ? LONGEST.length : found;
};

export default {
  require: ['./dist/test/support/file-times.js'],
  workerThreads: false,
  sortTestFiles: (a, b) => place(a) - place(b) || (a < b ? -1 : 1),
};
