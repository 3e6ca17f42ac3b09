/**
 * How long like work has run: kept in memory for estimates, so that a create reads a map and nothing else, and learned from the commits in
 * which the last of an Attempt's work was proven gone. It is written to Postgres every few seconds beside all commits; a crash forgets
 * what was learned since, and so does an owner that left the cache before its Attempt had ended: an estimate may miss a run.
 *
 * What counts is undisturbed: an Attempt of a Job that succeeded, one of a Sandbox or Workspace that was started and stopped.
 *
 * I10: MOST kinds of work in all, MOST_OF_ORG of an org, MOST_RUNS runs of each; what was not run for longest is forgotten first.
 */
import { decodeObject } from '../src/api/encode.js';
import { parseTime } from '../src/api/time.js';
import type { Address } from '../src/api/address.js';
import type { AttemptSpec, AttemptStatus } from '../src/kinds/attempt/schema.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { PricedPart } from '../src/kinds/priced-work.js';
import { withRun, type Run } from '../src/kinds/run-times.js';
import type { CommittedChange } from '../storage/commit/request.js';
import type { LikeRuns, RunHistoryRows } from '../storage/run-history.js';
import { tick } from './money/ticker.js';

const MOST = 10_000;
const MOST_OF_ORG = 1_000;
const KEPT_MS = 90 * 24 * 3_600_000;
const SAVE_EVERY_MS = 5_000;
const SAVED_AT_ONCE = 500;

export interface RunHistoryDeps {
  readonly rows: RunHistoryRows;
  kindOf(name: string): KindDefinition | undefined;
  /** Bytes of an object that is in memory. */
  cached(address: Address): { readonly body: Buffer } | undefined;
  onProblem(message: string): void;
}

export interface RunHistory {
  of(org: string, project: string, like: string): readonly Run[] | undefined;
  /** Each change in version order. Quick; never throws. */
  committed(change: CommittedChange): void;
  /** Writes what was learned, until `stopping` is aborted; then once more. */
  run(stopping: AbortSignal): Promise<void>;
}

/** Rejects with a `RefusalError` Unavailable. */
export async function openRunHistory(deps: RunHistoryDeps): Promise<RunHistory> {
  const { rows, onProblem } = deps;
  /** By org and then by project and likeness, what was run last at the end. */
  const orgs = new Map<string, Map<string, LikeRuns>>();
  let count = 0;
  /** To be written, by all three. */
  const changed = new Map<string, LikeRuns>();

  function put(entry: LikeRuns): void {
    const own = orgs.get(entry.org) ?? new Map<string, LikeRuns>();
    orgs.set(entry.org, own);
    const id = idOf(entry);
    if (!own.delete(id)) count += 1;
    own.set(id, entry);
    if (own.size > MOST_OF_ORG) forgetOldest(own);
    else if (count > MOST) forgetOldest([...orgs.values()].reduce((most, one) => (one.size > most.size ? one : most)));
  }

  function forgetOldest(own: Map<string, LikeRuns>): void {
    const [oldest] = own.keys();
    if (oldest !== undefined && own.delete(oldest)) count -= 1;
  }

  async function save(): Promise<void> {
    const some = [...changed].slice(0, SAVED_AT_ONCE);
    if (some.length === 0) return;
    await rows.save(
      some.map(([, entry]) => entry),
      { keptMs: KEPT_MS, most: MOST },
    );
    for (const [id, entry] of some) if (changed.get(id) === entry) changed.delete(id);
  }

  for (const entry of await rows.load(MOST)) put(entry);

  return {
    of: (org, project, like) => orgs.get(org)?.get(`${project}/${like}`)?.runs,
    committed(change) {
      const learned = learn(change, deps);
      if (learned === undefined) return;
      const { org, project, like, run } = learned;
      const before = orgs.get(org)?.get(`${project}/${like}`)?.runs ?? [];
      const entry = { org, project, like, runs: withRun(before, run) };
      put(entry);
      const id = `${org}/${idOf(entry)}`;
      if (changed.has(id) || changed.size < MOST) changed.set(id, entry);
    },
    async run(stopping) {
      await tick({ every: SAVE_EVERY_MS, round: save, onProblem }, stopping);
      await save().catch((error: unknown) => onProblem(error instanceof Error ? error.message : 'failed'));
    },
  };
}

function idOf({ project, like }: LikeRuns): string {
  return `${project}/${like}`;
}

const PROVEN = Buffer.from('"deletionProvenTime":');

/** What this change tells of a run; nearly every change tells nothing. */
function learn(
  { address, type, before, after }: CommittedChange,
  { kindOf, cached }: RunHistoryDeps,
): (Omit<LikeRuns, 'runs'> & { readonly run: Run }) | undefined {
  if (address.kind !== 'Attempt' || type !== 'MODIFIED' || !after.includes(PROVEN) || before?.includes(PROVEN))
    return undefined;
  const { metadata, status } = decodeObject<AttemptSpec, AttemptStatus>(after);
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return undefined;
  const { org, project } = address;
  const body = cached({ org, project, kind: owner.kind, name: owner.name })?.body;
  const object = body && decodeObject(body);
  if (object === undefined || object.metadata.uid !== owner.uid) return undefined;
  const part = kindOf(owner.kind)?.pricedWork?.(object).parts[0];
  const run = part && runOf(part, status);
  return part?.like === undefined || run === undefined ? undefined : { org, project, like: part.like, run };
}

/** Undefined: something disturbed it. */
function runOf(
  { untilStopped = false }: PricedPart,
  { phase, interruption, timings = {} }: AttemptStatus,
): Run | undefined {
  const complete = phase === 'Succeeded' || (phase === 'Cancelled' && untilStopped);
  const started = parseTime(timings.commandStartedTime ?? '');
  const finished = parseTime(timings.finishedTime ?? '');
  if (!complete || interruption !== undefined || started === undefined || finished === undefined) return undefined;
  return {
    bootMs: milliseconds(timings.bootSeconds),
    runMs: Math.max(0, Math.round(finished - started)),
    teardownMs: milliseconds(timings.teardownSeconds),
  };
}

function milliseconds(seconds = 0): number {
  return Math.max(0, Math.round(seconds * 1000));
}
