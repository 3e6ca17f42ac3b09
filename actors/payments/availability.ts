/** Whether credits can be bought now: a create of a TopUp is refused when no processor is configured, or it does not answer. */
import type { PaymentProcessor } from '../../src/engines/payments/processor.js';
import type { Refusal } from '../../src/api/refusal.js';
import { within } from '../../src/deadline.js';
import type { Clock } from '../../storage/store.js';

/** A processor that has answered is not asked again for so long (ms), one that has not for a shorter time. */
const GOOD_MS = 30_000;
const BAD_MS = 2_000;
const WITHIN_MS = 8_000;

/** Undefined: they can. */
export type PaymentsReady = () => Promise<Refusal | undefined>;

export function openPaymentsReady(
  processor: PaymentProcessor | undefined,
  clock: Clock,
  onProblem: (message: string) => void,
  stopping: AbortSignal,
): PaymentsReady {
  if (processor === undefined)
    return () =>
      Promise.resolve({
        code: 'PaymentsNotConfigured',
        message: 'credits cannot be bought: this service takes no payments (TROUPE_PAYMENTS=off)',
      });
  let known: { readonly until: number; readonly refusal: Refusal | undefined } | undefined;
  let asking: Promise<Refusal | undefined> | undefined;

  async function ask(of: PaymentProcessor): Promise<Refusal | undefined> {
    const outcome = await within(WITHIN_MS, stopping, (signal) => of.check(signal)).catch((error: unknown) => ({
      outcome: 'Unreachable' as const,
      message: error instanceof Error ? error.message : 'failed',
    }));
    const answers = outcome.outcome === 'Reachable';
    if (!answers) onProblem(outcome.message);
    const refusal: Refusal | undefined = answers
      ? undefined
      : {
          code: 'PaymentVerificationUnavailable',
          message: 'the payment processor does not answer now; nothing was bought',
          // kubectl would try again for minutes, without a word.
          retryAfterSeconds: 'Never',
        };
    known = { until: clock() + (answers ? GOOD_MS : BAD_MS), refusal };
    return refusal;
  }

  return async () => {
    if (known !== undefined && clock() < known.until) return known.refusal;
    asking ??= ask(processor).finally(() => (asking = undefined));
    return asking;
  };
}
