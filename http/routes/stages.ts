/** Serves `…/stages/{stage}/logs`: the log of the object that runs the stage. Source: decisions, "Routes not shown". */
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { readBytes } from '../resources/read.js';
import type { ServerContext } from '../server-context.js';
import { serveLogs } from './logs.js';

export async function serveStages(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name } = target;
  const [stage, below, ...rest] = target.rest;
  if (stage === undefined || below !== 'logs' || rest.length > 0) {
    throw refuse('NotFound', 'below a stage there is only `logs`: …/stages/{stage}/logs');
  }
  const address = addressOf(caller, kind, project, name, 'read');
  const object = decodeObject(await readBytes(context, kind, address));
  const runs = kind.stage?.(object, stage);
  const runner = context.kinds.find((other) => other.kind === runs?.kind);
  if (runs === undefined || runner === undefined) {
    throw refuse('NotFound', `${kind.kind} "${name}" has no stage "${stage.slice(0, 64)}"`);
  }
  if (!runs.begun) {
    throw refuse('NotFound', `stage "${stage}" is ${runs.phase}: it has no log`, {
      fix: runs.phase === 'Pending' ? 'Ask again once the stage runs.' : undefined,
      target: { kind: kind.kind, name },
    });
  }
  return serveLogs(x, context, caller, { ...target, kind: runner, name: runs.name, below: 'logs', rest: [] });
}
