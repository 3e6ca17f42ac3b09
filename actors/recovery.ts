/**
 * Owns what a process does when it has become the active one: everything that was under way goes on (I6).
 * Order matters little, since all of it is idempotent; effects first, since they are what others wait for.
 */
import type { Address } from '../src/api/address.js';
import type { Pending } from '../storage/store.js';
import type { EffectRunner } from './effects/runner.js';
import type { Post } from './post.js';
import { delay } from './wait.js';

/** Objects woken side by side: each reads its state from Postgres. */
const ABREAST = 64;
const PAGE = 1_000;
const AGAIN_MS = 500;

export interface RecoveryDeps {
  readonly pending: Pick<Pending, 'unfinished'>;
  readonly effects: Pick<EffectRunner, 'recover'>;
  readonly post: Post;
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
async function wake(address: Address, deps: Pick<RecoveryDeps, 'post' | 'stopping'>): Promise<void> {
  while (!deps.stopping.aborted) {
    if ((await deps.post.deliver(address, undefined, { type: 'Activated' })) !== 'Retry') return;
    await delay(AGAIN_MS, deps.stopping);
  }
}

/** Wakes every unfinished object of a kind and waits until each has decided what it still needs. */
export async function activateAll(
  kind: string,
  deps: Pick<RecoveryDeps, 'pending' | 'post' | 'stopping'>,
): Promise<void> {
  let after: Address | undefined;
  while (!deps.stopping.aborted) {
    const page = await deps.pending.unfinished([kind], PAGE, after);
    for (let i = 0; i < page.length; i += ABREAST) {
      await Promise.all(page.slice(i, i + ABREAST).map((address) => wake(address, deps)));
    }
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}
