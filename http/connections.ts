/**
 * Counts the connections and bounds them: in all, of one client address as long as no known key has been seen on them, and of one
 * org and one key from then on. So neither a client without a key nor one with many takes the connections of the others.
 *
 * A connection belongs to the key that was known first on it: those of a proxy that serves many orgs are few, and change no hands.
 *
 * I10: `all`, half of them of one org and a quarter of one key; `newcomersPerAddress` for each address (of IPv6: a /64). A
 * client that connects sends its first request at once, so honest clients behind one address stay far below it, however many
 * connections they keep. What is too much before a key is known is closed without a word; after it, the request is 429 and
 * the connection ends.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';
import { networkOf } from './auth/addresses.js';

const MAX_CONNECTIONS = 30_000;
const MAX_NEWCOMERS = 2_000;

export interface ConnectionBounds {
  /** Absent: 30,000. */
  readonly all?: number | undefined;
  /** Absent: 2,000. */
  readonly newcomersPerAddress?: number | undefined;
}

export interface Connections {
  /** `event`: by which the server takes connections in. */
  follow(server: Server, event: 'connection' | 'secureConnection'): void;
  /** Whether one more of this network would be taken in beside so many that are not yet. */
  hasRoom(network: string, others: number): boolean;
  /** A known key came by this connection. False: its org or key has its share of connections without this one. */
  welcome(socket: Socket, caller: Caller): boolean;
  /** The refusal of one that is not welcome. */
  tooMany(caller: Caller): Error;
}

/** Under what it is counted: an address, or an org and a key. */
type Holder =
  | { readonly is: 'Newcomer'; readonly network: string }
  | { readonly is: 'Known'; readonly org: string; readonly key: string };

export function openConnections({
  all = MAX_CONNECTIONS,
  newcomersPerAddress = MAX_NEWCOMERS,
}: ConnectionBounds): Connections {
  const ofOrg = Math.ceil(all / 2);
  const ofKey = Math.ceil(all / 4);
  const newcomers = new Map<string, number>();
  const orgs = new Map<string, number>();
  const keys = new Map<string, number>();
  const open = new WeakMap<Socket, Holder>();
  let count = 0;

  function uncount(holder: Holder): void {
    if (holder.is === 'Newcomer') return remove(newcomers, holder.network);
    remove(orgs, holder.org);
    remove(keys, holder.key);
  }

  return {
    follow(server, event) {
      server.maxConnections = all;
      server.on(event, (socket: Socket) => {
        // One that is given back to the server after it asked for an upgrade (`upgrade.ts`).
        if (open.has(socket)) return;
        const network = networkOf(socket.remoteAddress ?? '');
        if (count >= all || sizeOf(newcomers, network) >= newcomersPerAddress) {
          socket.destroy();
          return;
        }
        count += 1;
        add(newcomers, network);
        open.set(socket, { is: 'Newcomer', network });
        socket.once('close', () => {
          const holder = open.get(socket);
          if (holder === undefined) return;
          count -= 1;
          uncount(holder);
        });
      });
    },
    hasRoom: (network, others) => sizeOf(newcomers, network) + others < newcomersPerAddress,
    welcome(socket, caller) {
      const holder = open.get(socket);
      // Asked for every request: this is all that most of them cost.
      if (holder === undefined || holder.is === 'Known') return true;
      const { org } = caller;
      const key = `${org}/${caller.holder}`;
      if (sizeOf(orgs, org) >= ofOrg || sizeOf(keys, key) >= ofKey) return false;
      uncount(holder);
      add(orgs, org);
      add(keys, key);
      open.set(socket, { is: 'Known', org, key });
      return true;
    },
    tooMany({ org }) {
      const [share, whose] = sizeOf(orgs, org) >= ofOrg ? [ofOrg, 'this org'] : [ofKey, 'this credential'];
      return refuse('TooManyRequests', `${share} connections of ${whose} are open, which is the limit`, {
        retryAfterSeconds: 1,
        fix: 'Use connections again instead of opening one for each request, and close what is not used.',
      });
    },
  };
}

export function sizeOf(counts: ReadonlyMap<string, number>, id: string): number {
  return counts.get(id) ?? 0;
}

export function add(counts: Map<string, number>, id: string): void {
  counts.set(id, sizeOf(counts, id) + 1);
}

export function remove(counts: Map<string, number>, id: string): void {
  const left = sizeOf(counts, id) - 1;
  if (left > 0) counts.set(id, left);
  else counts.delete(id);
}
