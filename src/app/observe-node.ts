/** Reports to the Node object what its machine has: at once, every minute, and when its disk gets short or has room again. */
import type { Actors } from '../../actors/open.js';
import type { ComputeEngine, EngineFacts } from '../engines/compute/contract/engine.js';
import { LOCAL_NODE } from '../kinds/node/local.js';
import type { DiskWatch } from './disk-space.js';
import type { Metrics } from './metrics.js';

const OBSERVE_MS = 60_000;

export interface NodeObserver {
  /** The newest ones; undefined before the engine's first answer. */
  facts(): EngineFacts | undefined;
}

/** Goes on until `stopping` is aborted. */
export function observeNode(
  engine: Pick<ComputeEngine, 'facts'>,
  { router }: Pick<Actors, 'router'>,
  disk: Pick<DiskWatch, 'shortage' | 'follow'>,
  { observe }: Pick<Metrics, 'observe'>,
  stopping: AbortSignal,
): NodeObserver {
  let newest: EngineFacts | undefined;
  async function report(): Promise<void> {
    const facts = await engine.facts(stopping);
    newest = facts;
    const { name, milliCpu, memory, isolation, refusal } = facts;
    const capacity = { milliCpu, memory, disk: facts.disk };
    const shortage = disk.shortage();
    const message = { type: 'NodeObserved', engine: name, isolation, capacity, refusal, shortage } as const;
    const from = { address: LOCAL_NODE, uid: '', version: 0 };
    await router.deliver(LOCAL_NODE, undefined, { type: 'MessageReceived', from, content: message });
  }
  const look = (): void =>
    void report().catch((error: unknown) => {
      if (!stopping.aborted)
        observe.problem('the compute engine', error instanceof Error ? error.message : 'no answer');
    });
  look();
  disk.follow(look);
  const timer = setInterval(look, OBSERVE_MS);
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  return { facts: () => newest };
}
