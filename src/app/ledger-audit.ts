/** The auditor of this deployment's ledger: what it reads, its pace, and what `/ops/v1` and `/readyz` say of it. */
import { openAuditor, type Auditor } from '../../actors/money/auditor.js';
import type { LedgerAudits } from '../../http/deps.js';
import { openAuditedLedger } from '../../storage/ledger/audited.js';
import { rfc3339 } from '../api/time.js';
import type { LeaderDeps } from './leader.js';

export function startAuditor({ config, store, metrics }: LeaderDeps, stopping: AbortSignal): Auditor {
  return openAuditor(
    {
      ledger: openAuditedLedger(store.postgres),
      every: config.ledgerAuditSeconds * 1_000,
      now: store.clock,
      onProblem: (message) => metrics.observe.problem('the ledger', message),
    },
    stopping,
  );
}

export function showAudits(auditor: Auditor): LedgerAudits {
  return {
    state() {
      const { running, lastPass, findings } = auditor.view();
      if (lastPass === undefined) return { running, findings };
      const { startTime, endTime, ...counts } = lastPass;
      return { running, lastPass: { startTime: rfc3339(startTime), endTime: rfc3339(endTime), ...counts }, findings };
    },
    request: () => auditor.request(),
  };
}

/** For `/readyz`: a person has to look, and requests are served meanwhile. */
export function differences(auditor: Pick<Auditor, 'view'>): readonly string[] {
  const found = auditor.view().lastPass?.findings ?? 0;
  return found === 0 ? [] : [`${found} things differ in the ledger: GET /ops/v1/ledger lists them`];
}
