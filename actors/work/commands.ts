/**
 * Owns the way of a command into a running Sandbox: from the object to the Attempt that runs it, to the engine. A command
 * gets the environment of the Sandbox, its Secrets too, as the main program does; nothing of it is written down (I11).
 *
 * I8: a command belongs to the epoch in which it was started. The engine knows work by epoch, so it never reaches a successor;
 * here a caller who names another epoch than the present one is told so.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { refuse } from '../../src/api/refusal.js';
import type { ComputeEngine, Execution } from '../../src/engines/compute/engine.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Activity } from './activity.js';
import { ATTEMPT } from './attempts.js';
import { resolveEnvironment, type OrderDeps } from './order.js';
import { workId } from './reports.js';

/** A command for a running Sandbox, with the environment that the Sandbox gives to all of them. */
export interface Command {
  readonly command: readonly string[];
  /** Beside the object's own, and before it. */
  readonly env: Readonly<Record<string, string>>;
  /** The object's own when absent. */
  readonly workingDir?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Only at this epoch. */
  readonly epoch?: number | undefined;
}

export interface CommandDeps extends OrderDeps {
  readonly kinds: readonly KindDefinition[];
  readonly engine: ComputeEngine | undefined;
  readonly activity: Activity;
}

interface Interactive {
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  readonly attempt?: { readonly name?: string | undefined; readonly epoch?: number | undefined } | undefined;
}

/** Refuses with NotFound, SandboxStarting, SandboxNotRunning, SandboxFailed, Unavailable. */
export async function startCommand(
  owner: Address,
  asked: Command,
  deps: CommandDeps,
  signal: AbortSignal,
): Promise<Execution> {
  const target = { kind: owner.kind, name: owner.name };
  const body = await deps.read(owner);
  if (!body) throw refuse('NotFound', `${owner.kind} "${owner.name}" not found`, { target });
  const object = decodeObject<unknown, Interactive>(body);
  const { name, epoch } = running(object, asked.epoch);
  const kind = deps.kinds.find((candidate) => candidate.kind === owner.kind);
  const attempt = await deps.read({ ...owner, kind: ATTEMPT, name });
  if (!attempt || !kind?.workPlan || !deps.engine) throw notRunning(object, 'nothing of it runs');
  const plan = kind.workPlan(object, 0, epoch);
  const resolved = await resolveEnvironment(owner, plan, deps);
  if (resolved.outcome === 'Missing') throw notRunning(object, resolved.message);
  const started = await deps.engine.exec(
    {
      work: workId(decodeObject(attempt).metadata.uid, epoch),
      command: asked.command,
      env: { ...resolved.env, ...asked.env },
      workingDir: asked.workingDir ?? plan.workingDir,
      timeoutSeconds: asked.timeoutSeconds,
    },
    signal,
  );
  if (started.outcome === 'NotRunning') throw notRunning(object, 'its program has ended');
  const over = deps.activity.begin(owner, object.metadata.uid, epoch);
  void started.execution.ended.finally(over);
  return started.execution;
}

function running(
  object: ApiObject<unknown, Interactive>,
  wanted: number | undefined,
): { readonly name: string; readonly epoch: number } {
  const { phase, reason, attempt } = object.status;
  const { kind, metadata } = object;
  const target = { kind, name: metadata.name };
  switch (phase) {
    case 'Running':
      break;
    case 'Pending':
    case 'Starting':
    case 'Recovering':
      throw refuse('SandboxStarting', `${kind} "${metadata.name}" is ${phase}`, { retryAfterSeconds: 1, target });
    case 'Failed':
      throw refuse('SandboxFailed', `${kind} "${metadata.name}" has failed: ${reason ?? 'no reason is known'}`, {
        target,
      });
    default:
      throw notRunning(object, `it is ${phase ?? 'not started'}`);
  }
  if (attempt?.name === undefined || attempt.epoch === undefined) throw notRunning(object, 'nothing of it runs');
  if (wanted !== undefined && wanted !== attempt.epoch) {
    throw notRunning(object, `epoch ${wanted} is over; the current one is ${attempt.epoch}`);
  }
  return { name: attempt.name, epoch: attempt.epoch };
}

function notRunning({ kind, metadata }: Pick<ApiObject, 'kind' | 'metadata'>, why: string): Error {
  const target = { kind, name: metadata.name };
  return refuse('SandboxNotRunning', `no command can run in ${kind} "${metadata.name}": ${why}`, { target });
}
