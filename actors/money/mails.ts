/**
 * Mails the notices of Budgets: once a second it makes the mails of thresholds that were reached, sends those that are due, and tells each
 * Budget what became of them. Without a mail server thresholds get no mails, also not later.
 *
 * A mail is claimed before it is sent, and ended after it, so it is sent once unless the process ends between the two or the server's last
 * reply is lost; then it is sent again, with the same Message-ID. A try that did not work is made again after a minute, doubling to an
 * hour, MOST_TRIES times in all, which is about seven hours; what the server refuses for good has ended.
 *
 * I10: at most AT_ONCE mails are under way, WAITING wait, and an org is sent ORG_DAILY in a day; the next fail and say so, since recipients
 * are whom users name. No round begins before the last has ended.
 */
import type { MailEngine, MailOutcome } from '../../src/engines/mail/engine.js';
import { within } from '../../src/deadline.js';
import { noticeMail } from '../../src/kinds/budget/notice-mail.js';
import type { DueMail, EndedMails, MailBounds, MailEnd, MailRows } from '../../storage/ledger/mails.js';
import type { MessageRouter } from '../message-router.js';
import { abortable } from '../wait.js';
import { tick } from './ticker.js';

const EVERY_MS = 1_000;
const AT_ONCE = 8;
const BOUNDS: MailBounds = { thresholds: 50, waiting: 10_000, orgDaily: 1_000 };
const MOST_SKIPPED = 1_000;
const MOST_ENDED = 100;
const MOST_TRIES = 12;
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;
/** Longer than a mail may take: what another process has claimed is not sent beside it. */
const CLAIM_MS = 5 * 60_000;
/** Longest wait for the Budgets of a round (ms). One that takes longer hears of it again. */
const TELL_WITHIN_MS = 10_000;

export interface MailDeps {
  readonly rows: MailRows;
  /** Absent: no mail is sent. */
  readonly engine: MailEngine | undefined;
  readonly send: MessageRouter['send'];
  onOutcome(phase: MailEnd['phase']): void;
  onProblem(message: string): void;
}

/** Goes on until `stopping` is aborted; resolves when what is under way then has ended. */
export function sendMails(deps: MailDeps, stopping: AbortSignal): Promise<void> {
  const { rows, engine, send, onOutcome, onProblem } = deps;
  /** Whether Budgets may have something to hear. True at first: of a process before this one. */
  let untold = true;
  /** The server does not work; it was said. */
  let failing = false;

  /** Never rejects. What cannot be noted down is sent again when its claim has run out. */
  async function deliver(mail: DueMail, to: MailEngine): Promise<void> {
    try {
      const outcome = await trySend(mail, to);
      if (outcome.outcome === 'Retry' && !failing) onProblem(`a mail could not be sent: ${outcome.message}`);
      failing = outcome.outcome === 'Retry';
      const end = endOf(outcome, mail.tries);
      onOutcome(end.phase);
      untold ||= end.phase !== 'Waiting';
      await rows.endMail(mail, end);
    } catch (error) {
      onProblem(error instanceof Error ? error.message : 'failed');
    }
  }

  /** The mails, when their Budget has heard of them. */
  async function tell(ended: EndedMails, signal: AbortSignal): Promise<EndedMails | undefined> {
    const { org, budget, name, period, threshold, sent, failed, error } = ended;
    if (name === undefined) return ended;
    const message = { type: 'NoticeMailed', ...{ period, threshold, sent, failed, error } } as const;
    const delivery = send({ org, kind: 'Budget', project: '', name }, budget, message);
    const arrived = await abortable(delivery, signal).catch(() => 'Retry');
    return arrived === 'Done' || arrived === 'Absent' ? ended : undefined;
  }

  async function tellBudgets(): Promise<void> {
    if (!untold) return;
    const ended = await rows.endedMails(MOST_ENDED);
    const answers = await within(TELL_WITHIN_MS, stopping, (signal) =>
      Promise.all(ended.map((one) => tell(one, signal))),
    );
    const told = answers.filter((one) => one !== undefined);
    await rows.toldMails(told);
    untold = ended.length === MOST_ENDED || told.length < ended.length;
  }

  async function round(): Promise<void> {
    if (engine === undefined) {
      await rows.skipMails(MOST_SKIPPED);
      return;
    }
    untold = (await rows.makeMails(BOUNDS)) > 0 || untold;
    let due: readonly DueMail[];
    do {
      due = await rows.claimMails(AT_ONCE, CLAIM_MS);
      await Promise.all(due.map((mail) => deliver(mail, engine)));
    } while (due.length === AT_ONCE && !failing && !stopping.aborted);
    await tellBudgets();
  }

  return tick({ every: EVERY_MS, round, onProblem }, stopping);
}

/** A process that ends in its last try leaves a mail that has had all of them. */
function trySend(mail: DueMail, to: MailEngine): Promise<MailOutcome> {
  if (mail.tries > MOST_TRIES) return Promise.resolve({ outcome: 'Retry', message: 'it has had all its tries' });
  return to.send({ id: mail.id, to: mail.recipient, ...noticeMail(mail) });
}

/** What the server says of the recipient is the Budget's to know; why the service does not reach the server is not. */
function endOf(outcome: MailOutcome, tries: number): MailEnd {
  switch (outcome.outcome) {
    case 'Sent':
      return { phase: 'Sent' };
    case 'Refused':
      return { phase: 'Failed', error: `the mail server answers: ${outcome.message}` };
    case 'Retry':
      if (tries >= MOST_TRIES) return { phase: 'Failed', error: `the mail server did not take it in ${tries} tries` };
      return { phase: 'Waiting', afterMs: Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) };
  }
}
