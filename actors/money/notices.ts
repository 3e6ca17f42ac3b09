/**
 * Tells a Budget of each threshold that its spending has reached (`ThresholdReached`): once a second those whose row says that the notice
 * was not sent. The row is marked when the Budget has committed what it made of the message, or is gone; the Budget knows a repeat by the
 * thresholds in its status. I10: at most MOST at once; no round begins before the last has ended.
 */
import type { ProjectionRows, ReachedThreshold } from '../../storage/ledger/projection.js';
import type { MessageRouter } from '../message-router.js';
import { within } from '../../src/deadline.js';
import { abortable } from '../wait.js';
import { tick } from './ticker.js';

const EVERY_MS = 1_000;
const MOST = 200;
/** Longest wait for the Budgets of a round (ms). One that takes longer hears of it again. */
const WAIT_MS = 10_000;

export interface NoticeDeps {
  readonly rows: Pick<ProjectionRows, 'unnoticed' | 'noticed'>;
  readonly send: MessageRouter['send'];
  onProblem(message: string): void;
}

/** Goes on until `stopping` is aborted; resolves then. */
export function sendNotices({ rows, send, onProblem }: NoticeDeps, stopping: AbortSignal): Promise<void> {
  /** The threshold, when its notice has arrived. */
  async function notify(reached: ReachedThreshold, signal: AbortSignal): Promise<ReachedThreshold | undefined> {
    const { org, budget, name, period, threshold } = reached;
    if (name === undefined) return reached;
    const address = { org, kind: 'Budget', project: '', name };
    const sent = send(address, budget, { type: 'ThresholdReached', period, threshold });
    const delivery = await abortable(sent, signal).catch(() => 'Retry');
    return delivery === 'Done' || delivery === 'Absent' ? reached : undefined;
  }

  async function round(): Promise<void> {
    const reached = await rows.unnoticed(MOST);
    if (reached.length === 0) return;
    const arrived = await within(WAIT_MS, stopping, (signal) => Promise.all(reached.map((one) => notify(one, signal))));
    await rows.noticed(arrived.filter((one) => one !== undefined));
  }

  return tick({ every: EVERY_MS, round, onProblem }, stopping);
}
