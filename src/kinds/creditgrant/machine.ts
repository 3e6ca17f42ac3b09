/**
 * The life of a CreditGrant: it is credited in the commit that makes it, and what is left of it goes at its end. The ledger knows what is
 * spent of it; while the wallet is Unlimited, nothing is.
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
  const expires = expirationTime === undefined ? undefined : parseTime(expirationTime);
  const effects: Effect[] = [{ type: 'Money', operation: { op: 'Credit', grant: metadata.uid, amountUSD, expires } }];
  if (expires !== undefined) effects.push({ type: 'ArmTimer', timer: EXPIRY, at: expires });
  return next<CreditGrantStatus>({ ...status, remainingUSD: formatUsd(amountUSD) }, { effects });
}

/** What is held of it goes when that is given back: the ledger looks at each of its operations (`src/money/apply.ts`). */
function expire({ object: { spec, status } }: Here, { now }: DecisionContext): PlainDecision<CreditGrantStatus> {
  const expires = spec.expirationTime === undefined ? undefined : parseTime(spec.expirationTime);
  if (expires === undefined || status.phase === 'Expired') return IGNORED;
  if (now < expires)
    return next<CreditGrantStatus>(status, { effects: [{ type: 'ArmTimer', timer: EXPIRY, at: expires }] });
  return next<CreditGrantStatus>(
    { ...status, phase: 'Expired', remainingUSD: '0.00' },
    { effects: [{ type: 'Money', operation: { op: 'Expire' } }] },
  );
}

export const creditGrantMachine: Machine<CreditGrantSpec, CreditGrantStatus, undefined, undefined, never> = {
  decide(here, _side, message, context) {
    switch (message.type) {
      case 'Created':
        return credit(here);
      case 'TimerFired':
        return message.timer === EXPIRY ? expire(here, context) : IGNORED;
      default:
        return plain(here, message);
    }
  },
};
