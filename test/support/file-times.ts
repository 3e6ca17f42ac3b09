/**
 * Loaded by ava before each test file, in the file's process: notes when the file began and ended, and what processor time it took,
 * in the file that `TEST_TIMES` names, one line of JSON for each test file. Without `TEST_TIMES` nothing is noted.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/** A hundredth of a second: the unit of /proc/PID/stat on every Linux that there is. */
const TICKS_PER_SECOND = 100;

const notes = process.env['TEST_TIMES'];
if (notes !== undefined) {
  process.once('exit', () => {
    const file = relative(process.cwd(), fileURLToPath(test.meta.file));
    const seconds = (Date.now() - performance.timeOrigin) / 1000;
    const line = { file, seconds, processor: processorSeconds(), ended: Date.now() };
    appendFileSync(notes, `${JSON.stringify(line)}\n`);
  });
}

/** Of this process and of all that it has waited for (Linux). A process that outlives its parent is not counted, such as a runner. */
function processorSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // utime, stime, cutime, cstime: numbers 14 to 17 of the whole line.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}
