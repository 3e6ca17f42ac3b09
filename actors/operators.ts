/** What an operator sees and may do: the tree of supervisors, crashes, restarts (`/ops/v1`; decisions, "Operators"). */
import { addressKey, type Address } from '../src/api/address.js';
import type { MessageRouter } from './message-router.js';
import type { Registry } from './registry.js';
import type { ResourceActor } from './resource/actor.js';
import type { Supervision } from './supervision.js';

export interface SupervisorView {
  readonly kind: string;
  readonly actors: number;
  /** Items that wait in all mailboxes. */
  readonly mailboxDepth: number;
  /** Age of the oldest item that waits or is in hand, in ms (I13). */
  readonly oldestMs: number;
  readonly restarts: number;
  readonly parked: number;
  readonly lastCrash?: { readonly time: number; readonly errorClass: string; readonly name: string } | undefined;
}

export interface ActorView {
  readonly address: Address;
  readonly live: boolean;
  readonly busy: boolean;
  readonly mailboxDepth: number;
  readonly oldestMs: number;
  readonly restarts: number;
  readonly parked: boolean;
  readonly errorClass?: string | undefined;
}

/** An object whose actor waits for an operator. */
export interface ParkedView {
  readonly address: Address;
  readonly restarts: number;
  readonly errorClass: string;
  /** Of the last crash: ms since the epoch. */
  readonly time: number;
}

export interface Operators {
  /** Parked objects of a kind in the order of their keys; `next` is the key to ask on from, when there are more. */
  parked(
    kind: string,
    limit: number,
    after?: string,
  ): { readonly items: readonly ParkedView[]; readonly next: string | undefined };
  supervisors(): readonly SupervisorView[];
  actor(address: Address): ActorView;
  /** Every live actor of the kind reads its state again; parked ones of the kind are tried again. Returns how many. */
  restartKind(kind: string): Promise<number>;
  restartActor(address: Address): Promise<void>;
}

export function openOperators(
  registry: Registry,
  supervision: Supervision,
  router: MessageRouter,
  now: () => number,
): Operators {
  const age = (actor: ResourceActor): number => {
    const since = actor.oldest();
    return since === undefined ? 0 : Math.max(0, now() - since);
  };

  async function restartActor(address: Address): Promise<void> {
    supervision.forgive(addressKey(address));
    registry.reset(address);
    await router.deliver(address, undefined, { type: 'Activated' });
  }

  return {
    supervisors() {
      const views = new Map<string, { -readonly [Key in keyof SupervisorView]: SupervisorView[Key] }>();
      const view = (kind: string) => {
        const known = views.get(kind);
        if (known) return known;
        const fresh = { kind, actors: 0, mailboxDepth: 0, oldestMs: 0, restarts: 0, parked: 0, lastCrash: undefined };
        views.set(kind, fresh);
        return fresh as { -readonly [Key in keyof SupervisorView]: SupervisorView[Key] };
      };
      for (const actor of registry.actors()) {
        const mine = view(actor.address.kind);
        mine.actors += 1;
        mine.mailboxDepth += actor.mailbox.size;
        mine.oldestMs = Math.max(mine.oldestMs, age(actor));
      }
      for (const [key, record] of supervision.records()) {
        const { kind, name } = partsOf(key);
        const mine = view(kind);
        mine.restarts += record.restarts;
        if (record.parked) mine.parked += 1;
        const time = record.times.at(-1) ?? 0;
        if (time > (mine.lastCrash?.time ?? 0)) mine.lastCrash = { time, errorClass: record.errorClass, name };
      }
      return [...views.values()].toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
    },
    parked(kind, limit, after = '') {
      const keys: string[] = [];
      for (const [key, record] of supervision.records())
        if (record.parked && key > after && partsOf(key).kind === kind) keys.push(key);
      const page = keys.toSorted().slice(0, limit);
      const items = page.flatMap((key): ParkedView[] => {
        const record = supervision.record(key);
        if (!record) return [];
        const { restarts, errorClass, times } = record;
        return [{ address: partsOf(key), restarts, errorClass, time: times.at(-1) ?? 0 }];
      });
      return { items, next: keys.length > limit ? page.at(-1) : undefined };
    },
    actor(address) {
      const actor = registry.get(address);
      const record = supervision.record(addressKey(address));
      return {
        address,
        live: actor !== undefined,
        busy: actor?.busy ?? false,
        mailboxDepth: actor?.mailbox.size ?? 0,
        oldestMs: actor ? age(actor) : 0,
        restarts: record?.restarts ?? 0,
        parked: record?.parked ?? false,
        errorClass: record?.errorClass,
      };
    },
    restartActor,
    async restartKind(kind) {
      const addresses = new Map<string, Address>();
      for (const actor of registry.actors()) {
        if (actor.address.kind === kind) addresses.set(addressKey(actor.address), actor.address);
      }
      for (const [key, record] of supervision.records()) {
        const address = partsOf(key);
        if (address.kind === kind && record.parked) addresses.set(key, address);
      }
      for (const address of addresses.values()) await restartActor(address);
      return addresses.size;
    },
  };
}

/** Back from `addressKey`. */
function partsOf(key: string): Address {
  const [org = '', kind = '', project = '', name = ''] = key.split('/');
  return { org, kind, project, name };
}
