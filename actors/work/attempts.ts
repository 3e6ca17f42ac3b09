/**
 * Remembers which Attempts may have work on the engine, by uid: what the engine reports is addressed by uid alone.
 * Filled when work is started and, after a restart, from the Attempts in storage that hold a place.
 *
 * I8: work is named `<attempt uid>.<epoch>`.
 *
 * I10: as many entries as there is live work, and the last `MAX_ENDED` that ended, so that a report which was overtaken
 * by the end of its work is recognised as late and not as work without an Attempt.
 */
import { LRUCache } from 'lru-cache';
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Objects } from '../../storage/store.js';
import { atMost } from '../../src/lru-bound.js';

export const ATTEMPT = 'Attempt';

export type FoundAttempt =
  | { readonly found: 'Live'; readonly address: Address; readonly epoch: number }
  /** It had its end already: the report is late. */
  | { readonly found: 'Ended' }
  /** The Attempt no longer exists. */
  | { readonly found: 'None' };

/** An Attempt that was under way when this process began. */
export interface Recalled {
  readonly uid: string;
  readonly address: Address;
  readonly epoch: number;
}

export interface Attempts {
  begin(uid: string, address: Address, epoch: number): void;
  end(uid: string): void;
  find(uid: string): FoundAttempt;
  /** `held`: Attempts that something outside of the service holds. Answers those whose work should be on the engine. */
  recall(
    held: readonly Address[],
    store: { readonly objects: Pick<Objects, 'read'> },
    stopping: AbortSignal,
  ): Promise<readonly Recalled[]>;
}

const MAX_ENDED = 20_000;

export function openAttempts(): Attempts {
  const live = new Map<string, { readonly address: Address; readonly epoch: number }>();
  const ended = new LRUCache<string, true>(atMost(MAX_ENDED));
  return {
    begin: (uid, address, epoch) => void live.set(uid, { address, epoch }),
    end(uid) {
      live.delete(uid);
      ended.set(uid, true);
    },
    find(uid) {
      const known = live.get(uid);
      if (known) return { found: 'Live', ...known };
      return { found: ended.has(uid) ? 'Ended' : 'None' };
    },
    async recall(held, { objects }, stopping) {
      const working: Recalled[] = [];
      for (const address of held) {
        if (stopping.aborted) break;
        const stored = await objects.read(address);
        if (!stored) continue;
        const attempt = decodeObject(stored.body) as ApiObject<{ epoch: number }, { phase?: string }>;
        const { epoch } = attempt.spec;
        live.set(stored.uid, { address, epoch });
        const { phase } = attempt.status;
        if (phase !== 'Provisioning' && phase !== 'Running') continue;
        working.push({ uid: stored.uid, address, epoch });
      }
      return working;
    },
  };
}

export function workId(uid: string, epoch: number): string {
  return `${uid}.${epoch}`;
}

export function parseWorkId(id: string): { uid: string; epoch: number } {
  const dot = id.lastIndexOf('.');
  return { uid: id.slice(0, dot), epoch: Number(id.slice(dot + 1)) };
}

/** What the work of an Attempt is part of, such as a Job, at the epoch of the work. */
export interface WorkOwner {
  readonly address: Address;
  readonly uid: string;
  readonly epoch: number;
}

/** Undefined when the Attempt of this work has ended. */
export async function findOwner(
  work: string,
  attempts: Pick<Attempts, 'find'>,
  read: (address: Address) => Promise<Buffer | undefined>,
): Promise<WorkOwner | undefined> {
  const { uid, epoch } = parseWorkId(work);
  const attempt = attempts.find(uid);
  const body = attempt.found === 'Live' ? await read(attempt.address) : undefined;
  if (attempt.found !== 'Live' || body === undefined) return undefined;
  const references = decodeObject(body).metadata.ownerReferences ?? [];
  const owner = references.find(({ controller }) => controller === true) ?? references[0];
  return owner && { address: { ...attempt.address, kind: owner.kind, name: owner.name }, uid: owner.uid, epoch };
}
