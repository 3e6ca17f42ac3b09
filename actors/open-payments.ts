/** Opens what buys and pays back credits, and what tells Wallets their balance. Precondition: the objects are open. */
import { WALLET_ADDRESS } from '../src/kinds/wallet/address.js';
import type { ActorsDeps } from './deps.js';
import type { ObjectsPart } from './open-objects.js';
import { openBalances } from './payments/balances.js';
import { openLanding } from './payments/landing.js';
import { reconcile } from './payments/reconciler.js';
import { openRefunds } from './payments/refund.js';
import type { Payments } from './payments/service.js';
import { openSettlements, type Settle } from './payments/settlements.js';

export type PaymentsPart = ReturnType<typeof openPayments>;

const NO_SETTLE: Settle = () => Promise.resolve('Later');

export function openPayments(
  { payments: { processor, desk, purchases, balances }, clock, observe, stopping }: ActorsDeps,
  { router }: Pick<ObjectsPart, 'router'>,
) {
  const onProblem = (message: string): void => observe.problem('the payments', message);
  const settle =
    processor === undefined
      ? NO_SETTLE
      : openSettlements({ processor, purchases, send: router.send, clock, stopping, onProblem });
  const told = openBalances({
    ...{ balances, deliver: router.deliver },
    onProblem: (message) => onProblem(`Wallets are not told their balance: ${message}`),
  });
  const refund =
    processor === undefined
      ? () => Promise.resolve({ outcome: 'NotConfigured' } as const)
      : openRefunds(processor, purchases, settle);
  const service: Payments = {
    processor: processor?.name,
    desk,
    settle: async (purchase, signal) => (await settle(purchase, signal)) === 'Settled',
    landing: openLanding(purchases, settle, router.send),
    async notice(body, signature, signal) {
      if (processor?.notice === undefined) return { outcome: 'Refused', message: 'this service takes no webhooks' };
      const notice = await processor.notice(body, signature, clock(), signal);
      switch (notice.outcome) {
        case 'Refused':
          return notice;
        case 'Unreachable':
          onProblem(notice.message);
          return { outcome: 'Later' };
        case 'Ignored':
          return { outcome: 'Taken' };
        case 'Changed': {
          const settled = await Promise.all(notice.purchases.map((purchase) => settle(purchase, signal)));
          return { outcome: settled.every((one) => one === 'Settled') ? 'Taken' : 'Later' };
        }
      }
    },
    refund,
    storageFull(org, quotaBytes) {
      const to = { org, ...WALLET_ADDRESS };
      const from = { address: to, uid: '', version: 0 };
      const content = { type: 'StorageFull', quotaBytes } as const;
      void router.deliver(to, undefined, { type: 'MessageReceived', from, content });
    },
  };
  return {
    ...{ service, settle, processor, askBalance: told.ask },
    /** Goes on until `stopping` is aborted. */
    start(): void {
      void told.run(stopping);
      if (processor !== undefined)
        void reconcile(
          {
            ...{ processor, purchases, settle },
            onProblem: (message) => onProblem(`what has changed at the processor is not known: ${message}`),
          },
          stopping,
        );
    },
  };
}
