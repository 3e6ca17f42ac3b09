/**
 * The life of a TopUp: a page at the processor is made for it, or the saved card is charged; what the processor says of it is settled
 * (`settle.ts`). It is never changed or deleted. It ends as Failed only when the processor says that nobody can pay any more.
 */
import { API_GROUP } from '../../brand.js';
import { invalid } from '../../api/causes.js';
import type { Cause } from '../../api/refusal.js';
import { rfc3339 } from '../../api/time.js';
import type { Effect } from '../effect.js';
import type { DecisionContext, Machine, Message } from '../machine.js';
import type { MessageSender, ObjectMessage } from '../object-message.js';
import { IGNORED, next, plain, refused } from '../plain-machine.js';
import type { TopUpSpec, TopUpStatus } from './schema.js';
import { AFTER_END_MS, credited, fail, LOOK, lookAt, settle } from './settle.js';
import { isOver, wantGrant, type Decided, type Here, type TopUpPrivate } from './state.js';

/** How long an unpaid page stays open (ms). */
const CHECKOUT_MS = 60 * 60_000;
/** A processor that does not answer is asked again after so long (ms), until the page would be over. */
const ASK_AGAIN_MS = 30_000;
/** A charge whose outcome is not known is repeated with its key as long as the processor keeps keys, and looked for later (ms). */
const CHARGE_WITHIN_MS = 23 * 3_600_000;
const ASK = 'ask';
const CREDIT = 'credit';
const CREDIT_AGAIN_MS = 60_000;

type When = Pick<DecisionContext, 'now'>;

function create(here: Here, context: DecisionContext): Decided {
  const { spec } = here.object;
  const { base, pages } = context.endpoints ?? {};
  const causes = foreign(spec, [...new Set([base, pages].filter((url) => url !== undefined))]);
  if (causes.length > 0) return refused(invalid({ kind: 'TopUp', name: here.address.name, group: API_GROUP }, causes));
  const isCharge = spec.origin === 'AutoRecharge';
  const kept: TopUpPrivate = {
    token: Buffer.from(context.randomBytes(16)).toString('hex'),
    ...(spec.successURL !== undefined && { successURL: spec.successURL }),
    ...{ attempt: 1, expires: context.now + (isCharge ? CHARGE_WITHIN_MS : CHECKOUT_MS) },
    ...{ awaited: {}, taken: {}, disputes: {} },
  };
  const { successURL: _, ...shown } = spec;
  return next<TopUpStatus, TopUpPrivate>(
    { phase: 'Queued' },
    { private: kept, spec: shown, effects: [ask(here, kept)] },
  );
}

/** The browser goes to this deployment's own pages or to a program on its own machine, and nowhere else. */
function foreign(spec: TopUpSpec, own: readonly string[]): readonly Cause[] {
  return (['successURL', 'cancelURL'] as const).flatMap((field) => {
    const url = spec[field];
    if (url === undefined || url.startsWith('http:')) return [];
    if (own.some((base) => new URL(url).origin === new URL(base).origin)) return [];
    const message = `must be a page of this service (${own.join(' or ')}) or an http page on localhost`;
    return [{ field: `spec.${field}`, message, reason: 'FieldValueInvalid' }];
  });
}

function ask({ object: { spec } }: Here, { attempt, expires, token, card }: TopUpPrivate): Effect {
  const { amountUSD, savePaymentMethod: saveCard = false } = spec;
  return spec.origin === 'AutoRecharge'
    ? { type: 'ChargeCard', amountUSD, expires, ...(card !== undefined && { card }) }
    : { type: 'OpenCheckout', attempt, expires, amountUSD, saveCard, token };
}

/**
 * The processor may have the request already: another key, and so another page, is used only when no page was made. Whether a card was charged
 * only the processor knows, and it is asked until it says so.
 */
function askAgain(here: Here, kept: TopUpPrivate, { now }: When): Decided {
  if (isOver(here.object.status) || kept.source !== undefined) return IGNORED;
  if (now >= kept.expires && kept.card === undefined)
    return fail(here, 'PaymentFailed', 'the payment processor could not be reached in time; make another TopUp', now);
  return next<TopUpStatus, TopUpPrivate>(here.object.status, { effects: [ask(here, kept)] });
}

