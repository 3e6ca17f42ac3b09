/** Owns the effects by which an Attempt drives the engine: StartWork, StopWork, RemoveWork. Idempotent by work id. */
import { decodeObject } from '../../src/api/encode.js';
import type { Address } from '../../src/api/address.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import { mayStart } from '../../src/kinds/attempt/state.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import type { WorkReport } from '../../src/kinds/report.js';
import type { StoredEffects } from '../../storage/store.js';
import { fetchInputs, type Inputs } from '../work/inputs.js';
import { resolveOrder, type OrderDeps } from '../work/work-spec.js';
import { workId, type ReportDelivery, type Reports } from '../work/reports.js';
import type { PoolName } from './lanes.js';
import { continueIn, DONE, OVERRULED, retry, wait, type EffectOutcome, type EffectStep } from './outcome.js';

export interface WorkDeps extends OrderDeps {
  readonly inputs: Inputs;
  readonly kinds: readonly KindDefinition[];
  readonly engine: ComputeEngine | undefined;
  readonly reports: Reports | undefined;
  deliver(address: Address, uid: string, report: WorkReport): Promise<ReportDelivery>;
  tell(row: StoredEffects, to: Address, uid: string | undefined, letter: ObjectMessage): Promise<EffectOutcome>;
}

type Effect<Type extends LaterEffect['type']> = Extract<LaterEffect, { type: Type }>;

/** Run again after a crash, a start may find an Attempt that has long had its end: its work must not begin anew (I8). */
export async function isWanted(row: StoredEffects, deps: Pick<WorkDeps, 'read'>): Promise<boolean> {
  const body = await deps.read(row.address);
  const own = body && decodeObject(body);
  return own !== undefined && own.metadata.uid === row.uid && mayStart(own);
}

/** What comes from URLs is fetched in places of its own, before anything else of the start is looked up (`lanes.ts`). */
export async function startWork(
  row: StoredEffects,
  effect: Effect<'StartWork'>,
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
    const resolved = await resolveOrder(id, row.address, plan, labels, deps, signal);
    signal.throwIfAborted();
    switch (resolved.outcome) {
      case 'Missing':
        return await failed(resolved.reason, resolved.message);
      case 'Later':
        return retry(resolved.message);
      case 'Order': {
        let { spec } = resolved;
        if (plan.notesImage === true && deps.engine.resolveImage !== undefined) {
          const image = await deps.engine.resolveImage(spec.image, spec.registryLogins, signal);
          if (image.outcome === 'Missing') return await failed(image.reason, image.message);
          const { digest } = image;
          const letter: ObjectMessage = { letter: 'ImagePinned', epoch: effect.epoch, digest };
          const told = await deps.tell(row, effect.owner, effect.ownerUid, letter);
          if (told.outcome !== 'Done') return told;
          spec = { ...spec, imageDigest: digest };
        }
        // Before the work begins: a start that is carried out again finds what this one has taken.
        if (plan.notesSecrets === true && plan.secrets.length > 0) {
          const letter: ObjectMessage = { letter: 'SecretsPinned', epoch: effect.epoch, versions: resolved.mounted };
          const told = await deps.tell(row, effect.owner, effect.ownerUid, letter);
          if (told.outcome !== 'Done') return told;
        }
        await deps.engine.start(spec, signal);
        return DONE;
      }
    }
  } catch (error) {
    if (signal.reason !== OVERRULED) throw error;
    // Its start was carried out by an earlier process and it runs: then the stop is for the engine.
    if (!(await isWanted(row, deps))) return DONE;
    // The engine may have taken it at the last moment; the removal that follows this end comes after the stop.
    return failed('Stopped', 'stopped before the work began');
  }
}

export async function stopWork(
  row: StoredEffects,
  effect: Effect<'StopWork'>,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<EffectOutcome> {
  await deps.engine?.stop(workId(row.uid, effect.epoch), effect.graceSeconds, signal);
  return DONE;
}

export async function removeWork(
  row: StoredEffects,
  effect: Effect<'RemoveWork'>,
  deps: WorkDeps,
  signal: AbortSignal,
): Promise<EffectOutcome> {
  const id = workId(row.uid, effect.epoch);
  await deps.engine?.remove(id, effect.logs, signal);
  await deps.inputs.release(id);
  const { epoch } = effect;
  if (!deps.reports) return report(row, deps, { report: 'Removed', epoch, time: deps.now() });
  return taken(await deps.reports.removed(row.address, row.uid, epoch));
}

async function report(row: StoredEffects, deps: WorkDeps, said: WorkReport): Promise<EffectOutcome> {
  return taken(await deps.deliver(row.address, row.uid, said));
}

function taken(delivery: ReportDelivery): EffectOutcome {
  switch (delivery) {
    case 'Done':
      return DONE;
    case 'Parked':
      return wait('the Attempt is parked');
    case 'Retry':
      return retry('the Attempt has not taken the report yet');
  }
}
