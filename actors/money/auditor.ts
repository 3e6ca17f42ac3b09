/**
 * Audits the ledger all the time: a pass over all orgs, one after the other, a pause, and so on. What differs is kept for operators to
 * read, counted, and logged once a pass. It changes nothing and stops nothing: a difference is a fault of this program that a person has
 * to look at. One statement at a time, so it takes one of the connections for reads. I10: at most MOST_KEPT findings are kept; all count.
 */
import type { LedgerFinding } from '../../storage/ledger/audit.js';
import type { AuditedLedger } from '../../storage/ledger/audited.js';
import { delay } from '../wait.js';

/** From the start to the first pass (ms): a start has more urgent reads. */
const FIRST_MS = 60_000;
const PAGE = 100;
const MOST_KEPT = 100;

export type OrgFinding = LedgerFinding & { readonly org: string };

export interface AuditPass {
  /** ms. */
  readonly startTime: number;
  readonly endTime: number;
  readonly orgs: number;
  /** Lines of double entry that it went over. */
  readonly lines: number;
  /** Orgs whose ledger could not be read. */
  readonly unread: number;
  /** How many things differ. */
  readonly findings: number;
}

export interface AuditorView {
  readonly running: boolean;
  /** The last whole one; absent: there was none since this process became the active one. */
  readonly lastPass?: AuditPass | undefined;
  /** Of that pass, the first ones. */
  readonly findings: readonly OrgFinding[];
}

export interface Auditor {
  view(): AuditorView;
  /** A pass begins now, or after the one that is under way. */
  request(): void;
}

export interface AuditorDeps {
  readonly ledger: AuditedLedger;
  /** Between two passes (ms). */
  readonly every: number;
  now(): number;
  onProblem(message: string): void;
}

/** Goes on until `stopping` is aborted. */
export function openAuditor({ ledger, every, now, onProblem }: AuditorDeps, stopping: AbortSignal): Auditor {
  let view: AuditorView = { running: false, findings: [] };
  let requested = new AbortController();

  async function pass(): Promise<void> {
    const startTime = now();
    const kept: OrgFinding[] = [];
    let [orgs, lines, unread, findings] = [0, 0, 0, 0];
    for await (const org of allOrgs(ledger)) {
      if (stopping.aborted) return;
      try {
        const found = await ledger.findings(org);
        lines += await ledger.lines(org);
        findings += found.length;
        kept.push(...found.slice(0, MOST_KEPT - kept.length).map((finding) => ({ org, ...finding })));
        orgs += 1;
      } catch (error) {
        if (unread === 0) onProblem(`an org could not be audited: ${messageOf(error)}`);
        unread += 1;
      }
    }
    view = { running: true, lastPass: { startTime, endTime: now(), orgs, lines, unread, findings }, findings: kept };
    if (findings > 0) onProblem(`${findings} things differ in an audit; GET /ops/v1/ledger lists them`);
  }

  async function run(): Promise<void> {
    for (let pause = Math.min(FIRST_MS, every); ; pause = every) {
      await delay(pause, AbortSignal.any([stopping, requested.signal]));
      if (stopping.aborted) return;
      requested = new AbortController();
      view = { ...view, running: true };
      await pass().catch((error: unknown) => {
        if (!stopping.aborted) onProblem(`the audit could not be done: ${messageOf(error)}`);
      });
      view = { ...view, running: false };
    }
  }

  void run();
  return { view: () => view, request: () => requested.abort() };
}

async function* allOrgs(ledger: Pick<AuditedLedger, 'orgs'>): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const orgs = await ledger.orgs(after, PAGE);
    yield* orgs;
    const last = orgs.at(-1);
    if (last === undefined || orgs.length < PAGE) return;
    after = last;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'failed';
}
