/**
 * Owns which programs of the machine a test may need, and how a test without its program is skipped: by name, so that
 * a run says what it did not try. CI installs them all and takes no skip.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { ExecutionContext } from 'ava';

/** Where `ops/setup-kubectl.sh` puts what it gets; looked into before PATH. */
const TOOLS = fileURLToPath(new URL('../../../.tools/bin', import.meta.url));

/** Full path of the program, or undefined. */
export const findProgram = (name: string): string | undefined =>
  [TOOLS, ...(process.env['PATH'] ?? '').split(delimiter)]
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

type Run = (t: ExecutionContext) => Promise<void> | void;

/**
 * `test` for a test that needs these programs: `testWith('kubectl')('kubectl get …', async (t) => …)`.
 * When one is missing, the test is skipped and its title says which.
 */
export const testWith = (...programs: readonly string[]): ((title: string, run: Run) => void) => {
  const missing = programs.filter((name) => findProgram(name) === undefined);
  return (title, run) => {
    if (missing.length === 0) test(title, run);
    else test.skip(`${title} (needs ${missing.join(' and ')})`, run);
  };
};

/** The same, one at a time within its file. */
export const serialTestWith = (...programs: readonly string[]): ((title: string, run: Run) => void) => {
  const missing = programs.filter((name) => findProgram(name) === undefined);
  return (title, run) => {
    if (missing.length === 0) test.serial(title, run);
    else test.serial.skip(`${title} (needs ${missing.join(' and ')})`, run);
  };
};
