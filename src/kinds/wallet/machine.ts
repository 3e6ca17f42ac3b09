/**
 * The life of an org's Wallet: it says when the balance is low or something is owed, buys credits by itself, and pauses new work while a
 * payment is disputed. The ledger alone knows the balance and refuses (I7); what the Wallet has heard may be a second old.
 */
import { showUSD, USD } from '../../money/usd.js';
import type { Effect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { Current, DecisionContext, Machine } from '../machine.js';
import type { MessageSender, ObjectMessage } from '../object-message.js';
import { IGNORED, next, plain, refused, type PlainDecision } from '../plain-machine.js';
import { NEXT_MONTH, notMade, recharge, recharged, TRY_AGAIN } from './recharge.js';
import type { PaymentDispute } from '../topup/payment.js';
import type { WalletSpec, WalletStatus } from './schema.js';
import { NO_STATE, type WalletPrivate } from './state.js';

type Here = Current<WalletSpec, WalletStatus, WalletPrivate>;
type Decided = PlainDecision<WalletStatus, WalletPrivate>;
type Content<Type extends ObjectMessage['type']> = Extract<ObjectMessage, { type: Type }>;

const MOST_DISPUTES = 100;
const STORAGE_TOLD_EVERY_MS = 3_600_000;

/** With a purchase, if one is due now. */
function shown(
  { object: { spec } }: Here,
  kept: WalletPrivate,
  status: WalletStatus,
  effects: readonly Effect[],
  context: DecisionContext,
): Decided {
  const step = recharge(spec, kept, context.now, () => context.uid().slice(0, 8));
  return next<WalletStatus, WalletPrivate>(withRecharge(status, step.private), {
    private: step.private,
    effects: [...effects, ...step.effects],
  });
}

function withRecharge(
  { phase, low, owing, disputes }: WalletStatus,
  { card, month, open, ...why }: WalletPrivate,
): WalletStatus {
  const stopped = why.stopped ?? (open === undefined ? why.refused?.message : undefined) ?? why.limitReached;
  return {
    ...{ phase, low, owing },
    ...(disputes !== undefined && { disputes }),
    ...(card !== undefined && { card: { brand: card.brand, last4: card.last4, processor: card.processor } }),
    ...(month !== undefined && {
      recharge: {
        ...{ month: month.month, usedUSD: showUSD(new USD(month.usedUSD)) },
        ...(open !== undefined && { topUp: open.name }),
        ...(stopped !== undefined && { stopped }),
      },
    }),
  };
}

function update(here: Here, context: DecisionContext): Decided {
  const kept = here.private ?? NO_STATE;
  if (here.object.spec.autoRecharge?.enabled === true && kept.card === undefined)
    return refused({
      code: 'PaymentMethodRequired',
      message: 'credits cannot be bought automatically: no card is saved',
      fix: 'Pay a TopUp with spec.savePaymentMethod true, and let the card be saved on its page. Then change the wallet again.',
    });
  // What has failed is tried again when the balance is below the level of now.
  const { stopped: _, refused: __, limitTold: ___, limitReached: ____, ...rest } = kept;
  return shown(here, { ...rest, belowRecharge: false }, here.object.status, [{ type: 'AskBalance' }], context);
}

function balance(
  here: Here,
  { availableUSD, arrearsUSD }: Content<'BalanceChanged'>,
  context: DecisionContext,
): Decided {
  const { spec, status } = here.object;
  const kept = here.private ?? NO_STATE;
  const available = new USD(availableUSD);
  const isBelow = (level: string | undefined): boolean => level !== undefined && available.lt(level);
  const low = isBelow(spec.warnBelowUSD);
  const owing = !new USD(arrearsUSD).isZero();
  const belowRecharge = spec.autoRecharge?.enabled === true && isBelow(spec.autoRecharge.belowUSD);
  const { low: wasLow = false, owing: wasOwing = false } = status;
  if (low === wasLow && owing === wasOwing && belowRecharge === kept.belowRecharge) return IGNORED;
  const effects = [
    ...(low && !wasLow
      ? [emit('billing.low_balance', `${availableUSD} USD are available, less than ${spec.warnBelowUSD} USD`)]
      : []),
    ...(owing && !wasOwing
      ? [emit('billing.arrears_posted', `${arrearsUSD} USD are owed; new work waits until they are paid`)]
      : []),
  ];
  return shown(here, { ...kept, belowRecharge }, { ...status, low, owing }, effects, context);
}

function dispute(
  here: Here,
  { topUp, dispute: { id, state, amountUSD } }: Content<'DisputeChanged'>,
  context: DecisionContext,
): Decided {
  const kept = here.private ?? NO_STATE;
  if (kept.disputes[id]?.state === state) return IGNORED;
  const disputes = bounded({ ...kept.disputes, [id]: { topUp, state } });
  const open = openIn(disputes);
  const before = openIn(kept.disputes);
  const about = `the payment of TopUp "${topUp}" over ${amountUSD} USD`;
  const effects: Effect[] = [
    state === 'Open'
      ? emit(
          'billing.dispute_opened',
          `${about} is disputed; until that is decided a prepaid wallet takes no new work (${countsOf(disputes)})`,
        )
      : emit(
          'billing.dispute_closed',
          `the dispute about ${about} was ${state === 'Won' ? 'won' : 'lost'} (${countsOf(disputes)})`,
        ),
  ];
  if (open.length > 0 !== before.length > 0)
    effects.push({ type: 'Money', operation: { op: 'SetDisputed', disputed: open.length > 0 } });
  const { disputes: _, ...status } = here.object.status;
  const shownStatus = open.length === 0 ? status : { ...status, disputes: open };
  return shown(here, { ...kept, disputes }, shownStatus, effects, context);
}

/** One event an hour at most, however many uploads are refused. */
function storageFull(here: Here, { quotaBytes }: Content<'StorageFull'>, { now }: DecisionContext): Decided {
  const kept = here.private ?? NO_STATE;
  if (now - (kept.storageTold ?? -Infinity) < STORAGE_TOLD_EVERY_MS) return IGNORED;
  return next<WalletStatus, WalletPrivate>(here.object.status, {
    private: { ...kept, storageTold: now },
    effects: [emit('billing.storage_quota_exceeded', `more than ${quotaBytes} bytes of blobs and outputs were wanted`)],
  });
}

/** The event is one row for all disputes of an org, so that the last message has to say how they all stand. */
function countsOf(disputes: WalletPrivate['disputes']): string {
  const count = (state: PaymentDispute['state']): number =>
    Object.values(disputes).filter((one) => one.state === state).length;
  return `disputes of this wallet: ${count('Open')} open, ${count('Won')} won, ${count('Lost')} lost`;
}

function openIn(disputes: WalletPrivate['disputes']): string[] {
  return Object.values(disputes).flatMap(({ topUp, state }) => (state === 'Open' ? [topUp] : []));
}

/** I10: of those that are over, the newest. */
function bounded(disputes: WalletPrivate['disputes']): WalletPrivate['disputes'] {
  const over = Object.keys(disputes).filter((id) => disputes[id]?.state !== 'Open');
  const forgotten = new Set(over.slice(0, Math.max(0, over.length - MOST_DISPUTES)));
  return Object.fromEntries(Object.entries(disputes).filter(([id]) => !forgotten.has(id)));
}

function whyUnpaid(message: string): string {
  return message === '' ? 'it was not paid, its conditions say why' : `it was not paid: ${message}`;
}

function receive(here: Here, from: MessageSender, content: ObjectMessage, context: DecisionContext): Decided {
  const kept = here.private ?? NO_STATE;
  switch (content.type) {
    case 'BalanceChanged':
      return balance(here, content, context);
    case 'DisputeChanged':
      return dispute(here, content, context);
    case 'StorageFull':
      return storageFull(here, content, context);
    case 'CardSaved': {
      const { stopped: _, ...rest } = kept;
      return shown(here, { ...rest, card: content.card }, here.object.status, [], context);
    }
    case 'ChildChanged': {
      if (from.address.name !== kept.open?.name || (content.phase !== 'Succeeded' && content.phase !== 'Failed'))
        return IGNORED;
      const failure = content.phase === 'Failed' ? whyUnpaid(content.message) : undefined;
      const { private: after, effects } = recharged(kept, failure);
      // The ledger has the credits now, and says whether that is still below.
      const known = { ...after, belowRecharge: failure !== undefined && after.belowRecharge };
      return next<WalletStatus, WalletPrivate>(withRecharge(here.object.status, known), {
        private: known,
        effects: [...effects, { type: 'AskBalance' }],
      });
    }
    default:
      return IGNORED;
  }
}

export const walletMachine: Machine<WalletSpec, WalletStatus, WalletPrivate, undefined, never> = {
  decide(here, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return next<WalletStatus, WalletPrivate>({ phase: 'Ready' }, { private: NO_STATE });
      case 'Updated':
        return update(here, context);
      case 'MessageReceived':
        return receive(here, message.from, message.content, context);
      case 'EffectFailed': {
        if (message.effect.type !== 'CreateChild' || message.effect.name !== here.private?.open?.name) return IGNORED;
        const { private: after, effects } = notMade(here.private, message.message, context.now);
        return next<WalletStatus, WalletPrivate>(withRecharge(here.object.status, after), { private: after, effects });
      }
      case 'TimerFired':
        return message.timer === NEXT_MONTH || message.timer === TRY_AGAIN
          ? shown(here, here.private ?? NO_STATE, here.object.status, [], context)
          : IGNORED;
      default:
        return plain(here, message);
    }
  },
};
