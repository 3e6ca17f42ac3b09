/** The effects by which an Attempt drives the engine: StartWork, StopWork, RemoveWork. Idempotent by work id. */
import { decodeObject } from '../../src/api/encode.js';
import type { Address } from '../../src/api/address.js';
import type { ApiObject } from '../../src/api/object.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { mayStart } from '../../src/kinds/attempt/state.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { WorkReport } from '../../src/kinds/report.js';
import type { StoredEffects } from '../../storage/store.js';
import { fetchInputs, type Inputs } from '../work/inputs.js';
import { resolveWorkSpec, type WorkSpecDeps } from '../work/work-spec.js';
import { workId, type Attempts } from '../work/attempts.js';
import type { ReportDelivery, Reports } from '../work/reports.js';
import type { EffectOf, LaterEffectDefinition } from './definition.js';
import {
  continueIn,
  DONE,
  OVERRULED,
  retry,
  wait,
  type EffectOutcome,
  type EffectStep,
  type PoolName,
} from './outcome.js';

export interface WorkDeps extends WorkSpecDeps {
  /** How many seconds the work of this Attempt may go on when it begins now; undefined: without end. */
  fundedSeconds(attempt: ApiObject): number | undefined;
  /** The work of this Attempt begins, or is about to. */
  workBegun(uid: string, address: Address): void;
  readonly inputs: Inputs;
  readonly kinds: readonly KindDefinition[];
  readonly engine: ComputeEngine | undefined;
  readonly reports: Reports | undefined;
  readonly attempts: Pick<Attempts, 'begin' | 'end'>;
  deliver(address: Address, uid: string, report: WorkReport): Promise<ReportDelivery>;
  tell(row: StoredEffects, to: Address, uid: string | undefined, message: ObjectMessage): Promise<EffectOutcome>;
}

/** All in one lane: the work of one Attempt. */
const laneOf = (): string => 'work';

/** A start that is not done yet is needless when its work is to end. */
const overrules = ({ epoch }: EffectOf<'StopWork' | 'RemoveWork'>, earlier: LaterEffect): boolean =>
  earlier.type === 'StartWork' && earlier.epoch === epoch;

export const startWorkEffect: LaterEffectDefinition<'StartWork', WorkDeps> = {
  pool: 'starts',
  laneOf,
  async run(row, effect, deps, { signal, pool }) {
    const attempt = await wanted(row, deps);
    if (attempt === undefined) return DONE;
    deps.attempts.begin(row.uid, row.address, effect.epoch);
    deps.workBegun(row.uid, row.address);
    return startWork(row, effect, attempt, deps, signal, pool);
  },
};

export const stopWorkEffect: LaterEffectDefinition<'StopWork', WorkDeps> = {
  pool: 'ends',
  laneOf,
  overrules,
  async run(row, { epoch, graceSeconds }, { engine }, { signal }) {
    await engine?.stop(workId(row.uid, epoch), graceSeconds, signal);
    return DONE;
  },
};

export const removeWorkEffect: LaterEffectDefinition<'RemoveWork', WorkDeps> = {
  pool: 'ends',
  laneOf,
  overrules,
  async run(row, { epoch, logs }, deps, { signal }) {
    deps.attempts.end(row.uid);
    const id = workId(row.uid, epoch);
    await deps.engine?.remove(id, logs, signal);
    await deps.inputs.release(id);
    if (!deps.reports) return report(row, deps, { report: 'Removed', epoch, time: deps.now() });
    return outcomeOf(await deps.reports.removed(row.address, row.uid, epoch));
  },
};

/** Run again after a crash, a start may find an Attempt that has long had its end: its work must not begin anew (I8). */
async function wanted(row: StoredEffects, deps: Pick<WorkDeps, 'read'>): Promise<ApiObject | undefined> {
  const body = await deps.read(row.address);
  const own = body && decodeObject(body);
  return own !== undefined && own.metadata.uid === row.uid && mayStart(own) ? own : undefined;
}

