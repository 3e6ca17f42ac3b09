/**
 * What a process does when it has become the active one: everything that was under way goes on (I6).
 * Order matters little, since all of it is idempotent; effects first, since others wait for them.
 */
import type { Address } from '../src/api/address.js';
import type { Pending } from '../storage/store.js';
import type { MessageRouter } from './message-router.js';
import { delay } from './wait.js';

/** Objects woken side by side: each reads its state from Postgres. */
const ABREAST = 64;
const PAGE = 1_000;
const AGAIN_MS = 500;

export interface RecoveryDeps {
  readonly pending: Pick<Pending, 'unfinished'>;
  readonly effects: { recover(): Promise<void> };
  readonly router: Pick<MessageRouter, 'deliver'>;
  /** Kinds whose unfinished objects are woken, in this order. */
  readonly kinds: readonly string[];
  rearmTimers(): Promise<void>;
  readonly stopping: AbortSignal;
}

/** I6: from Postgres alone. */
export async function recover(deps: RecoveryDeps): Promise<void> {
  await deps.effects.recover();
  await deps.rearmTimers();
  for (const kind of deps.kinds) await activateAll(kind, deps);
}

/** Asked again while it cannot be taken; one that crashes reconciles by itself, and a parked one waits for an operator. */
async function wake(address: Address, deps: Pick<RecoveryDeps, 'router' | 'stopping'>): Promise<'Woken' | 'Parked'> {
  while (!deps.stopping.aborted) {
    const delivery = await deps.router.deliver(address, undefined, { type: 'Activated' });
    if (delivery !== 'Retry') return delivery === 'Parked' ? 'Parked' : 'Woken';
    await delay(AGAIN_MS, deps.stopping);
  }
  return 'Woken';
}

/** Wakes every unfinished object of a kind and waits until each has decided what it still needs. Answers the parked ones. */
export async function activateAll(
  kind: string,
  deps: Pick<RecoveryDeps, 'pending' | 'router' | 'stopping'>,
): Promise<readonly Address[]> {
  const parked: Address[] = [];
  let after: Address | undefined;
  while (!deps.stopping.aborted) {
    const page = await deps.pending.unfinished([kind], PAGE, after);
    for (let i = 0; i < page.length; i += ABREAST) {
      const woken = page.slice(i, i + ABREAST).map(async (address) => {
        if ((await wake(address, deps)) === 'Parked') parked.push(address);
      });
      await Promise.all(woken);
    }
    after = page.at(-1);
    if (page.length < PAGE) break;
  }
  return parked;
}
