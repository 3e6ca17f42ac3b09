/**
 * The behaviour of a Node: it gives out the places of one machine.
 *
 * Places cost no commits: grants are messages that nothing stores, and the placements are rebuilt by asking. A grant that is lost in a
 * crash is asked for again by its Attempt; one that outlived the placements would be a place that nobody counts; a place is given back only by the Attempt that has proof that its work is gone. So what is
 * granted never exceeds the capacity, whatever crashes: until every Attempt has said what it holds, nothing is granted.
 * What the status shows of it is a summary, written every few seconds while something changes.
 */
import type { Machine } from '../machine.js';
import { LOCAL_NODE } from './local.js';
import { Placements, type PlacementChange } from './placements.js';
import type { NodeSpec, NodeStatus } from './schema.js';
import type { NodePrivate } from './readiness.js';
import { IGNORED, Step, type NodeDecision, type This } from './step.js';

export const nodeMachine: Machine<NodeSpec, NodeStatus, NodePrivate, Placements, PlacementChange> = {
  sideState: {
    stored: false,
    open: () => new Placements(),
    apply: (placements, change) => placements.apply(change),
  },
  decide(current, placements, message, context) {
    const step = new Step(current, placements, context);
    // Placements that were opened empty have lost count, whatever message found them so.
    if (placements.count === 'Unknown') step.beginCount(context.uid());
    switch (message.type) {
      case 'Created':
      case 'Activated':
        break;
      case 'Updated':
        step.grant(placements.load);
        step.show();
        break;
      case 'DeletionRequested':
        return refuseDeletion(current);
      case 'TimerFired':
        if (message.timer === 'count') step.countAgain();
        else if (message.timer === 'summary') step.summarize();
        else if (message.timer === 'heartbeat') step.listen();
        else if (message.timer === 'gathering') step.endGathering();
        else return IGNORED;
        break;
      case 'MessageReceived':
        step.takeMessage(message.from, message.content);
        break;
      case 'EffectFailed':
        if (message.effect.type !== 'CountPlaces' || message.effect.count !== placements.name) return IGNORED;
        step.countAgain();
        break;
      case 'Reported':
      case 'Action':
        return IGNORED;
    }
    return step.toDecision();
  },
  /** It is opened with the service, which tells it what the machine has. */
  isTerminal: () => false,
};

/** The machine's own Node stands as long as the service runs there; it is drained, not deleted. */
function refuseDeletion(current: This): NodeDecision {
  const { name } = current.address;
  if (name !== LOCAL_NODE.name) return { outcome: 'Next', status: current.object.status, effects: [] };
  return {
    outcome: 'Refused',
    refusal: {
      code: 'Conflict',
      message: `Node "${name}" is the machine that the service runs on and cannot be deleted`,
      fix: 'Set spec.unschedulable to true to stop new work on it.',
    },
  };
}
