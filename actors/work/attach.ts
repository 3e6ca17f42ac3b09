/**
 * Attaches a caller to what a Sandbox or Workspace runs now: from the object to the Attempt, to the work that the engine knows. All
 * that a client does inside (commands, processes, terminals, files, ports) comes through here, and counts as activity.
 *
 * It reads `status.phase` and `status.attempt` {name, epoch} of the object, and the kind's work plan.
 *
 * I8: an attached caller belongs to one epoch. The engine knows work by epoch, so nothing reaches a successor; a caller who names
 * another epoch than the present one is refused, and the refusal names the present one.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { refuse, type RefusalError } from '../../src/api/refusal.js';
import { kindByName } from '../../src/kinds/index.js';
import type { KindDefinition, WorkRefusals } from '../../src/kinds/kind.js';
import type { WorkPlan } from '../../src/kinds/work.js';
import type { Activity } from './report-activity.js';
import type { ClientEngine } from './client-engine.js';
import { ATTEMPT, workId } from './attempts.js';
import { resolveEnvironment, type WorkSpecDeps } from './work-spec.js';

export interface AttachDeps extends WorkSpecDeps {
  readonly kinds: readonly KindDefinition[];
  readonly engine: ClientEngine | undefined;
  readonly activity: Activity;
  /** Resolves with the next change of the object, after `atMostMs`, or with the signal. */
  nextChange(owner: Address, atMostMs: number, signal: AbortSignal): Promise<void>;
}

/** Work that runs, at one epoch of its owner. */
export interface AttachedWork {
  readonly owner: Address;
  /** Of the owner. */
  readonly uid: string;
  readonly epoch: number;
  /** Names the work to the engine. */
  readonly work: string;
  readonly plan: WorkPlan;
  readonly engine: ClientEngine;
  /** What the main program sees in its environment, its Secrets too: nothing of it is written down (I11). */
  environment(): Promise<Readonly<Record<string, string>>>;
  /** The caller does something inside until the returned call, which is harmless twice. */
  begin(): () => void;
  /** Something has happened that has no end of its own. */
  touch(): void;
  /** The refusal for a caller who finds that the work has ended. */
  over(why: string): RefusalError;
}

interface Interactive {
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  readonly attempt?: { readonly name?: string | undefined; readonly epoch?: number | undefined } | undefined;
}

/**
 * Refuses with NotFound, or with the codes that the kind declares (`workRefusals`). `epoch`: only at this one.
 */
export async function attach(owner: Address, epoch: number | undefined, deps: AttachDeps): Promise<AttachedWork> {
  const body = await deps.read(owner);
  if (!body) {
    const target = { kind: owner.kind, name: owner.name };
    throw refuse('NotFound', `${owner.kind} "${owner.name}" not found`, { target });
  }
  const object = decodeObject<unknown, Interactive>(body);
  const { uid } = object.metadata;
  const present = running(owner, object, epoch);
  const over = (why: string): RefusalError => notRunning(owner, why, present.epoch);
  const kind = deps.kinds.find((candidate) => candidate.kind === owner.kind);
  const attempt = await deps.read({ ...owner, kind: ATTEMPT, name: present.name });
  const { engine } = deps;
  if (!attempt || !kind?.workPlan || !engine) throw over('nothing of it runs');
  const plan = kind.workPlan(object, 0, present.epoch);
  const work = workId(decodeObject(attempt).metadata.uid, present.epoch);
  return {
    ...{ owner, uid, plan, engine, over },
    epoch: present.epoch,
    work,
    async environment() {
      const resolved = await resolveEnvironment(owner, plan, work, deps);
      if (resolved.outcome === 'Missing') throw over(resolved.message);
      return resolved.env;
    },
    begin: () => deps.activity.begin(owner, uid, present.epoch),
    touch: () => deps.activity.touch(owner, uid, present.epoch),
  };
}

/** `current`: the epoch that the owner is at, for `details`. */
export function notRunning(owner: Pick<Address, 'kind' | 'name'>, why: string, current?: number): RefusalError {
  const { kind, name } = owner;
  return refuse(refusalsOf(kind).notRunning, `${kind} "${name}" is not running: ${why}`, {
    target: { kind, name },
    epoch: current,
    fix: `Set spec.state to Running, and use what belongs to the current epoch of the ${kind}.`,
  });
}

/** Of a request that names another epoch than the present one. */
function wrongEpoch({ kind, name }: Pick<Address, 'kind' | 'name'>, why: string, current: number): RefusalError {
  return refuse(refusalsOf(kind).notRunning, `${kind} "${name}": ${why}`, {
    target: { kind, name },
    epoch: current,
    fix: `Name epoch ${current}, or leave the epoch out to reach what runs now.`,
  });
}

/** Of a kind whose work cannot be reached from outside: the general code. */
const CONFLICT: WorkRefusals = { starting: 'Conflict', notRunning: 'Conflict', failed: 'Conflict' };

export function refusalsOf(kind: string): WorkRefusals {
  return kindByName(kind)?.workRefusals ?? CONFLICT;
}

function running(
  owner: Address,
  { status }: ApiObject<unknown, Interactive>,
  wanted: number | undefined,
): { readonly name: string; readonly epoch: number } {
  const { phase, reason, attempt } = status;
  const { kind, name } = owner;
  const target = { kind, name };
  const codes = refusalsOf(kind);
  // It will never be that epoch again: no reason to wait for the start of another one.
  if (wanted !== undefined && attempt?.epoch !== undefined && wanted < attempt.epoch) {
    throw wrongEpoch(owner, `epoch ${wanted} is over; the ${kind} is at epoch ${attempt.epoch}`, attempt.epoch);
  }
  switch (phase) {
    case 'Running':
      break;
    case 'Pending':
    case 'Starting':
    case 'Recovering':
      throw refuse(codes.starting, `${kind} "${name}" is ${phase}`, { retryAfterSeconds: 1, target });
    case 'Failed':
      throw refuse(codes.failed, `${kind} "${name}" has failed: ${reason ?? 'no reason is known'}`, { target });
    default:
      throw notRunning(owner, `it is ${phase ?? 'not started'}`, attempt?.epoch);
  }
  if (attempt?.name === undefined || attempt.epoch === undefined) throw notRunning(owner, 'nothing of it runs');
  if (wanted !== undefined && wanted !== attempt.epoch) {
    throw wrongEpoch(
      owner,
      `epoch ${wanted} does not exist; the ${kind} runs at epoch ${attempt.epoch}`,
      attempt.epoch,
    );
  }
  return { name: attempt.name, epoch: attempt.epoch };
}
