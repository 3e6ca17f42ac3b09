/**
 * How ava runs the tests. The files that take longest begin first, so that none of them runs alone at the end, with the other processors idle.
 * A name that is missing here, or that no file has, costs time and nothing else; `npm test` shows the slowest files at its end.
 */

/** From the one that takes longest on. */
const LONGEST = [
  ...['engines/namespaces', 'together/sandboxes', 'upgrade/upgrade', 'storage/ledger-schedules', 'faults/silence'],
  ...['engines/runner', 'together/inference-in-turn', 'together/killed', 'billing/funding', 'engines/warm-pool'],
  ...['standby/standby', 'together/restarted', 'storage-queues/silence', 'secrets/logs', 'together/jobs'],
  ...['ops/embedded-postgres', 'faults/packet-loss', 'faults/redis', 'crash/crash', 'together/without-work'],
  ...['together/with-work', 'standby/adopt', 'faults/postgres', 'together/workspaces', 'together/billing'],
  ...['faults/own-postgres', 'fuzz/fuzz', 'together/actors-2', 'together/http-2', 'together/http-3'],
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
