/**
 * Keeps connections for later requests. One is found again only under its origin and the very addresses
 * that were checked for this request: a name that means another address now gets a new connection, however many are open.
 *
 * Bounds (I10): so many origins, the least recently used one goes; a few idle connections each, closed when they have been
 * idle for a while. What is in use when its turn comes is closed after its last request.
 */
import type { Agent } from 'node:https';
import type { SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { SlicedAgent } from './sliced-agent.js';

const MOST_ORIGINS = 256;
/** Idle connections kept per origin: as many as deliveries are in hand at once, which may all be for one. Fewer: handshakes. */
const MOST_IDLE = 64;
/** An idle connection is closed after this (ms): before most servers and middle boxes do it themselves. */
const IDLE_MS = 20_000;

export interface ConnectionPool {
  /** Until it is given back (once or more), the agent is not closed. */
  lend(origin: string, addresses: readonly string[]): { readonly agent: Agent; giveBack(): void };
  close(): void;
}

interface Kept {
  readonly agent: Agent;
  inUse: number;
  dropped: boolean;
}

export function openConnectionPool(secureContext: SecureContext | undefined): ConnectionPool {
  const agents = new LRUCache<string, Kept>({
    max: MOST_ORIGINS,
    dispose(kept) {
      kept.dropped = true;
      endUnused(kept);
    },
  });

  function make(): Kept {
    const agent = new SlicedAgent({
      keepAlive: true,
      maxFreeSockets: MOST_IDLE,
      timeout: IDLE_MS,
      ...(secureContext === undefined ? {} : { secureContext }),
    });
    return { agent, inUse: 0, dropped: false };
  }

  return {
    lend(origin, addresses) {
      const key = `${origin} ${addresses.toSorted().join(' ')}`;
      const kept = agents.get(key) ?? make();
      agents.set(key, kept, { noDisposeOnSet: true });
      kept.inUse += 1;
      let back = false;
      return {
        agent: kept.agent,
        giveBack() {
          if (back) return;
          back = true;
          kept.inUse -= 1;
          endUnused(kept);
        },
      };
    },
    close: () => agents.clear(),
  };
}

function endUnused(kept: Kept): void {
  if (kept.dropped && kept.inUse === 0) kept.agent.destroy();
}
