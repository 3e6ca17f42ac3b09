/** Bounds of the whole machine that the runner raises as root. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { raiseMachineSettings, type MachineSettingsDeps } from '../../src/runner/limits/machine-settings.js';

const FILES = { 'fs/file-max': '200000', 'kernel/pid_max': '32768', 'kernel/threads-max': '62000' } as const;
const MEMORY = 8 * 2 ** 30;
/** A two-hundredth. */
const GOOD_FOR = '42949672';

function raised(
  files: Partial<Record<keyof typeof FILES, string>>,
  deps: Partial<MachineSettingsDeps> = {},
): { readonly values: readonly string[]; readonly lines: readonly string[] } {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
  try {
    for (const [name, text] of Object.entries({ ...FILES, ...files })) {
      mkdirSync(join(directory, name, '..'), { recursive: true });
      writeFileSync(join(directory, name), `${text}\n`);
    }
    const lines: string[] = [];
    const report = (line: string): number => lines.push(line);
    raiseMachineSettings({ uid: 0, memory: MEMORY, directory, report, countsAll: true, ...deps });
    const values = Object.keys(FILES).map((name) => readFileSync(join(directory, name), 'utf8').trim());
    return { values, lines };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('open files and process ids of the machine are raised to what its memory is good for, and the log says so', (t) => {
  const { values, lines } = raised({});
  t.deepEqual(values, [GOOD_FOR, '62000', '62000']);
  t.deepEqual(lines, [
    `raised fs.file-max from 200000 to ${GOOD_FOR}, which this machine's memory is good for`,
    "raised kernel.pid_max from 32768 to 62000, which this machine's memory is good for",
  ]);
});

test('what systemd or an operator has set higher stays as it is', (t) => {
  const files = { 'fs/file-max': String(2n ** 63n - 1n), 'kernel/pid_max': '4194304' };
  t.deepEqual(raised(files), { values: [...Object.values(files), FILES['kernel/threads-max']], lines: [] });
});

test('where a bound may not be raised the log names the command, once for each', (t) => {
  const refused = (): never => {
    throw new Error('EROFS: read-only file system');
  };
  for (const deps of [{ uid: 1000 }, { write: refused }]) {
    const { values, lines } = raised({}, deps);
    t.deepEqual(values, Object.values(FILES));
    t.is(lines.length, 2);
    t.regex(lines[0] ?? '', new RegExp(`fs.file-max is 200000, .* sysctl -w fs.file-max=${GOOD_FOR}$`));
    t.regex(lines[1] ?? '', /kernel.pid_max is 32768, .* sysctl -w kernel.pid_max=62000$/);
  }
  // Elsewhere the number of process ids is a container's own.
  t.deepEqual(raised({}, { countsAll: false }).values, [GOOD_FOR, '32768', '62000']);
});
