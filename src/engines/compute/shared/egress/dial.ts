/**
 * Dials one target: policy, name, addresses, connection. A name is resolved once; what it means then is checked, and
 * exactly those addresses are dialled, so a second answer of a name server changes nothing.
 *
 * Refused under every policy: special addresses (`dialer/special-addresses.ts`), and this machine's own, public or not, where
 * the service and its database may listen; but for what the operator allows.
 */
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { WorkNetwork } from '../../contract/engine.js';
import { specialAddress, type AllowedAddresses } from '../../../dialer/special-addresses.js';
import { authorityOf, forbids, type Target } from './policy.js';

/** For the name and all its addresses together, and for one address while there are others to try (ms). */
const CONNECT_MS = 30_000;
const NEXT_ADDRESS_MS = 3_000;
/** Addresses of a name that are tried. */
const MAX_ADDRESSES = 8;
/** This machine's own addresses are read again after this (ms). */
const OWN_FRESH_MS = 10_000;

export interface DialDeps {
  readonly network: WorkNetwork;
  readonly allowed: AllowedAddresses;
  /** All addresses of a name; rejects when it has none. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly connectMs?: number | undefined;
}

export type Dialled =
  | { readonly outcome: 'Connected'; readonly socket: Socket; readonly address: string }
  /** By policy, or because the address is special. */
  | { readonly outcome: 'Refused'; readonly message: string }
  /** The work has as many connections as it may have. */
  | { readonly outcome: 'Full'; readonly message: string }
  | {
      readonly outcome: 'Failed';
      readonly reason: 'NameNotFound' | 'ConnectionRefused' | 'Unreachable' | 'TimedOut';
      readonly message: string;
    };

type Found =
  | { readonly outcome: 'Found'; readonly addresses: readonly string[] }
  | Extract<Dialled, { outcome: 'Failed' }>;

export async function dial(target: Target, deps: DialDeps, signal: AbortSignal): Promise<Dialled> {
  const forbidden = forbids(deps.network, target);
  if (forbidden !== undefined) return { outcome: 'Refused', message: forbidden };
  const until = performance.now() + (deps.connectMs ?? CONNECT_MS);
  const resolved: Found = target.isAddress
    ? { outcome: 'Found', addresses: [target.host] }
    : await resolve(target.host, deps, until, signal);
  if (resolved.outcome !== 'Found') return resolved;
  const found = resolved.addresses;
  const dialled = found.filter((address) => special(address, deps.allowed) === undefined).slice(0, MAX_ADDRESSES);
  if (dialled.length === 0) {
    const what = special(found[0] ?? '', deps.allowed) ?? 'no address';
    return { outcome: 'Refused', message: `${target.host} is not on the public internet (${what})` };
  }
  let last: Dialled = failed('Unreachable', target);
  for (const [index, address] of dialled.entries()) {
    const left = until - performance.now();
    if (signal.aborted || left <= 0) return failed('TimedOut', target);
    const others = index < dialled.length - 1;
    last = await tryAddress(address, target, others ? Math.min(left, NEXT_ADDRESS_MS) : left, signal);
    if (last.outcome === 'Connected') return last;
  }
  return last;
}

async function resolve(host: string, deps: DialDeps, until: number, signal: AbortSignal): Promise<Found> {
  let end: () => void = () => undefined;
  const over = new Promise<'over'>((done) => (end = () => done('over')));
  const timer = setTimeout(end, Math.max(0, until - performance.now()));
  signal.addEventListener('abort', end, { once: true });
  try {
    const found = await Promise.race([deps.lookup(host), over]);
    if (found === 'over') return { outcome: 'Failed', reason: 'TimedOut', message: `${host} was not resolved in time` };
    if (found.length > 0) return { outcome: 'Found', addresses: found };
  } catch {
    // Why it has none is between its name servers and ours.
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
  return { outcome: 'Failed', reason: 'NameNotFound', message: `the name ${host} has no address` };
}

function tryAddress(address: string, target: Target, ms: number, signal: AbortSignal): Promise<Dialled> {
  return new Promise((done) => {
    // What one side has ended the other may still answer: half-open ends are the tunnel's matter.
    const socket = connect({ host: address, port: target.port, allowHalfOpen: true, noDelay: true });
    const settle = (dialled: Dialled): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', late);
      socket.off('error', onError);
      socket.on('error', () => undefined);
      if (dialled.outcome !== 'Connected') socket.destroy();
      done(dialled);
    };
    const late = (): void => settle(failed('TimedOut', target));
    const onError = (error: NodeJS.ErrnoException): void =>
      settle(failed(error.code === 'ECONNREFUSED' ? 'ConnectionRefused' : reasonOf(error), target));
    const timer = setTimeout(late, ms);
    signal.addEventListener('abort', late, { once: true });
    socket.once('error', onError);
    socket.once('connect', () => settle({ outcome: 'Connected', socket, address }));
  });
}

function reasonOf(error: NodeJS.ErrnoException): 'TimedOut' | 'Unreachable' {
  return error.code === 'ETIMEDOUT' ? 'TimedOut' : 'Unreachable';
}

const SAID = {
  ConnectionRefused: 'refuses the connection',
  Unreachable: 'cannot be reached',
  TimedOut: 'does not answer',
} as const;

function failed(reason: keyof typeof SAID, target: Target): Extract<Dialled, { outcome: 'Failed' }> {
  return { outcome: 'Failed', reason, message: `${authorityOf(target)} ${SAID[reason]}` };
}

function special(address: string, allowed: AllowedAddresses): string | undefined {
  if (allowed.has(address)) return undefined;
  return specialAddress(address) ?? (ownAddresses().has(address) ? 'this machine' : undefined);
}

let own: ReadonlySet<string> = new Set();
let ownSince = Number.NEGATIVE_INFINITY;

function ownAddresses(): ReadonlySet<string> {
  if (performance.now() - ownSince > OWN_FRESH_MS) {
    ownSince = performance.now();
    own = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
  }
  return own;
}
