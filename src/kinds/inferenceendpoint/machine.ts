/**
 * The life of an InferenceEndpoint: its cap stands in the ledger from the commit that makes or raises it to the one that removes the object, and
 * its status shows what the gateway tells. Only the gateway refuses requests and only the ledger refuses money: a status that is late admits
 * nothing and stops nothing (I7).
 *
 *   Created, Updated ─ SetCap            UsageChanged ─ usage24h       ModelObserved ─ ModelAvailable, Ready, model
 *   removed ─ SetCap (`atRemoval`)       RequestsFunded ─ Ready, events
 */
import { equalJson } from '../../api/equal.js';
import { formatUsd } from '../../api/usd.js';
import { MAX_COST_REACHED } from '../attempts/holds.js';
import type { CommitEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { Current, DecisionContext, Machine, Message } from '../machine.js';
import type { ModelUsage, ObjectMessage } from '../object-message.js';
import { IGNORED, next, plain, type PlainDecision } from '../plain-machine.js';
import type { InferenceEndpointSpec, InferenceEndpointStatus } from './schema.js';
import { firstState, type FundingRefusal, type InferenceEndpointPrivate, type ObservedModel } from './state.js';
import { NO_USE, statusOf } from './status.js';

type Here = Current<InferenceEndpointSpec, InferenceEndpointStatus, InferenceEndpointPrivate>;
type Decided = PlainDecision<InferenceEndpointStatus, InferenceEndpointPrivate>;

function keptOf({ object, private: kept }: Here): InferenceEndpointPrivate {
  return kept ?? firstState(object);
}

/** The status of now, with this state. */
function shown(
  { object }: Here,
  kept: InferenceEndpointPrivate,
  { now }: Pick<DecisionContext, 'now'>,
  effects: readonly CommitEffect[] = [],
): Decided {
  const status = statusOf(object, kept, now);
  return next<InferenceEndpointStatus, InferenceEndpointPrivate>(status, { private: kept, effects });
}

function setCap({ object }: Here, before: string | undefined): readonly CommitEffect[] {
  const { maxCostUSD } = object.spec;
  return maxCostUSD === before ? [] : [capOf(object.metadata.uid, maxCostUSD)];
}

function create(here: Here, context: DecisionContext): Decided {
  const object = { ...here.object, status: { ...here.object.status, usage24h: { ...NO_USE } } };
  return shown({ ...here, object }, firstState(object), context, setCap(here, undefined));
}

/** What was told of another model, or of a lower cap, is not true of this one: it is told again. */
function update(here: Here, { before }: Extract<Message, { type: 'Updated' }>, context: DecisionContext): Decided {
  const { model, maxCostUSD } = before.spec as InferenceEndpointSpec;
  const { spec } = here.object;
  let kept = keptOf(here);
  if (spec.model !== model) kept = { ...kept, model: undefined };
  if (spec.maxCostUSD !== maxCostUSD && kept.refusal?.reason === MAX_COST_REACHED)
    kept = { ...kept, refusal: undefined };
  return shown(here, kept, context, setCap(here, maxCostUSD));
}

function use({ object }: Here, usage: ModelUsage): Decided {
  const usage24h = { ...usage, costUSD: formatUsd(usage.costUSD) };
  const { status } = object;
  if (equalJson(usage24h, status.usage24h)) return IGNORED;
  return next<InferenceEndpointStatus, InferenceEndpointPrivate>({ ...status, usage24h });
}

function observe(here: Here, { model, available, reason, message }: ObservedModel, context: DecisionContext): Decided {
  const observed: ObservedModel = { ...(model !== undefined && { model }), available, reason, message };
  const kept = keptOf(here);
  return equalJson(observed, kept.model) ? IGNORED : shown(here, { ...kept, model: observed }, context);
}

/** Each is told once: that this value of the cap is reached, that there is too little money, and that there is enough again. */
function fund(here: Here, refusal: FundingRefusal | undefined, context: DecisionContext): Decided {
  const before = keptOf(here);
  if (equalJson(refusal, before.refusal)) return IGNORED;
  const kept = { ...before, refusal };
  if (refusal === undefined) {
    if (before.fundingLost !== true) return shown(here, kept, context);
    const restored = emit('inferenceendpoint.funding_restored', 'there is money for its requests again');
    return shown(here, { ...kept, fundingLost: undefined }, context, [restored]);
  }
  const { reason, message } = refusal;
  if (reason === MAX_COST_REACHED) {
    const { maxCostUSD = '' } = here.object.spec;
    if (before.cappedAtUSD === maxCostUSD) return shown(here, kept, context);
    const reached = emit('inferenceendpoint.max_cost_reached', message);
    return shown(here, { ...kept, cappedAtUSD: maxCostUSD }, context, [reached]);
  }
  if (before.fundingLost === true) return shown(here, kept, context);
  return shown(here, { ...kept, fundingLost: true }, context, [emit('inferenceendpoint.funding_lost', message)]);
}

function receive(here: Here, content: ObjectMessage, context: DecisionContext): Decided {
  switch (content.type) {
    case 'UsageChanged':
      return use(here, content.usage);
    case 'ModelObserved':
      return observe(here, content, context);
    case 'RequestsFunded':
      return fund(here, content.refusal, context);
    default:
      return IGNORED;
  }
}

export const inferenceEndpointMachine: Machine<
  InferenceEndpointSpec,
  InferenceEndpointStatus,
  InferenceEndpointPrivate,
  undefined,
  never
> = {
  decide(here, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return create(here, context);
      case 'Updated':
        return update(here, message, context);
      case 'MessageReceived':
        return receive(here, message.content, context);
      default:
        return plain(here, message);
    }
  },
};

/** Without a limit: there is no cap any more. */
export function capOf(uid: string, limitUSD: string | undefined): CommitEffect {
  return { type: 'Money', operation: { op: 'SetCap', uid, limitUSD } };
}
