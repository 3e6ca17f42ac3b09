/**
 * Tells a CreditGrant what is left of it (`CreditsChanged`): once a second those of which the ledger has another amount than their status
 * shows. The row is marked when the grant has committed the amount, or is gone, so nothing is lost in a crash and a repeat changes nothing.
 * I10: at most MOST at once, from where the last round ended; no round begins before the last has ended.
 */
import type { ChangedCredit, CreditRows } from '../../storage/ledger/credits.js';
import type { MessageRouter } from '../message-router.js';
import { within } from '../../src/deadline.js';
import { abortable } from '../wait.js';
import { tick } from './ticker.js';

const EVERY_MS = 1_000;
const MOST = 200;
/** Longest wait for the grants of a round (ms). One that takes longer hears of it again. */
const WAIT_MS = 10_000;
const START = { org: '', uid: '' };

export interface CreditDeps {
  readonly rows: CreditRows;
  readonly send: MessageRouter['send'];
  onProblem(message: string): void;
}

/** Goes on until `stopping` is aborted; resolves then. */
export function showCredits({ rows, send, onProblem }: CreditDeps, stopping: AbortSignal): Promise<void> {
  let cursor: Pick<ChangedCredit, 'org' | 'uid'> = START;

  /** The grant, when it shows the amount. */
  async function show(credit: ChangedCredit, signal: AbortSignal): Promise<ChangedCredit | undefined> {
    const { org, uid, name, remainingUSD } = credit;
    const address = { org, kind: 'CreditGrant', project: '', name };
    const sent = send(address, uid, { type: 'CreditsChanged', remainingUSD });
    const delivery = await abortable(sent, signal).catch(() => 'Retry');
    return delivery === 'Done' || delivery === 'Absent' ? credit : undefined;
  }

  async function round(): Promise<void> {
    const changed = await rows.changedCredits(cursor, MOST);
    cursor = changed.length < MOST ? START : (changed.at(-1) ?? START);
    if (changed.length === 0) return;
    const shown = await within(WAIT_MS, stopping, (signal) => Promise.all(changed.map((one) => show(one, signal))));
    await rows.creditsShown(shown.filter((one) => one !== undefined));
  }

  return tick({ every: EVERY_MS, round, onProblem }, stopping);
}
