/**
 * A ledger to measure without HTTP and without objects: storage and its committer in this process, on an embedded Postgres of its own with the
 * settings that the service gives it. One org that pays in advance, with five Budgets that match everything.
 */
import { openEmbeddedPostgres } from '../../src/app/postgres/embedded.js';
import type { Terms } from '../../src/money/hold.js';
import type { BudgetLimit } from '../../src/money/limits.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import type { Committer } from '../../storage/commit/request.js';
import { openStore } from '../../storage/open.js';
import type { Postgres } from '../../storage/postgres.js';
import { newDataDir, removeDataDir, secondsBelow } from './service.js';

export const ORG = 'bench';
/** More than all of it uses. */
const PLENTY = '10000000000';

export interface LedgerFixture {
  readonly url: string;
  readonly postgres: Postgres;
  readonly committer: Committer;
  /** Throws unless each was applied. */
  apply(...operations: readonly MoneyOperation[]): Promise<readonly OperationResult[]>;
  /** Processor time so far (s): of this process, and of Postgres. */
  processor(): Promise<{ readonly own: number; readonly postgres: number }>;
  close(): Promise<void>;
}

export async function openLedgerFixture(): Promise<LedgerFixture> {
  const dir = await newDataDir();
  const signal = AbortSignal.timeout(60_000);
  const server = await openEmbeddedPostgres({ dataDir: dir, log: () => undefined, signal });
  const plain = (_: readonly string[], bytes: Buffer): Buffer => bytes;
  const store = await openStore({ url: server.url, seal: plain, open: plain });
  const lease = await store.acquire({ holder: 'bench', poll: 20 }, signal);
  const committer = await store.openCommitter({
    ...{ lease, publish: () => undefined, onFenced: () => undefined, objectsPerOrg: 1_000_000 },
  });
  const apply: LedgerFixture['apply'] = async (...operations) => {
    const answer = await committer.ledger(ORG, operations);
    if (answer.outcome !== 'Committed') throw new Error(JSON.stringify(answer));
    const failed = answer.results.find(({ outcome }) => outcome !== 'Applied');
    if (failed !== undefined) throw new Error(JSON.stringify(failed));
    return answer.results;
  };
  await apply({ op: 'SetMode', mode: 'Prepaid' }, { op: 'Credit', grant: 'plenty', amountUSD: PLENTY });
  await apply(...BUDGETS.map((budget) => ({ op: 'SetBudget', budget }) as const));
  return {
    ...{ url: server.url, postgres: store.postgres, committer, apply },
    async processor() {
      const { user, system } = process.cpuUsage();
      return { own: (user + system) / 1e6, postgres: await secondsBelow(server.pid()) };
    },
    async close() {
      await committer.close();
      await lease.release();
      await store.close();
      await server.close();
      await removeDataDir(dir);
    },
  };
}

const LIMIT = { limitUSD: PLENTY, action: 'Block', thresholds: [50, 80, 100] } as const;
export const BUDGETS: readonly BudgetLimit[] = [
  { ...LIMIT, uid: 'b-1', name: 'all', period: 'Monthly' },
  { ...LIMIT, uid: 'b-2', name: 'for-good', period: 'Total' },
  { ...LIMIT, uid: 'b-3', name: 'project', period: 'Monthly', project: 'default' },
  { ...LIMIT, uid: 'b-4', name: 'team', period: 'Monthly', selector: 'team=search' },
  { ...LIMIT, uid: 'b-5', name: 'team-for-good', period: 'Total', selector: 'team in (search,ads),!free' },
];

export const TERMS: Terms = {
  ...{ rateUSDPerHour: '0.36', incrementMs: 1, minimumUSD: '0.000001', unitMs: 60_000, reserveMs: 60_000 },
};

/** By an object of its own. */
export function placeOf(uid: string, more: { readonly replaces?: string } = {}): MoneyOperation {
  const owner = { uid, kind: 'Attempt', project: 'default', name: uid };
  const payer = { project: 'default', labels: { team: 'search', app: 'bench' }, costs: [owner] };
  return { op: 'Place', key: uid, owner, payer, terms: TERMS, ...more };
}

export function settleOf(uid: string): readonly MoneyOperation[] {
  return [
    { op: 'Bill', key: uid, segment: 'Running', from: 0 },
    { op: 'Release', key: uid },
  ];
}
