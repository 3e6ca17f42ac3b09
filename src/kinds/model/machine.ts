/**
 * The life of a Model: available while the gateway says that something serves it, until its deprecationTime. Only the gateway refuses
 * requests; what is here is shown.
 *
 *   Created, Updated, ServingObserved, the timer of deprecationTime ─ status
 */
import type { CommitEffect } from '../effect.js';
import type { Current, DecisionContext, Machine } from '../machine.js';
import { IGNORED, next, plain, type PlainDecision } from '../plain-machine.js';
import { availability, endOf, UNSERVED, type Serving } from './availability.js';
import type { ModelSpec, ModelStatus } from './schema.js';

export interface ModelPrivate {
  /** Absent: the gateway has told nothing yet. */
  readonly serving?: Serving | undefined;
  /** For when the timer is armed (ms). */
  readonly armed?: number | undefined;
}

type Here = Current<ModelSpec, ModelStatus, ModelPrivate>;

const DEPRECATION = 'deprecation';

function shown(
  { object, private: kept = {} }: Here,
  serving: Serving | undefined,
  { now }: DecisionContext,
): PlainDecision<ModelStatus, ModelPrivate> {
  const end = endOf(object.spec);
  const armed = end !== undefined && now < end ? end : undefined;
  const effects: CommitEffect[] = [];
  if (armed !== undefined && armed !== kept.armed) effects.push({ type: 'ArmTimer', timer: DEPRECATION, at: armed });
  if (armed === undefined && kept.armed !== undefined) effects.push({ type: 'CancelTimer', timer: DEPRECATION });
  return next<ModelStatus, ModelPrivate>(availability(object.spec, object.status, serving ?? UNSERVED, now), {
    private: { ...(serving !== undefined && { serving }), ...(armed !== undefined && { armed }) },
    effects,
  });
}

export const modelMachine: Machine<ModelSpec, ModelStatus, ModelPrivate, undefined, never> = {
  decide(here, _side, message, context) {
    switch (message.type) {
      case 'Created':
      case 'Updated':
        return shown(here, here.private?.serving, context);
      case 'TimerFired': {
        if (message.timer !== DEPRECATION) return IGNORED;
        // One that comes early is armed again.
        const fired = { ...here, private: { ...here.private, armed: undefined } };
        return shown(fired, here.private?.serving, context);
      }
      case 'MessageReceived': {
        const { content } = message;
        if (content.type !== 'ServingObserved') return IGNORED;
        return shown(here, { available: content.available, message: content.message }, context);
      }
      default:
        return plain(here, message);
    }
  },
};
