/**
 * Finds the log that a reader asks for: from a Job's index, a Sandbox or a Workspace (and epoch) to the Attempt that ran it, to
 * the engine.
 * A follower may come before the work: it waits until the Attempt runs or is over, without polling.
 */
import { sameAddress, type Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import type { LogLine, LogPace, LogQuery } from '../../src/engines/compute/contract/engine.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import { attemptName } from '../../src/kinds/attempts/names.js';
import type { ResourceService } from '../resource-service.js';
import { ATTEMPT, workId } from './attempts.js';
import type { ClientEngine } from './client-engine.js';

export interface LogRequest extends LogQuery {
  /** Index of a Job. Ignored for an Attempt. */
  readonly index: number;
  /** Epoch of the index, or of the Sandbox or Workspace; absent: the newest. */
  readonly epoch?: number | undefined;
  /** The epoch before the one that is meant. */
  readonly previous?: boolean | undefined;
}

export interface LogDeps {
  readonly resources: Pick<ResourceService, 'read' | 'watch' | 'version'>;
  readonly attemptKind: KindDefinition;
  readonly engine: Pick<ClientEngine, 'logs'> | undefined;
  /** Logs of Attempts that were made before this time (ms) may lie elsewhere. */
  readonly logsSince: number;
  slot(org: string, uid: string, index: number): Promise<SlotRow | undefined>;
}

/** Undefined: there is no such index or epoch (yet). */
export async function openLog(
  owner: Address,
  uid: string,
  request: LogRequest,
  deps: LogDeps,
  signal: AbortSignal,
  pace?: LogPace,
): Promise<AsyncIterable<LogLine> | undefined> {
  if (!deps.engine) return undefined;
  const address = owner.kind === ATTEMPT ? owner : await attemptOf(owner, uid, request, deps, signal);
  if (!address) return undefined;
  const found = request.follow ? await untilRunning(address, deps, signal) : await look(address, deps, signal);
  if (!found) return undefined;
  const lines = deps.engine.logs(workId(found.uid, found.epoch), request, signal, pace);
  return found.made < deps.logsSince ? unlessGone(lines) : lines;
}

/** An empty log and one that another machine has look alike here: this one is not taken for empty. */
async function unlessGone(lines: AsyncIterable<LogLine>): Promise<AsyncIterable<LogLine>> {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) {
    throw refuse('Unavailable', 'this log was written by another machine or into another directory, and is not here', {
      retryAfterSeconds: 'Never',
      fix: 'Ask the operator: logs lie in TROUPE_RUNNER_DIR of the process that was active when the work ran.',
    });
  }
  return (async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
}

async function attemptOf(
  owner: Address,
  uid: string,
  request: LogRequest,
  deps: LogDeps,
  signal: AbortSignal,
): Promise<Address | undefined> {
  const at = async (): Promise<Address | undefined> => {
    const asked = request.epoch ?? (await newestEpoch(owner, uid, request.index, deps, signal));
    if (asked === undefined) return undefined;
    const epoch = request.previous === true ? asked - 1 : asked;
    if (epoch < 1) return undefined;
    return { ...owner, kind: ATTEMPT, name: attemptName({ name: owner.name, uid }, request.index, epoch) };
  };
  if (!request.follow) return at();
  return settled(owner, deps, signal, async () => {
    const address = await at();
    if (address) return { done: true, value: address };
    return { done: await isOver(owner, deps, signal), value: undefined };
  });
}

/** Undefined: it never began. */
async function newestEpoch(
  owner: Address,
  uid: string,
  index: number,
  deps: LogDeps,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (owner.kind === 'Job') return (await deps.slot(owner.org, uid, index))?.epoch;
  const body = await deps.resources.read(owner, signal);
  if (!body) return undefined;
  const { attempt } = decodeObject(body).status as { attempt?: { epoch?: number } };
  return attempt?.epoch;
}

interface Found {
  readonly uid: string;
  readonly epoch: number;
  /** When the Attempt was made, ms. */
  readonly made: number;
  readonly waiting: boolean;
}

async function look(address: Address, deps: LogDeps, signal: AbortSignal): Promise<Found | undefined> {
  const body = await deps.resources.read(address, signal);
  if (!body) return undefined;
  const { metadata, spec, status } = decodeObject(body);
  const { phase } = status as { phase?: string };
  const waiting = phase === undefined || phase === 'Queued' || phase === 'Provisioning';
  const made = Date.parse(metadata.creationTimestamp);
  return { uid: metadata.uid, epoch: (spec as { epoch: number }).epoch, made, waiting };
}

async function untilRunning(address: Address, deps: LogDeps, signal: AbortSignal): Promise<Found | undefined> {
  return settled(address, deps, signal, async () => {
    const found = await look(address, deps, signal);
    return { done: found !== undefined && !found.waiting, value: found };
  });
}

async function isOver(owner: Address, deps: LogDeps, signal: AbortSignal): Promise<boolean> {
  const body = await deps.resources.read(owner, signal);
  if (!body) return true;
  const { phase } = decodeObject(body).status as { phase?: string };
  return OVER.has(phase ?? '');
}

/** Phases of Jobs, Sandboxes and Workspaces in which nothing begins by itself. */
const OVER = new Set(['Succeeded', 'Failed', 'Cancelled', 'Stopped', 'Terminating']);

/** Looks, and looks again at each change of any Attempt of the project, until the look is done or the reader leaves. */
async function settled<T>(
  near: Address,
  deps: LogDeps,
  signal: AbortSignal,
  ask: () => Promise<{ done: boolean; value: T | undefined }>,
): Promise<T | undefined> {
  const watching = new AbortController();
  const stop = AbortSignal.any([signal, watching.signal]);
  let wake: () => void = () => undefined;
  let changed = false;
  let over = false;
  const poke = (): boolean => {
    changed = true;
    wake();
    return true;
  };
  // The service drains, or has lost its lease: nothing would wake the reader again.
  const onEnd = (): void => {
    over = true;
    poke();
  };
  try {
    const range = { org: near.org, kind: deps.attemptKind, project: near.project };
    const name = near.kind === ATTEMPT ? { name: near.name } : {};
    await deps.resources.watch(
      { ...range, ...name },
      deps.resources.version(),
      { onChanges: (changes) => (changes.some(({ address }) => concerns(near, address)) ? poke() : true), onEnd },
      stop,
    );
    stop.addEventListener('abort', poke, { once: true });
    for (;;) {
      changed = false;
      const answer = await ask();
      if (answer.done || signal.aborted) return answer.value;
      if (over) throw refuse('Unavailable', 'the watch for this log has ended; ask again', { retryAfterSeconds: 1 });
      if (!changed) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    watching.abort();
  }
}

function concerns(near: Address, changed: Address): boolean {
  return near.kind !== ATTEMPT || sameAddress(near, changed);
}
