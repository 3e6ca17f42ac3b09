/** What the status of a Node says of its machine: what it has, its phase and conditions, from what its engine and the operator say. Pure. */
import { setCondition } from '../../api/conditions.js';
import { rfc3339 } from '../../api/time.js';
import type { ResourceAmounts } from '../amounts.js';
import type { ObjectMessage } from '../object-message.js';
import { MAX_PLACES, showAmounts } from './amounts.js';
import type { NodeStatus } from './schema.js';

/** Kept beside the Node: what the engine last said, as numbers. */
export interface NodePrivate {
  readonly capacity?: ResourceAmounts | undefined;
  /** Why no work can run here. */
  readonly refusal?: string | undefined;
  /** Why nothing new begins here for now: a disk is nearly full. */
  readonly shortage?: string | undefined;
  /** Its engine says nothing any more: for so long that no work is given to it, or that the machine is taken for lost. */
  readonly silence?: 'Silent' | 'Lost' | undefined;
}

/** `now` in ms. */
export function observedStatus(
  status: NodeStatus,
  { capacity, addresses, version }: Extract<ObjectMessage, { type: 'NodeObserved' }>,
  now: number,
): NodeStatus {
  return {
    ...status,
    ...(addresses !== undefined && { addresses: [...addresses] }),
    capacity: showAmounts(capacity, MAX_PLACES),
    allocatable: showAmounts(capacity, MAX_PLACES),
    ...(version !== undefined && { agentVersion: version }),
    lastHeartbeatTime: rfc3339(now),
  };
}

/** `now` in ms; `cordoned`: the operator wants no new work there. */
export function readinessOf(
  status: NodeStatus,
  engine: NodePrivate,
  cordoned: boolean,
  now: number,
): Required<Pick<NodeStatus, 'conditions' | 'phase'>> {
  const { refusal, capacity, silence, shortage } = engine;
  const ready = capacity !== undefined && refusal === undefined && silence === undefined;
  const pressure = setCondition(
    status.conditions,
    shortage === undefined
      ? { type: 'DiskPressure', status: 'False', reason: 'DiskHasRoom', message: 'work can begin here' }
      : { type: 'DiskPressure', status: 'True', reason: 'DiskNearlyFull', message: shortage },
    now,
  );
  const conditions = setCondition(
    pressure,
    {
      type: 'Ready',
      status: ready ? 'True' : silence === undefined ? 'False' : 'Unknown',
      ...readyCondition(status, engine),
    },
    now,
  );
  return {
    conditions: [...conditions],
    phase: silence === 'Lost' ? 'Lost' : !ready ? 'NotReady' : cordoned ? 'Cordoned' : 'Ready',
  };
}

function readyCondition(
  status: NodeStatus,
  { refusal, capacity, silence }: NodePrivate,
): { readonly reason: string; readonly message: string } {
  if (silence !== undefined) return { reason: 'NodeStatusUnknown', message: sayNotHeard(status) };
  if (refusal !== undefined) return { reason: 'EngineRefuses', message: refusal };
  if (capacity === undefined) return { reason: 'EngineUnknown', message: 'the engine has not said what it has' };
  return { reason: 'EngineReady', message: 'work can run here' };
}

export function sayNotHeard({ lastHeartbeatTime }: NodeStatus): string {
  return `the machine was last heard of at ${lastHeartbeatTime ?? 'no time'}`;
}
