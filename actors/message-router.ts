/**
 * Delivers internal messages: those between objects, timers, reports. A delivery resolves when the receiver has decided it and what it
 * changed is committed, so the caller knows when the stored message may be forgotten.
 */
import type { Address } from '../src/api/address.js';
import { toStorable } from '../src/api/safe-value.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { ObjectMessage } from '../src/kinds/object-message.js';
import type { Message } from '../src/kinds/machine.js';
import type { StoredEffects } from '../storage/store.js';
import { DONE, retry, wait, type EffectOutcome } from './effects/outcome.js';
import type { Delivery, Item } from './mailbox.js';

export interface MessageRouter {
  /** To the incarnation `uid`, or to any. */
  deliver(address: Address, uid: string | undefined, message: Message): Promise<Delivery>;
  /** A message of the service itself that no commit asked for: it comes from the object that it is for. */
  send(to: Address, uid: string, message: ObjectMessage): Promise<Delivery>;
  /** A stored message, as an effect's outcome. */
  tell(row: StoredEffects, to: Address, uid: string | undefined, message: ObjectMessage): Promise<EffectOutcome>;
}

/** Messages of a lease: their sender waits for an answer, so it gets `EffectFailed` when there is no receiver. Others need no reader. */
const WAITS: ReadonlySet<ObjectMessage['type']> = new Set([
  'LeaseWanted',
  'LeaseReturned',
  'LeaseGranted',
  'LeaseChecked',
]);

export function openMessageRouter(
  /** False when the mailbox is full. */
  push: (address: Address, item: Item) => boolean,
  kindOf: (name: string) => KindDefinition | undefined,
  now: () => number,
): MessageRouter {
  function deliver(to: Address, uid: string | undefined, message: Message): Promise<Delivery> {
    const kind = kindOf(to.kind);
    // An ownerReference may name a kind that is none: that message has no reader.
    if (!kind) return Promise.resolve('Absent');
    // A message to an owner is addressed from its child's project, and an org-level owner stands in none.
    const address = kind.scope === 'org' && to.project !== '' ? { ...to, project: '' } : to;
    // What engines, programs and registries said becomes part of a commit, which one text that cannot be stored would fail.
    const fromOutside = message.type === 'Reported' || message.type === 'EffectFailed';
    const stored = fromOutside ? toStorable(message) : message;
    return new Promise((resolve) => {
      const taken = push(address, { item: 'message', message: stored, uid, since: now(), settle: resolve });
      if (!taken) resolve('Retry'); // I10: a full mailbox leaves it with the sender
    });
  }

  return {
    deliver,
    send: (to, uid, message) =>
      deliver(to, uid, { type: 'MessageReceived', from: { address: to, uid, version: 0 }, content: message }),
    async tell(row, to, uid, message) {
      const from = { address: row.address, uid: row.uid, version: Math.max(0, row.version) };
      switch (await deliver(to, uid, { type: 'MessageReceived', from, content: message })) {
        case 'Done':
          return DONE;
        case 'Absent':
          return WAITS.has(message.type)
            ? { outcome: 'Failed', reason: 'NotFound', message: `${to.kind} "${to.name}" does not exist` }
            : DONE;
        case 'Parked':
          return wait(`${to.kind} "${to.name}" is parked`);
        case 'Dropped':
        case 'Retry':
          return retry(`${to.kind} "${to.name}" could not take the message`);
      }
    },
  };
}