/** What comes from URLs is fetched in places of its own, before anything else of the start is looked up (`pools.ts`). */
export async function startWork(
  row: StoredEffects,
  effect: EffectOf<'StartWork'>,
  attempt: ApiObject,
  deps: WorkDeps,
  signal: AbortSignal,
  pool: PoolName,
): Promise<EffectStep> {
  const failed = (reason: string, message: string): Promise<EffectOutcome> =>
    report(row, deps, { report: 'StartFailed', epoch: effect.epoch, time: deps.now(), reason, message });
  if (!deps.engine) return failed('ComputeOff', 'this service runs without compute (TROUPE_COMPUTE=off)');
  const body = await deps.read(effect.owner);
  if (!body) return failed('OwnerGone', 'the owner no longer exists');
  const owner = decodeObject(body);
  if (owner.metadata.uid !== effect.ownerUid) return failed('OwnerGone', 'the owner was replaced');
  const kind = deps.kinds.find((candidate) => candidate.kind === effect.owner.kind);
  if (!kind?.workPlan) return failed('NoWork', `${effect.owner.kind} runs no work`);
  const plan = kind.workPlan(owner, effect.slot, effect.epoch);
  const id = workId(row.uid, effect.epoch);
  const labels = { org: row.address.org, project: row.address.project, attempt: row.address.name };
  try {
    signal.throwIfAborted();
    if (pool !== 'fetches' && deps.inputs.mustFetch(id, plan.inputs)) return continueIn('fetches');
    if (pool === 'fetches') {
      const fetched = await fetchInputs(id, row.address, plan.inputs, deps.inputs, signal);
      signal.throwIfAborted();
      if (fetched.outcome === 'Missing') return await failed(fetched.reason, fetched.message);
      return fetched.outcome === 'Later' ? retry(fetched.message) : continueIn('starts');
    }
    const resolved = await resolveWorkSpec(id, row.address, plan, labels, deps, signal);
    signal.throwIfAborted();
    switch (resolved.outcome) {
      case 'Missing':
        return await failed(resolved.reason, resolved.message);
      case 'Later':
        return retry(resolved.message);
      case 'Resolved': {
        let spec = { ...resolved.spec, fundedSeconds: deps.fundedSeconds(attempt) };
        if (plan.notesImage === true && deps.engine.resolveImage !== undefined) {
          const image = await deps.engine.resolveImage(spec.image, spec.registryLogins, signal);
          if (image.outcome === 'Missing') return await failed(image.reason, image.message);
          const { digest } = image;
          const message: ObjectMessage = { type: 'ImagePinned', epoch: effect.epoch, digest };
          const sent = await deps.tell(row, effect.owner, effect.ownerUid, message);
          if (sent.outcome !== 'Done') return sent;
          spec = { ...spec, imageDigest: digest };
        }
        // Before the work begins: a start that is carried out again finds what this one has taken.
        if (plan.notesSecrets === true && plan.secrets.length > 0) {
          const message: ObjectMessage = { type: 'SecretsPinned', epoch: effect.epoch, versions: resolved.mounted };
          const sent = await deps.tell(row, effect.owner, effect.ownerUid, message);
          if (sent.outcome !== 'Done') return sent;
        }
        await deps.engine.start(spec, signal);
        return DONE;
      }
    }
  } catch (error) {
    if (signal.reason !== OVERRULED) throw error;
    // Its start was carried out by an earlier process and it runs: then the stop is for the engine.
    if ((await wanted(row, deps)) === undefined) return DONE;
    // The engine may have taken it at the last moment; the removal that follows this end comes after the stop.
    return failed('Stopped', 'stopped before the work began');
  }
}

async function report(row: StoredEffects, deps: WorkDeps, sent: WorkReport): Promise<EffectOutcome> {
  return outcomeOf(await deps.deliver(row.address, row.uid, sent));
}

function outcomeOf(delivery: ReportDelivery): EffectOutcome {
  switch (delivery) {
    case 'Done':
      return DONE;
    case 'Parked':
      return wait('the Attempt is parked');
    case 'Retry':
      return retry('the Attempt has not taken the report yet');
  }
}
