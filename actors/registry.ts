/**
 * Owns which addresses have an actor in this process, and routes to them: at most one per address, spawned by the first
 * item and let go when idle. Knows nothing of what an item means.
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
    /** Neither book nor life of its own: let go as soon as nothing waits. */
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
    const queued = new Entry(key, address, kind);
    entries.set(key, queued);
    return queued;
  }

  return {
    deliver(address, item) {
      const key = addressKey(address);
      const queued = entries.get(key) ?? spawn(key, address);
      if (!queued.actor.mailbox.push(item)) return false;
      if (!queued.awake && !queued.actor.busy) {
        queued.awake = true;
        queued.lent.wake();
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
      for (const queued of entries.values()) {
        const { actor } = queued;
        if (actor.busy || queued.awake || actor.mailbox.size > 0 || !actor.disposable) continue;
        if (actor.lastUsed > before) continue;
        queued.release();
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
