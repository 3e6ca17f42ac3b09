/**
 * The actors of this process by address, and the delivery to them: at most one per address, spawned by the first item and let go when
 * idle. It knows nothing of what an item means.
 */
import { addressKey, type Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { Item } from './mailbox.js';
import { ResourceActor, type RunDeps } from './resource/actor.js';
import type { ActorTree, Lent, Runner } from './system.js';

export interface Registry {
  /** False when the mailbox is full; the caller then answers for the item. */
  deliver(address: Address, item: Item): boolean;
  get(address: Address): ResourceActor | undefined;
  /** Lets the actor of this address read its state anew with the item that is delivered next. */
  reset(address: Address): void;
  /** Lets go of every actor that has been idle since before `before` (ms). */
  passivate(before: number): number;
  actors(): IterableIterator<ResourceActor>;
  readonly size: number;
}

export function openRegistry(
  tree: ActorTree,
  kindOf: (name: string) => KindDefinition | undefined,
  deps: RunDeps,
): Registry {
  const entries = new Map<string, Entry>();

  class Entry implements Runner {
    readonly key: string;
    readonly actor: ResourceActor;
    readonly lent: Lent;
    /** Neither side state nor life of its own: let go as soon as nothing waits. */
    readonly plain: boolean;
    awake = false;

    constructor(key: string, address: Address, kind: KindDefinition) {
      this.key = key;
      this.actor = new ResourceActor(key, address, kind, deps);
      this.plain = kind.machine.isTerminal === undefined && kind.machine.sideState === undefined;
      this.lent = tree.lend(address.kind, this);
    }

    async run(): Promise<void> {
      this.awake = false;
      await this.actor.run();
      // Same turn as the empty mailbox was seen: nothing can have come between.
      if (this.plain && this.actor.mailbox.size === 0) this.release();
    }

    release(): void {
      entries.delete(this.key);
      tree.giveBack(this.lent);
    }
  }

  function spawn(key: string, address: Address): Entry {
    const kind = kindOf(address.kind);
    if (!kind) throw new Error(`no kind ${address.kind}`);
    const entry = new Entry(key, address, kind);
    entries.set(key, entry);
    return entry;
  }

  return {
    deliver(address, item) {
      const key = addressKey(address);
      const entry = entries.get(key) ?? spawn(key, address);
      if (!entry.actor.mailbox.push(item)) return false;
      if (!entry.awake && !entry.actor.busy) {
        entry.awake = true;
        entry.lent.wake();
      }
      return true;
    },
    get: (address) => entries.get(addressKey(address))?.actor,
    reset(address) {
      const key = addressKey(address);
      (entries.get(key) ?? spawn(key, address)).actor.reset();
    },
    passivate(before) {
      let released = 0;
      for (const entry of entries.values()) {
        const { actor } = entry;
        if (actor.busy || entry.awake || actor.mailbox.size > 0 || !actor.disposable) continue;
        if (actor.lastUsed > before) continue;
        entry.release();
        released += 1;
      }
      return released;
    },
    *actors() {
      for (const { actor } of entries.values()) yield actor;
    },
    get size() {
      return entries.size;
    },
  };
}