function receive(here: Here, kept: TopUpPrivate, from: MessageSender, content: ObjectMessage, when: When): Decided {
  const { status, spec } = here.object;
  const { now } = when;
  switch (content.type) {
    case 'CheckoutOpened': {
      if (content.attempt !== kept.attempt || kept.source !== undefined || status.phase !== 'Queued') return IGNORED;
      const { id, url, expires } = content;
      return next<TopUpStatus, TopUpPrivate>(
        { ...status, phase: 'Running', checkoutURL: url, expirationTime: rfc3339(expires) },
        {
          private: { ...kept, source: { type: 'Checkout', id }, expires },
          effects: [lookAt(expires + AFTER_END_MS)],
        },
      );
    }
    case 'CheckoutTooLate': {
      if (content.attempt !== kept.attempt || status.phase !== 'Queued') return IGNORED;
      const again = { ...kept, attempt: kept.attempt + 1, expires: now + CHECKOUT_MS };
      return next<TopUpStatus, TopUpPrivate>(status, { private: again, effects: [ask(here, again)] });
    }
    case 'CardChosen': {
      if (isOver(status) || kept.source !== undefined || kept.card !== undefined) return IGNORED;
      const chosen = { ...kept, card: content.card };
      return next<TopUpStatus, TopUpPrivate>(status, { private: chosen, effects: [ask(here, chosen)] });
    }
    case 'CardCharged': {
      if (kept.source !== undefined) return IGNORED;
      const source = { type: 'Charge', id: content.payment } as const;
      return next<TopUpStatus, TopUpPrivate>(
        { ...status, phase: 'Running', paymentIntent: content.payment },
        { private: { ...kept, source }, effects: [{ type: 'LookAtPayment', source, amountUSD: spec.amountUSD }] },
      );
    }
    case 'PaymentRefused':
      return isOver(status) || kept.source !== undefined ? IGNORED : fail(here, 'PaymentFailed', content.message, now);
    case 'PaymentChanged':
      return settle(here, kept, content.source, content.payment, now);
    case 'BrowserSent': {
      const { successURL: _, ...rest } = kept;
      return kept.successURL === undefined ? IGNORED : next<TopUpStatus, TopUpPrivate>(status, { private: rest });
    }
    case 'ChildChanged':
      return from.address.kind === 'CreditGrant' ? credited(here, kept, from.address.name, content.uid, now) : IGNORED;
    default:
      return IGNORED;
  }
}

/** The processor is asked again; credits that were paid for are asked for until they are there. */
function retry(here: Here, { effect }: Extract<Message, { type: 'EffectFailed' }>, { now }: When): Decided {
  const { status } = here.object;
  const again = (timer: string, ms: number): Decided =>
    next<TopUpStatus, TopUpPrivate>(status, { effects: [{ type: 'ArmTimer', timer, at: now + ms }] });
  switch (effect.type) {
    case 'OpenCheckout':
    case 'ChargeCard':
      return again(ASK, ASK_AGAIN_MS);
    case 'LookAtPayment':
      return again(LOOK, ASK_AGAIN_MS);
    case 'CreateChild':
      return again(CREDIT, CREDIT_AGAIN_MS);
    default:
      return IGNORED;
  }
}

function wake(here: Here, kept: TopUpPrivate, timer: string, when: When): Decided {
  const { status, spec } = here.object;
  switch (timer) {
    case ASK:
      return askAgain(here, kept, when);
    case LOOK: {
      const { source } = kept;
      if (source === undefined || isOver(status) || kept.paid !== undefined) return IGNORED;
      const look: Effect = { type: 'LookAtPayment', source, amountUSD: spec.amountUSD };
      return next<TopUpStatus, TopUpPrivate>(status, { effects: [look] });
    }
    case CREDIT: {
      const grants = Object.entries(kept.awaited).map(([name, grant]) => wantGrant(name, grant));
      return grants.length === 0 ? IGNORED : next<TopUpStatus, TopUpPrivate>(status, { effects: grants });
    }
    default:
      return IGNORED;
  }
}

export const topUpMachine: Machine<TopUpSpec, TopUpStatus, TopUpPrivate, undefined, never> = {
  decide(here, _side, message, context) {
    if (message.type === 'Created') return create(here, context);
    const kept = here.private;
    if (kept === undefined) return plain(here, message);
    switch (message.type) {
      case 'MessageReceived':
        return receive(here, kept, message.from, message.content, context);
      case 'EffectFailed':
        return retry(here, message, context);
      case 'TimerFired':
        return wake(here, kept, message.timer, context);
      default:
        return plain(here, message);
    }
  },
};
