/**
 * Bounds how many objects of some kinds an org may have, because each of them is met by much else of its org: each event has a delivery for each
 * WebhookEndpoint, and each hold a part on each Budget that it counts in. What is there stays.
 *
 * I10: creates that are under way count, so that a burst passes no bound.
 */
import type { Refusal } from '../../src/api/refusal.js';

export interface KindCaps {
  /** Takes a place for one more. To be left when the create has ended. */
  enter(kind: string, org: string): Promise<{ readonly refusal: Refusal | undefined; leave(): void }>;
}

/** `count`: of the objects of a kind that an org has. */
export function openKindCaps(
  most: ReadonlyMap<string, number>,
  count: (org: string, kind: string) => Promise<number>,
): KindCaps {
  const underWay = new Map<string, number>();
  const free = { refusal: undefined, leave: () => undefined };
  return {
    async enter(kind, org) {
      const cap = most.get(kind);
      if (cap === undefined) return free;
      const key = `${org}/${kind}`;
      // Counted before the read: what ends meanwhile is in both, or in one of them.
      const others = underWay.get(key) ?? 0;
      underWay.set(key, others + 1);
      const leave = (): void => {
        const left = (underWay.get(key) ?? 1) - 1;
        if (left > 0) underWay.set(key, left);
        else underWay.delete(key);
      };
      let stored: number;
      try {
        stored = await count(org, kind);
      } catch (error) {
        leave();
        throw error;
      }
      return stored + others < cap ? { refusal: undefined, leave } : { refusal: full(kind, cap, stored), leave };
    },
  };
}

function full(kind: string, cap: number, stored: number): Refusal {
  if (stored < cap)
    return {
      code: 'QuotaExceeded',
      message: `the organisation may have ${cap} objects of kind ${kind}; it has ${stored}, and as many as are left are being made`,
      fix: 'Try again in a moment.',
      retryAfterSeconds: 1,
    };
  return {
    code: 'QuotaExceeded',
    message: `the organisation has ${cap} objects of kind ${kind}, and may not have more`,
    fix: 'Delete what is not needed any more, or ask the operator of the service for more.',
    retryAfterSeconds: 'Never',
  };
}
