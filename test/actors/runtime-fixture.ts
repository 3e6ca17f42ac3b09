/** All actors over a real Postgres, with toy kinds, for the tests of the actors. */
import { setMaxListeners } from 'node:events';
import { openActors, type Actors } from '../../actors/open.js';
import { serviceRequest } from '../../actors/caller.js';
import type { WriteReply, WriteRequest } from '../../actors/resource-service.js';
import type { ComputeEngine } from '../../src/engines/compute/contract/engine.js';
import type { MailEngine } from '../../src/engines/mail/engine.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { apiKeyKind } from '../../src/kinds/apikey/index.js';
import { memberKind } from '../../src/kinds/member/index.js';
import { creditGrantKind } from '../../src/kinds/creditgrant/index.js';
import type { PublicEndpoints } from '../../src/kinds/machine.js';
import { topUpKind } from '../../src/kinds/topup/index.js';
import { walletKind } from '../../src/kinds/wallet/index.js';
import type { PaymentProcessor } from '../../src/engines/payments/processor.js';
import { namespaceKind } from '../../src/kinds/project/index.js';
import { serviceAccountKind } from '../../src/kinds/serviceaccount/index.js';
import type { MoneyOperation, OperationResult } from '../../src/money/operation.js';
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { openAdmissionSwitch } from '../../storage/admissions.js';
import type { Committer } from '../../storage/commit/request.js';
import { openLeaderRows } from '../../storage/ledger/leader-rows.js';
import { openStore, type Store } from '../../storage/open.js';
import { openPurchases } from '../../storage/payments/purchases.js';
import { openWalletBalances } from '../../storage/payments/wallet-balances.js';
import { openTimers } from '../../storage/queues/timers.js';
import { COUNTER } from './toy-kinds.js';

export interface RuntimeFixture {
  readonly actors: Actors;
  readonly store: Store;
  /** Carries out operations of the org's money, all of which the ledger has to take. */
  ledger(...operations: MoneyOperation[]): Promise<readonly OperationResult[]>;
  readonly crashes: { errorClass: string; parked: boolean }[];
  write(address: Address, write: Partial<WriteRequest> & { verb: string }): Promise<WriteReply>;
  make(name: string, spec?: unknown): Promise<WriteReply>;
  status(name: string): Promise<Record<string, unknown> | undefined>;
  /** Ends this process's part without any goodbye, as a crash would. */
  drop(): Promise<void>;
}

export const ORG = 'acme';

export const counterAt = (name: string): Address => ({ org: ORG, kind: 'Counter', project: 'default', name });

const KINDS: readonly KindDefinition[] = [
  ...[COUNTER, namespaceKind, serviceAccountKind, memberKind, apiKeyKind],
  ...[walletKind, topUpKind, creditGrantKind],
];
let holders = 0;

export async function openRuntime(
  url: string,
  settings: {
    mailboxLimit?: number;
    passivateAfterMs?: number;
    engine?: ComputeEngine;
    /** What takes its payments. */
    processor?: PaymentProcessor;
    /** Where browsers find it. */
    endpoints?: PublicEndpoints;
    /** What sends its mails. */
    mail?: MailEngine;
    cacheBytes?: number;
    /** Beside the usual ones. */
    kinds?: readonly KindDefinition[];
    /** Throws when storage is to be away for reads of books, waits when it is to hang. */
    beforeSlots?: () => void | Promise<void>;
  } = {},
): Promise<RuntimeFixture> {
  const store = await openStore({ url, seal: (_parts, plain) => plain, open: (_parts, sealed) => sealed });
  const stopping = new AbortController();
  // As in the service: every wait of the leader listens to it.
  setMaxListeners(0, stopping.signal);
  holders += 1;
  const lease = await store.acquire({ holder: `runtime-${holders}`, ttl: 2_000 }, stopping.signal);
  const crashes: RuntimeFixture['crashes'] = [];
  let committer: Committer | undefined;
  const actors = await openActors({
    kinds: [...KINDS, ...(settings.kinds ?? [])],
    clock: store.clock,
    objects: {
      ...store.objects,
      async slots(org, uid) {
        await settings.beforeSlots?.();
        return store.objects.slots(org, uid);
      },
    },
    log: store.changes,
    pending: store.pending,
    responses: store.responses,
    secrets: { open: async () => undefined, recognise: async () => [], seal: () => Buffer.alloc(0) },
    ledger: openLeaderRows(store.postgres),
    admissions: openAdmissionSwitch(store.postgres),
    abandonDeliveries: () => Promise.resolve(),
    forgetBlobs: () => Promise.resolve(),
    async openCommitter(publish) {
      committer = await store.openCommitter({ lease, publish, onFenced: () => undefined, objectsPerOrg: 1_000_000 });
      return committer;
    },
    openTimers: (fire) =>
      openTimers({
        store: store.pending,
        clock: store.clock,
        backend: { backend: 'postgres', url },
        fire,
        onError: () => undefined,
        signal: stopping.signal,
      }),
    engine: settings.engine,
    endpoints: settings.endpoints,
    mail: settings.mail && { engine: settings.mail, onOutcome: () => undefined },
    payments: {
      processor: settings.processor,
      purchases: openPurchases(store.postgres, store.objects),
      balances: openWalletBalances(store.postgres),
    },
    inputs: {
      mustFetch: () => false,
      stage: () => Promise.reject(new Error('none')),
      release: async () => undefined,
      adopt: async () => undefined,
    },
    keepOutput: () => Promise.reject(new Error('none')),
    onChange: () => undefined,
    settings: {
      cacheBytes: settings.cacheBytes ?? 64 * 2 ** 20,
      ringBytes: 8 * 2 ** 20,
      mailboxLimit: settings.mailboxLimit ?? 1_000,
      attemptsPerOrg: 10_000,
      mostOfKind: new Map(),
      orgMachinePercent: 100,
      unfundedGraceMs: 900_000,
      passivateAfterMs: settings.passivateAfterMs ?? 60_000,
    },
    stopping: stopping.signal,
    onFenced: () => stopping.abort(),
    observe: {
      crash: (_address, errorClass, parked) => void crashes.push({ errorClass, parked }),
      effect: () => undefined,
      problem: () => undefined,
    },
  });
  await actors.write(
    { org: ORG, kind: 'Namespace', project: '', name: 'default' },
    { verb: 'create', body: { metadata: { name: 'default' } } },
  );
  await actors.start();

  const write: RuntimeFixture['write'] = (address, asked) =>
    actors.resources.write(
      address,
      { ...serviceRequest(address.org, asked as never), ...asked } as WriteRequest,
      AbortSignal.timeout(20_000),
    );
  return {
    actors,
    store,
    crashes,
    async ledger(...operations) {
      const result = await committer?.ledger(ORG, operations);
      if (result?.outcome !== 'Committed') throw new Error(`the ledger did not commit: ${JSON.stringify(result)}`);
      return result.results;
    },
    write,
    make: (name, spec = {}) => write(counterAt(name), { verb: 'create', body: { metadata: { name }, spec } }),
    async status(name) {
      const body = await actors.resources.read(counterAt(name), AbortSignal.timeout(20_000));
      return body && (decodeObject(body).status as Record<string, unknown>);
    },
    async drop() {
      stopping.abort();
      await actors.close();
      await lease.release();
      await store.close();
    },
  };
}

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`it did not come true in 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
