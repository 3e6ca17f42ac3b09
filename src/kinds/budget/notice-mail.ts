/** The mail that tells of a threshold: subject and text. Pure. */
import { rfc3339 } from '../../api/time.js';
import { periodEnd } from '../../money/counters.js';
import { showUSD, USD, ZERO } from '../../money/usd.js';

export interface Notice {
  /** Of the Budget. */
  readonly name: string;
  readonly action: 'Block' | 'Notify';
  /** A month, or `total`. */
  readonly period: string;
  readonly threshold: number;
  readonly limitUSD: string;
  readonly spentUSD: string;
  readonly heldUSD: string;
  /** When these were read (ms). */
  readonly made: number;
}

/** What the Budget does is in each mail: who takes an alert for a cap finds out too late. */
export function noticeMail(notice: Notice): { readonly subject: string; readonly text: string } {
  const { name, action, period, threshold, made } = notice;
  const limit = new USD(notice.limitUSD);
  const spent = new USD(notice.spentUSD);
  const held = new USD(notice.heldUSD);
  const left = USD.max(ZERO, limit.minus(spent).minus(held));
  const end = period === 'total' ? undefined : periodEnd(Date.parse(`${period}-01T00:00:00Z`));
  const when = end === undefined ? '' : ` in ${period}`;
  return {
    subject: `Budget ${name}: ${threshold}% of ${showUSD(limit)} USD are spent${when}`,
    text: `${[
      `What Budget "${name}" counts has reached ${threshold}% of its limit${when}.`,
      '',
      `Limit:     ${showUSD(limit)} USD ${end === undefined ? 'in all' : 'a month'}`,
      `Spent:     ${showUSD(spent)} USD`,
      `Held:      ${showUSD(held)} USD, for work that waits or runs`,
      `Left:      ${showUSD(left)} USD`,
      `Figures of ${rfc3339(made)}`,
      '',
      ...(action === 'Block' ? BLOCKS : NOTIFIES),
      ...(end === undefined ? [] : [`The next month begins at ${rfc3339(end)}.`]),
      '',
      `To see it:     kubectl get budget ${name} -o yaml`,
      `To raise it:   kubectl edit budget ${name}`,
    ].join('\n')}\n`,
  };
}

const BLOCKS = [
  'This Budget blocks: once its limit is reached, new work is refused, and',
  'running work ends gracefully when the money held for it is used up.',
];

const NOTIFIES = ['This Budget only notifies: nothing is refused or stopped at its limit.'];
