/**
 * Owns the tree of nact actors: system → supervisor per kind → passive shard parents → one actor per object.
 * Parents get no messages at all (nact copies a parent's children at each message it handles), so fanning out is free.
 *
 * nact's own crash policies are not used: the resource actor catches everything itself, and `onCrash` here is only the
 * last net, which resumes and reports the class of the error (its default would print whole messages, I11).
 */
import { dispatch, spawnStateless, start, stop, type Ref as NactRef } from 'nact';
import type { Address } from '../src/api/address.js';
import { addressKey } from '../src/api/address.js';

/** Passive parents per kind. 64 keeps each children map small at 100,000 live actors of one kind. */
const SHARDS_PER_KIND = 64;

/** An actor of the tree: `wake` makes it run once more after the message loop has turned. */
export interface Spawned {
  wake(): void;
  stop(): void;
}

export interface ActorTree {
  /** `run` is called once per wake-up, strictly one after another. */
  spawn(address: Address, run: () => Promise<void>): Spawned;
  close(): void;
}

export function openActorTree(onLeak: (errorClass: string) => void): ActorTree {
  const system = start('troupe');
  const shards = new Map<string, NactRef<never>[]>();
  let sequence = 0;

  function shardsOf(kind: string): NactRef<never>[] {
    const known = shards.get(kind);
    if (known) return known;
    const supervisor = spawnStateless(system, () => undefined, kind);
    const parents = Array.from({ length: SHARDS_PER_KIND }, (_, index) =>
      spawnStateless(supervisor, () => undefined, `shard-${index}`),
    );
    shards.set(kind, parents);
    return parents;
  }

  return {
    spawn(address, run) {
      const parents = shardsOf(address.kind);
      const parent = parents[hash(addressKey(address)) % parents.length];
      if (parent === undefined) throw new Error('no shard parent');
      // A running number, not the uid: a create is routed before its uid counts, and names refuse `/` and `:`.
      sequence += 1;
      const ref = spawnStateless(
        parent,
        async (_wake: true) => {
          try {
            await run();
          } catch (error) {
            onLeak(error instanceof Error ? error.name : typeof error);
          }
        },
        `a${sequence}`,
      );
      return { wake: () => dispatch(ref, true), stop: () => stop(ref) };
    },
    close: () => stop(system),
  };
}

/** FNV-1a: spreads names that differ in their last characters only. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
