/**
 * Clears away what a runner that died has left: whatever its journal says was under way is Lost (I8: it is never
 * adopted half-way), its processes are killed, its groups and scratch removed, and its logs get a last line. Vital files are not
 * lost with it: the place of work that has any stays until they are saved (`work/late-save.ts`), and the work has not ended before. Where
 * the place is gone as well, as after a restore, the work is Lost like any other.
 *
 * Processes die with their runner; what is looked for here is what was just being started at that moment. They are found by their
 * control groups, by their user ids (as root) and by the marker on their command line.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalContents, JournaledWork } from './journal/format.js';
import { Journal } from './journal/journal.js';
import { lastLife } from './last-life.js';
import type { Groups } from './limits/groups.js';
import { appendSystemLine } from '../engines/compute/shared/log/append.js';
import { GONE_MS } from './process/tree.js';
import { lostState } from './work/outcome.js';
import type { Scratch } from './work/scratch.js';

/** More than the reports of the dead runner that its journal may have missed. */
const MISSED = 1000;

export interface LostDeps {
  readonly scratch: Scratch;
  readonly groups: Groups;
  readonly logs: string;
  readonly marker: string;
  /** The argument by which runners of this place are started. */
  readonly settings: string;
  readonly report: (line: string) => void;
}

/** Cleans up, and answers the journal with running work turned into Lost. */
export async function clearLost(journal: string, deps: LostDeps): Promise<JournalContents> {
  await killLeftOver(deps);
  const now = Date.now();
  const diedAt = Math.min(now, Math.round(lastLife(journal) ?? now));
  // Read only now: nobody is left who could write it.
  const before = await Journal.read(journal);
  for (const name of deps.groups.leftOver()) await deps.groups.clear(name);
  const unsaved = [...before.works.values()].flatMap(({ saving }) => saving?.slot ?? []);
  await deps.scratch.clear(unsaved.filter((slot) => deps.scratch.isThere(slot)));
  const works = new Map<string, JournaledWork>();
  for (const [id, work] of before.works) {
    if (work.state.phase !== 'Preparing' && work.state.phase !== 'Running') {
      works.set(id, work);
      continue;
    }
    const { saving } = work;
    const endedAt = Math.max(diedAt, work.state.startedAt ?? 0);
    const late = saving !== undefined && deps.scratch.isThere(saving.slot);
    if (late) works.set(id, { ...work, state: { ...work.state, sequence: work.state.sequence + MISSED } });
    if (late && saving.end.phase !== 'Lost') {
      deps.report(`${id}: its runner died while it was saved`);
      continue;
    }
    deps.report(`${id}: lost, its runner died${late ? '; its files are saved now' : ''}`);
    for (const container of work.containers) {
      await appendSystemLine(
        join(deps.logs, id),
        container,
        endedAt,
        'the runner died; the work was lost, and what it printed last may be missing',
      );
    }
    if (late) continue;
    const state = lostState({ ...work.state, sequence: work.state.sequence + MISSED }, endedAt);
    works.set(id, { containers: work.containers, state });
  }
  return { epoch: before.epoch, works };
}

async function killLeftOver(deps: LostDeps): Promise<void> {
  const until = Date.now() + GONE_MS;
  for (;;) {
    const left = leftOver(deps);
    if (left.length === 0) return;
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
    if (Date.now() > until) {
      deps.report(`processes of the runner before do not end: ${left.join(', ')}`);
      return;
    }
    await delay(5);
  }
}

/** Processes of an earlier runner of ours that are not zombies. */
function leftOver(deps: LostDeps): number[] {
  const own = process.getuid?.() ?? 0;
  const found: number[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const owner = statSync(`/proc/${pid}`).uid;
      if (!deps.scratch.ownsUser(owner) && owner !== own) continue;
      const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      // A child that was forked and not yet executed still has the runner's own command line; who waits for the lock has not.
      const ours = words.includes(deps.marker) || (words.includes(deps.settings) && words[0] !== 'flock');
      if (ours && !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')) found.push(pid);
    } catch {
      // It ended meanwhile, or is not ours to look at.
    }
  }
  return found;
}
