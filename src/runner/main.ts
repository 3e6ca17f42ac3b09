/**
 * The runner: a program of its own, one per machine and cluster, which outlives the service and knows nothing of it. It is
 * started under a lock on its directory (`src/engines/compute/embedded/start-runner.ts`), with its settings as one JSON argument.
 *
 * Order of the start: is the journal ours to read → directories → what the machine can do → the journal of the runner before (its running work is lost,
 * and cleaned up) → the socket. It ends itself when it had neither work nor a connection for a while; SIGTERM ends it at
 * once, and with it all work (`--die-with-parent`), which the next runner reports as Lost.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { ignoreOutputErrors } from '../output-errors.js';
import { NEWER_JOURNAL_EXIT, NewerJournal } from './journal/format.js';
import { openRunner } from './runner.js';
import type { RunnerSettings } from './settings.js';

function report(line: string): void {
  console.error(`${new Date().toISOString()} ${line}`);
}

/**
 * Closes what was inherited: a descriptor that the service got from its own starter would go on into every box. Node's own close
 * themselves on exec, by which they are told apart.
 */
function closeInherited(): void {
  const closesOnExec = 0o2000000;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor <= 2) continue;
    try {
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '0';
      if ((Number.parseInt(flags, 8) & closesOnExec) === 0) closeSync(descriptor);
    } catch {
      // The descriptor of this very listing.
    }
  }
}

ignoreOutputErrors();
process.on('SIGTERM', () => process.exit(0));
// Only a broken connection or log can come here; work must not die of it.
process.on('unhandledRejection', (error) => report(`unhandled: ${String(error)}`));

try {
  closeInherited();
  const settings = JSON.parse(process.argv[2] ?? '') as RunnerSettings;
  await openRunner(settings, randomUUID(), report);
} catch (error) {
  report(`cannot start: ${(error as Error).message}`);
  process.exit(error instanceof NewerJournal ? NEWER_JOURNAL_EXIT : 1);
}
