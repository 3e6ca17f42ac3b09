/**
 * The life of a CreditGrant: it is credited in the commit that makes it, and what is left of it goes at its end, but for what is held then,
 * which goes when it is given back. The ledger knows what is left, and tells it.
 */
import { parseTime } from '../../api/time.js';
import { formatUsd } from '../../api/usd.js';
import type { Effect } from '../effect.js';
import type { Current, DecisionContext, Machine } from '../machine.js';
import { IGNORED, next, plain, type PlainDecision } from '../plain-machine.js';
import type { CreditGrantSpec, CreditGrantStatus } from './schema.js';

type Here = Current<CreditGrantSpec, CreditGrantStatus, undefined>;

const EXPIRY = 'expire';

function credit({ object: { metadata, spec, status } }: Here): PlainDecision<CreditGrantStatus> {
  const { amountUSD, expirationTime } = spec;
  const { uid: grant, name } = metadata;
  const expires = expirationTime === undefined ? undefined : parseTime(expirationTime);
  const effects: Effect[] = [{ type: 'Money', operation: { op: 'Credit', grant, name, amountUSD, expires } }];
  if (expires !== undefined) effects.push({ type: 'ArmTimer', timer: EXPIRY, at: expires });
  return next<CreditGrantStatus>({ ...status, phase: 'Active', remainingUSD: formatUsd(amountUSD) }, { effects });
}

function expire({ object: { spec, status } }: Here, { now }: DecisionContext): PlainDecision<CreditGrantStatus> {
  const expires = spec.expirationTime === undefined ? undefined : parseTime(spec.expirationTime);
  if (expires === undefined || status.phase === 'Expired') return IGNORED;
  if (now < expires)
    return next<CreditGrantStatus>(status, { effects: [{ type: 'ArmTimer', timer: EXPIRY, at: expires }] });
  return next<CreditGrantStatus>(
    { ...status, phase: 'Expired' },
    { effects: [{ type: 'Money', operation: { op: 'Expire' } }] },
  );
}

/** Whatever is given back later goes to the wallet, so a grant that is used up stays so. */
function show({ object: { status } }: Here, left: string): PlainDecision<CreditGrantStatus> {
  const remainingUSD = formatUsd(left);
  if (remainingUSD === status.remainingUSD) return IGNORED;
  const used = Number(remainingUSD) === 0 && status.phase === 'Active';
  return next<CreditGrantStatus>({ ...status, remainingUSD, ...(used && { phase: 'Used' }) });
}

export const creditGrantMachine: Machine<CreditGrantSpec, CreditGrantStatus, undefined, undefined, never> = {
  decide(here, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return credit(here);
      case 'TimerFired':
        return message.timer === EXPIRY ? expire(here, context) : IGNORED;
      case 'MessageReceived':
        return message.content.type === 'CreditsChanged' ? show(here, message.content.remainingUSD) : IGNORED;
      default:
        return plain(here, message);
    }
  },
};
