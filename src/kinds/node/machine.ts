/**
 * Owns the behaviour of a Node: it gives out the places of one machine.
 *
 * Places cost no commits: grants are letters that nothing stores, and the book is rebuilt by asking. A grant that is lost in a
 * crash is asked for again by its Attempt; one that outlived the book would be a place that nobody counts; a place is given back only by the Attempt that has proof that its work is gone. So what is
 * granted never exceeds the capacity, whatever crashes: until every Attempt has said what it holds, nothing is granted.
 * What the status shows of it is a summary, written every few seconds while something changes.
 */
import type { Machine } from '../machine.js';
import { LOCAL_NODE } from './local.js';
import { PlacementBook, type PlacementChange } from './placement-book.js';
import type { NodeSpec, NodeStatus } from './schema.js';
import { IGNORED, Step, type NodeDecision, type NodePrivate, type This } from './step.js';

export const nodeMachine: Machine<NodeSpec, NodeStatus, NodePrivate, PlacementBook, PlacementChange> = {
  sideState: {
    stored: false,
    open: () => new PlacementBook(),
    apply: (book, change) => book.apply(change),
  },
  decide(current, book, message, context) {
    const step = new Step(current, book, context.now);
    // A book that was opened empty has lost count, whatever message found it so.
    if (book.count === 'Unknown') step.beginCount(context.uid());
    switch (message.type) {
      case 'Created':
      case 'Activated':
        break;
      case 'Updated':
        step.grant(book.load);
        step.show();
        break;
      case 'DeletionRequested':
        return refuseDeletion(current);
      case 'TimerFired':
        if (message.timer === 'count') step.countAgain();
        else if (message.timer === 'summary') step.summarize();
        else if (message.timer === 'heartbeat') step.listen();
        else return IGNORED;
        break;
      case 'MessageReceived':
        step.told(message.from, message.letter);
        break;
      case 'EffectFailed':
        if (message.effect.type !== 'CountPlaces' || message.effect.count !== book.name) return IGNORED;
        step.countAgain();
        break;
      case 'Reported':
      case 'Action':
        return IGNORED;
    }
    return step.conclude();
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
