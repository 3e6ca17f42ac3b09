/**
 * Settles purchases: asks the processor how one stands now, and tells its TopUp. Webhooks, browsers that come back, looks at what has changed and
 * the TopUps' own timers all come here, so that each of them is a witness and none decides.
 *
 * At most one look at a purchase is under way, and one waits behind it for all that ask meanwhile. So each message to a
 * TopUp comes of a look that began later than the looks before it, and a TopUp never goes back to an earlier state. I10: at most MOST purchases at once, further ones are not now.
 */
import type { PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { Payment, Purchase } from '../../src/kinds/topup/payment.js';
import { within } from '../../src/deadline.js';
import type { Purchases } from '../../storage/payments/purchases.js';
import type { Clock } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { abortable } from '../wait.js';

const MOST = 1_000;
/** For a read and the commit of what it says (ms). */
const WITHIN_MS = 30_000;
/** A processor that does not know a page this long after its end has forgotten it, or is another one (ms). */
const FORGOTTEN_MS = 24 * 3_600_000;

export interface SettlementDeps {
  readonly processor: PaymentProcessor;
  readonly purchases: Pick<Purchases, 'find'>;
  readonly send: MessageRouter['send'];
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  onProblem(message: string): void;
}

export type Settled =
  /** It is committed, or the purchase belongs to another deployment, or it has ended without a page. */
  | 'Settled'
  /** It is not noted yet where the processor has it: the effect that makes its page or charge goes on, and looks by itself. */
  | 'TooEarly'
  /** Not now. */
  | 'Later';

/** Never rejects. */
export type Settle = (purchase: Purchase, signal: AbortSignal) => Promise<Settled>;

interface UnderWay {
  readonly now: Promise<Settled>;
  /** The look that begins when this one has ended. */
  next?: Promise<Settled> | undefined;
}

export function openSettlements(deps: SettlementDeps): Settle {
  const { processor, purchases, send, clock, stopping, onProblem } = deps;
  const underWay = new Map<string, UnderWay>();
  /** uids of purchases without a TopUp, which the log has already. */
  const strays = new Set<string>();

  async function look(purchase: Purchase): Promise<Settled> {
    try {
      return await within(WITHIN_MS, stopping, (signal) => readAndTell(purchase, signal));
    } catch (error) {
      if (!stopping.aborted) onProblem(error instanceof Error ? error.message : 'failed');
      return 'Later';
    }
  }

  async function readAndTell(purchase: Purchase, signal: AbortSignal): Promise<Settled> {
    const stored = await purchases.find(purchase.uid);
    if (stored === undefined || stored.org !== purchase.org) {
      noteStray(purchase, 'this service has no such TopUp');
      return 'Settled';
    }
    const { source, expires } = stored.kept;
    if (source === undefined) {
      if (stored.phase !== 'Failed') return 'TooEarly';
      noteStray(purchase, 'it has failed before its payment was known');
      return 'Settled';
    }
    const outcome = await processor.read(stored, source, stored.amountUSD, signal);
    if (outcome.outcome === 'Unreachable') {
      onProblem(outcome.message);
      return 'Later';
    }
    const payment: Payment = outcome.outcome === 'Known' ? outcome.payment : absent(expires, clock());
    if (payment.state === 'Mismatch') onProblem(`TopUp ${stored.name} of org ${stored.org}: ${payment.message}`);
    const address = { org: stored.org, kind: 'TopUp', project: '', name: stored.name };
    const delivery = await abortable(send(address, stored.uid, { type: 'PaymentChanged', source, payment }), signal);
    return delivery === 'Done' || delivery === 'Absent' ? 'Settled' : 'Later';
  }

  /** A backup that is older than the purchase was restored, or a charge had no answer for a day: a person has to look at the processor. */
  function noteStray({ org, name, uid }: Purchase, why: string): void {
    if (strays.has(uid)) return;
    if (strays.size >= MOST) strays.clear();
    strays.add(uid);
    onProblem(`${processor.name} has a purchase of TopUp "${name}" (uid ${uid}) of org ${org}, but ${why}`);
  }

  function begin(purchase: Purchase): Promise<Settled> {
    const now = look(purchase);
    const entry: UnderWay = { now };
    underWay.set(purchase.uid, entry);
    void now.then(() => {
      if (entry.next === undefined) underWay.delete(purchase.uid);
    });
    return now;
  }

  return async (purchase, signal) => {
    const before = underWay.get(purchase.uid);
    if (before === undefined && underWay.size >= MOST) return 'Later';
    if (before !== undefined) before.next ??= before.now.then(() => begin(purchase));
    const settled = before?.next ?? begin(purchase);
    return abortable(settled, signal).catch(() => 'Later' as const);
  };
}

function absent(expires: number, now: number): Payment {
  return now < expires + FORGOTTEN_MS ? { state: 'Open' } : { state: 'Expired' };
}
