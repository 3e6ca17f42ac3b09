/**
 * A TopUp, its CreditGrants, the Wallet and the org's book, without storage: messages wait until the test delivers them, any number of times,
 * as effects that are carried out at least once do. Whatever is stored is stored in the commit of its decision.
 */
import type { ApiObject } from '../../../src/api/object.js';
import type { Effect, LaterEffect } from '../../../src/kinds/effect.js';
import { creditGrantMachine } from '../../../src/kinds/creditgrant/machine.js';
import type { Machine, Message } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { topUpMachine } from '../../../src/kinds/topup/machine.js';
import type { Payment } from '../../../src/kinds/topup/payment.js';
import type { TopUpSpec, TopUpStatus } from '../../../src/kinds/topup/schema.js';
import type { TopUpPrivate } from '../../../src/kinds/topup/state.js';
import { walletMachine } from '../../../src/kinds/wallet/machine.js';
import type { WalletSpec, WalletStatus } from '../../../src/kinds/wallet/schema.js';
import type { WalletPrivate } from '../../../src/kinds/wallet/state.js';
import { applyOperation } from '../../../src/money/apply.js';
import { balanceOf, EMPTY_BOOK, openBook } from '../../../src/money/book.js';

export const NOW = Date.UTC(2026, 10, 12, 12);
const ORG = 'acme';
const BASE = 'https://127.0.0.1:8443';

type Stored<Spec, Status, Private> = { object: ApiObject<Spec, Status>; private: Private | undefined };
type AnyMachine = Machine<never, never, never, undefined, never>;

export function openWorld(spec: Partial<TopUpSpec> = {}) {
  const book = openBook(EMPTY_BOOK);
  applyOperation(book, { op: 'SetMode', mode: 'Prepaid' }, NOW);
  const events: { readonly event: string; readonly message: string }[] = [];
  const later: LaterEffect[] = [];
  const timers = new Map<string, number>();
  const grants = new Map<string, string>();
  let now = NOW;
  let made = 0;

  const topUp: Stored<TopUpSpec, TopUpStatus, TopUpPrivate> = {
    object: stored('TopUp', 'first', { amountUSD: '20.00', ...spec }, {}),
    private: undefined,
  };
  const wallet: Stored<WalletSpec, WalletStatus, WalletPrivate> = {
    object: stored('Wallet', 'wallet', {}, {}),
    private: undefined,
  };

  const context = () => ({
    ...{ now, uid: () => `uid-${(made += 1)}`, randomBytes: (length: number) => new Uint8Array(length).fill(7) },
    endpoints: { base: BASE, pages: BASE },
  });

  function carryOut(effects: readonly Effect[]): void {
    for (const effect of effects)
      switch (effect.type) {
        case 'Money': {
          const { outcome } = applyOperation(book, effect.operation, now);
          if (outcome === 'DuplicateKey' || outcome === 'Refused') throw new Error(`money said ${outcome}`);
          break;
        }
        case 'Emit':
          events.push({ event: effect.event, message: effect.message });
          break;
        case 'ArmTimer':
          timers.set(effect.timer, effect.at);
          break;
        case 'CancelTimer':
          timers.delete(effect.timer);
          break;
        default:
          later.push(effect as LaterEffect);
      }
  }

  function decide(of: Stored<unknown, unknown, unknown>, machine: unknown, message: Message): string {
    const kind = of.object.kind;
    const address = { org: ORG, kind, project: '', name: of.object.metadata.name };
    const here = { address, object: of.object, private: of.private };
    const decision = (machine as AnyMachine).decide(here as never, undefined, message as never, context());
    if (decision.outcome !== 'Next') return decision.outcome;
    const next = decision as { status: unknown; spec?: unknown; private?: unknown; effects: readonly Effect[] };
    of.object = { ...of.object, status: next.status, ...(next.spec !== undefined && { spec: next.spec }) };
    if (next.private !== undefined) of.private = next.private;
    carryOut(next.effects);
    return 'Next';
  }

  const received = (content: ObjectMessage, from = { kind: 'TopUp', name: 'first', uid: 'topup' }): Message => ({
    type: 'MessageReceived',
    from: { address: { org: ORG, kind: from.kind, project: '', name: from.name }, uid: from.uid, version: 1 },
    content,
  });

  /** The CreditGrant is made once; a repeat is answered how it stands. */
  function makeGrant({ name, spec: asked }: Extract<LaterEffect, { type: 'CreateChild' }>): void {
    if (!grants.has(name)) {
      const uid = `grant-${name}`;
      grants.set(name, uid);
      const grant = { object: stored('CreditGrant', name, asked, { phase: 'Active' }, uid), private: undefined };
      decide(grant, creditGrantMachine, { type: 'Created' });
    }
    const uid = grants.get(name) ?? '';
    const content = { type: 'ChildChanged', uid, phase: 'Active', reason: '', message: '', generation: 1 } as const;
    decide(topUp, topUpMachine, received(content, { kind: 'CreditGrant', name, uid }));
  }

  const world = {
    ...{ book, events, timers, topUp, wallet, grants },
    create: (): string => decide(topUp, topUpMachine, { type: 'Created' }),
    at(time: number) {
      now = time;
    },
    waiting: () => later,
    tell: (content: ObjectMessage): string => decide(topUp, topUpMachine, received(content)),
    toWallet: (message: Message): string => decide(wallet, walletMachine, message),
    received,
    fire: (timer: string): string => decide(topUp, topUpMachine, { type: 'TimerFired', timer, generation: 1 }),
    fail: (effect: LaterEffect): string =>
      decide(topUp, topUpMachine, { type: 'EffectFailed', effect, reason: 'RetriesExhausted', message: 'away' }),
    opened: (id = 'cs_1'): string =>
      world.tell({ type: 'CheckoutOpened', attempt: 1, id, url: `https://pay/${id}`, expires: NOW + 3_600_000 }),
    changed: (payment: Payment, id = 'cs_1'): string =>
      world.tell({ type: 'PaymentChanged', source: { type: 'Checkout', id }, payment }),
    /** Carries out what waits, in order; `twice`: as after a crash before the note that it was done. */
    settle(twice = false) {
      for (let effect = later.shift(); effect !== undefined; effect = later.shift())
        for (let time = 0; time < (twice ? 2 : 1); time++) {
          if (effect.type === 'CreateChild' && effect.kind === 'CreditGrant') makeGrant(effect);
          else if (effect.type === 'Tell' && effect.to.kind === 'Wallet')
            decide(wallet, walletMachine, received(effect.message));
        }
    },
    balance: (): string => balanceOf(book).toFixed(),
    eventNames: (): string[] => events.map(({ event }) => event),
  };
  decide(wallet, walletMachine, { type: 'Created' });
  return world;
}

function stored<Spec, Status>(
  kind: string,
  name: string,
  spec: Spec,
  status: Status,
  uid = kind.toLowerCase(),
): ApiObject<Spec, Status> {
  const metadata = { name, uid, creationTimestamp: new Date(NOW).toISOString(), generation: 1, resourceVersion: '1' };
  return { apiVersion: 'troupe.dev/v1', kind, metadata, spec, status };
}

export const paid = (more: Partial<Extract<Payment, { state: 'Paid' }>> = {}): Extract<Payment, { state: 'Paid' }> => ({
  ...{ state: 'Paid', payment: 'pi_1', amountUSD: '20.00', time: NOW, refunds: [], disputes: [] },
  ...more,
});
