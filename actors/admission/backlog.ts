/**
 * Counts the Attempts of each org that have not ended, and takes no new work of one that has too many: each of them is in memory, waits for a
 * place, and is woken by the next start. What is under way goes on. In memory, from what is stored at the start and what is committed since, with
 * the Attempts that commits have asked for; so a burst passes the limit by the requests that are being decided at that moment.
 */
import type { Address } from '../../src/api/address.js';
import type { Refusal } from '../../src/api/refusal.js';
import { isObject } from '../../src/api/safe-value.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { ATTEMPT } from '../work/attempts.js';

const RETRY_SECONDS = 10;

export interface Backlog {
  /** From storage, before anything is committed. */
  load(counts: ReadonlyMap<string, number>): void;
  /** A commit of this object: whether it was unfinished before, and is now. */
  committed({ kind, org }: Address, before: boolean, after: boolean): void;
  /** Why the org may begin no work of this kind now. */
  refusal(kind: KindDefinition, org: string): Refusal | undefined;
}

/** `asked`: Attempts of an org that are to be made. */
export function openBacklog(attemptsPerOrg: number, asked: (org: string) => number): Backlog {
  const counts = new Map<string, number>();
  return {
    load(stored) {
      for (const [org, count] of stored) counts.set(org, (counts.get(org) ?? 0) + count);
    },
    committed({ kind, org }, before, after) {
      if (kind !== ATTEMPT || before === after) return;
      const count = (counts.get(org) ?? 0) + (after ? 1 : -1);
      if (count > 0) counts.set(org, count);
      else counts.delete(org);
    },
    refusal(kind, org) {
      if (kind.pricedWork === undefined) return undefined;
      const count = (counts.get(org) ?? 0) + asked(org);
      if (count < attemptsPerOrg) return undefined;
      return {
        code: 'QuotaExceeded',
        message: `${count} Attempts of the organisation wait or run, and it may have ${attemptsPerOrg} at once`,
        fix: 'Try again when some of its work has ended, or cancel what is not needed any more.',
        retryAfterSeconds: RETRY_SECONDS,
      };
    },
  };
}

/** Whether a change of an object lets it run that did not before. */
export function begins(before: unknown, after: unknown): boolean {
  return stateOf(after) === 'Running' && stateOf(before) !== 'Running';
}

function stateOf(spec: unknown): unknown {
  return isObject(spec) ? spec['state'] : undefined;
}
