/**
 * Writes what attempts came to, in groups: one statement every few milliseconds instead of one per attempt.
 * What cannot be written is tried again until the process stops; then the delivery is made once more (at least once).
 *
 * I10: as many wait here as the sender lets run ahead (`depth`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settlement } from '../../storage/webhooks/deliveries.js';

/** Longest wait of a settlement for others (ms). */
const GROUP_MS = 10;
const MOST_IN_GROUP = 500;
const AGAIN_MS = 500;

export interface DeliveryResults {
  /** Resolves when it is written, or when the process stops before that. */
  settle(settlement: Settlement): Promise<void>;
  depth(): number;
  close(): Promise<void>;
}

export interface DeliveryResultsDeps {
  write(settlements: readonly Settlement[]): Promise<void>;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
}

interface Waiting {
  readonly settlement: Settlement;
  resolve(): void;
}

export function openDeliveryResults(deps: DeliveryResultsDeps): DeliveryResults {
  let waiting: Waiting[] = [];
  let depth = 0;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;

  function start(): void {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= flush().finally(() => {
      flushing = undefined;
      if (waiting.length > 0) timer ??= setTimeout(start, GROUP_MS);
    });
  }

  async function flush(): Promise<void> {
    const group = waiting.slice(0, MOST_IN_GROUP);
    waiting = waiting.slice(MOST_IN_GROUP);
    await write(group.map(({ settlement }) => settlement));
    depth -= group.length;
    for (const { resolve } of group) resolve();
  }

  async function write(settlements: readonly Settlement[]): Promise<void> {
    for (;;) {
      try {
        await deps.write(settlements);
        return;
      } catch (error) {
        if (deps.stopping.aborted) return;
        deps.onProblem(`deliveries: ${error instanceof Error ? error.message : 'their ends are not written'}`);
        await sleep(AGAIN_MS, undefined, { signal: deps.stopping }).catch(() => {});
      }
    }
  }

  return {
    settle(settlement) {
      return new Promise((resolve) => {
        waiting.push({ settlement, resolve });
        depth += 1;
        if (waiting.length >= MOST_IN_GROUP) start();
        else if (flushing === undefined) timer ??= setTimeout(start, GROUP_MS);
      });
    },
    depth: () => depth,
    async close() {
      while (flushing !== undefined || waiting.length > 0) {
        start();
        await flushing;
      }
    },
  };
}
