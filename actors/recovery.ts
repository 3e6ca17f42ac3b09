/**
 * What a process does when it has become the active one: everything that was under way goes on (I6). Order matters little, since all of it
 * is idempotent. Before clients come in: effects, which others wait for, timers, and the Attempts that something outside of the service
 * holds, which are as many as have a place. All else that is unfinished is woken beside the clients, orgs beside each other, so that what one org has
 * left behind keeps nobody out; until its turn an object is woken by any message to it.
 */
import type { Address } from '../src/api/address.js';
import type { Pending } from '../storage/store.js';
import type { MessageRouter } from './message-router.js';
import type { Slices } from './slices.js';
import { delay } from './wait.js';

/** Held objects woken side by side: each reads its state from Postgres. */
const ABREAST = 64;
/** Orgs whose objects are woken beside clients, and objects of one of them. */
const ORGS_ABREAST = 8;
const ABREAST_OF_ORG = 4;
const PAGE = 1_000;
const AGAIN_MS = 500;

export interface WakeDeps {
  readonly pending: Pick<Pending, 'unfinishedHeld' | 'unfinishedOf' | 'unfinishedOrgs'>;
  readonly router: Pick<MessageRouter, 'deliver'>;
  readonly stopping: AbortSignal;
}

export interface RecoveryDeps extends WakeDeps {
  readonly effects: { recover(): Promise<void> };
  rearmTimers(): Promise<void>;
}

/** I6: from Postgres alone. `held`: of the kind that something outside holds. */
export async function recover(held: readonly Address[], deps: RecoveryDeps): Promise<void> {
  await deps.effects.recover();
  await deps.rearmTimers();
  await wakeAll(held, deps);
}

/** Asked again while it cannot be taken; one that crashes reconciles by itself, and a parked one waits for an operator. */
async function wake(address: Address, deps: Pick<WakeDeps, 'router' | 'stopping'>): Promise<'Woken' | 'Parked'> {
  while (!deps.stopping.aborted) {
    const delivery = await deps.router.deliver(address, undefined, { type: 'Activated' });
    if (delivery !== 'Retry') return delivery === 'Parked' ? 'Parked' : 'Woken';
    await delay(AGAIN_MS, deps.stopping);
  }
  return 'Woken';
}

async function wakeAll(
  addresses: readonly Address[],
  deps: Pick<WakeDeps, 'router' | 'stopping'>,
): Promise<readonly Address[]> {
  const parked: Address[] = [];
  for (let i = 0; i < addresses.length && !deps.stopping.aborted; i += ABREAST) {
    const woken = addresses.slice(i, i + ABREAST).map(async (address) => {
      if ((await wake(address, deps)) === 'Parked') parked.push(address);
    });
    await Promise.all(woken);
  }
  return parked;
}

/** Whole store: those of a kind that something outside of the service holds, as many as there are places. */
export async function heldObjects(
  kind: string,
  { pending, stopping }: Pick<WakeDeps, 'pending' | 'stopping'>,
): Promise<readonly Address[]> {
  const held: Address[] = [];
  while (!stopping.aborted) {
    const page = await pending.unfinishedHeld(kind, PAGE, held.at(-1));
    held.push(...page);
    if (page.length < PAGE) break;
  }
  return held;
}

/** Wakes those that are held, and waits until each has decided what it still needs. Answers the parked ones. */
export async function wakeHeld(kind: string, deps: WakeDeps): Promise<readonly Address[]> {
  return wakeAll(await heldObjects(kind, deps), deps);
}

/**
 * Wakes every unfinished object of these kinds, ORGS_ABREAST orgs beside each other, each in `slices` of the event loop. `onProblem`: it is tried
 * again. Resolves when all have been woken. Never rejects.
 */
export async function wakeUnfinished(
  kinds: readonly string[],
  deps: WakeDeps & { readonly slices: Slices; onProblem(message: string): void },
): Promise<void> {
  const { pending, stopping, slices } = deps;
  const again = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    while (!stopping.aborted) {
      try {
        return await read();
      } catch (error) {
        deps.onProblem(error instanceof Error ? error.message : 'failed');
        await delay(AGAIN_MS, stopping);
      }
    }
    return undefined;
  };
  const wakeOrg = async (org: string): Promise<void> => {
    let after: Address | undefined;
    while (!stopping.aborted) {
      const page = (await again(() => pending.unfinishedOf(org, kinds, PAGE, after))) ?? [];
      for (let i = 0; i < page.length && !stopping.aborted; i += ABREAST_OF_ORG) {
        await slices.next(org);
        await Promise.all(page.slice(i, i + ABREAST_OF_ORG).map((address) => wake(address, deps)));
      }
      after = page.at(-1);
      if (page.length < PAGE) return;
    }
  };
  const orgs = [...((await again(() => pending.unfinishedOrgs())) ?? [])];
  const next = async (): Promise<void> => {
    for (let org = orgs.shift(); org !== undefined && !stopping.aborted; org = orgs.shift()) await wakeOrg(org);
  };
  await Promise.all(Array.from({ length: ORGS_ABREAST }, next));
}
