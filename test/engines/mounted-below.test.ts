/** The ways to make boxes on a machine where something is mounted below `/usr`, with flags that a user's namespace may not take away. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';

const PROBE = fileURLToPath(new URL('../../src/runner/isolation/probe.js', import.meta.url));
const PIPES = fileURLToPath(new URL('../../src/runner/process/pipes.js', import.meta.url));
/** Neither root nor a user who has processes or files. */
const PLAIN_USER = 54_321;

/** Tries the way out as its user, and prints why it cannot be taken. */
const program = (directory: string, uid: number): string => `
  import { openIsolation } from ${JSON.stringify(PROBE)};
  import { Pipes } from ${JSON.stringify(PIPES)};
  const systemDir = ${JSON.stringify(join(directory, 'system'))};
  const { refusal } = await openIsolation({ wanted: 'unshare', uid: ${uid}, hostId: ${uid === 0 ? PLAIN_USER : undefined},
    systemDir, shownSystemDir: systemDir, hidden: [], marker: 'troupe-trial', pipes: new Pipes(${JSON.stringify(join(directory, 'pipes'))}) });
  console.log(refusal ?? 'works');`;

for (const uid of [0, PLAIN_USER]) {
  const check = process.getuid?.() === 0 ? test : test.skip;
  check(
    `boxes are made by unshare as ${uid === 0 ? 'root' : 'a plain user'} where something is mounted below /usr`,
    (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'troupe-mounted-'));
      t.teardown(() => rmSync(directory, { recursive: true, force: true }));
      chmodSync(directory, 0o755);
      chownSync(directory, uid, uid);
      const mounted = 'mount -t tmpfs -o noexec,noatime test /usr/share/doc && exec "$@"';
      const user = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
      const node = [process.execPath, '--input-type=module', '--eval', program(directory, uid)];
      const ran = spawnSync(
        'unshare',
        ['--mount', '--propagation', 'private', 'sh', '-c', mounted, 'sh', ...user, ...node],
        { encoding: 'utf8', timeout: 60_000 },
      );
      t.is(ran.stdout, 'works\n', ran.stderr);
    },
  );
}
