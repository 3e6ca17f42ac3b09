/**
 * Owns which addresses have an actor in this process, and routes to them: at most one per address, spawned by the first
 * item and let go when idle. Knows nothing of what an item means.
 */
import { addressKey, type Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { Item } from './mailbox.js';
import { openResourceActor, type ResourceActor, type RunDeps } from './resource/actor.js';
import type { ActorTree, Spawned } from './system.js';

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

interface Entry {
  readonly actor: ResourceActor;
  readonly spawned: Spawned;
  awake: boolean;
}

export function openRegistry(
  tree: ActorTree,
  kindOf: (name: string) => KindDefinition | undefined,
  deps: RunDeps,
): Registry {
  const entries = new Map<string, Entry>();

  function spawn(key: string, address: Address): Entry {
    const kind = kindOf(address.kind);
    if (!kind) throw new Error(`no kind ${address.kind}`);
    const actor = openResourceActor(address, kind, deps);
    const plain = kind.machine.isTerminal === undefined && kind.machine.book === undefined;
    const spawned = tree.spawn(address, async () => {
      entry.awake = false;
      await actor.run();
      // Same turn as the empty mailbox was seen: nothing can have come between.
      if (plain && actor.mailbox.size === 0) release(key, entry);
    });
    const entry: Entry = { actor, spawned, awake: false };
    entries.set(key, entry);
    return entry;
  }

  function release(key: string, entry: Entry): void {
    entries.delete(key);
    entry.spawned.stop();
  }

  return {
    deliver(address, item) {
      const key = addressKey(address);
      const entry = entries.get(key) ?? spawn(key, address);
      if (!entry.actor.mailbox.push(item)) return false;
      if (!entry.awake && !entry.actor.busy) {
        entry.awake = true;
        entry.spawned.wake();
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
      for (const [key, entry] of entries) {
        const { actor } = entry;
        if (actor.busy || entry.awake || actor.mailbox.size > 0 || !actor.disposable) continue;
        if (actor.lastUsed > before) continue;
        release(key, entry);
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
