/**
 * Lets TLS handshakes begin one by one, so that a burst of them holds the event loop for one at a time. Each costs about a
 * millisecond, and a client that replays a recorded first message (ClientHello) has no such cost.
 *
 * A connection waits until its client's first record is there, and then for its turn: one handshake begins in a turn of the
 * loop, and addresses (of IPv6: a /64) take turns. A handshake holds a place from its beginning to its end. An address has at
 * most as many places as it leaves free, so that one alone takes half of them and one more finds some.
 *
 * What follows is read in slices (`sliced-connection.ts`): records of TLS that say nothing (changes of keys) or one byte each cost some ten
 * microseconds, and Node takes them 64 KiB at a time, up to 32 times in a turn of the loop, of every connection.
 *
 * I10: PLACES handshakes at once, each for `handshakeMs`. Connections wait for `waitMs`; how many of one address, is the caller's
 * bound, and how many in all, the server's. Each holds MOST_BYTES. What is too much or too late is closed without a word.
 */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { SlicedConnection } from '../src/engines/sliced-connection.js';
import { OrgRoundRobin } from '../actors/effects/org-round-robin.js';
import { networkOf } from './auth/addresses.js';
import { add, remove, sizeOf } from './connections.js';

/** For key exchange: each takes a tenth of a millisecond, larger curves up to four. All clients of the last ten years have one. */
export const CURVES = 'X25519:P-256';

const PLACES = 32;
/** A ClientHello has 16 KiB at most, and nothing follows it before the server has answered. */
const MOST_BYTES = 32 * 1024;

export interface HandshakeTimes {
  /** From the connection to the beginning of its handshake. */
  readonly waitMs: number;
  /** From there to its end. */
  readonly handshakeMs: number;
}

export interface Handshakes {
  /** Handshakes that have begun and not ended. */
  readonly running: number;
  /** Closes the connections that wait and those whose handshake has not ended. */
  close(): void;
}

interface Arrival {
  /** Both ends of the connection, by which it is found while it waits. */
  readonly ends: string;
  /** The address, which takes turns here as orgs do elsewhere. */
  readonly org: string;
  readonly socket: Socket;
  readonly addresses: Readonly<Record<'remoteAddress' | 'remoteFamily' | 'localAddress', string | undefined>> &
    Readonly<Record<'remotePort' | 'localPort', number | undefined>>;
  received: Buffer;
  state: 'Reading' | 'Waiting' | 'Running';
  /** Ends it when its state lasts too long. */
  timer: NodeJS.Timeout;
  /** Takes note of what its client sends. */
  read(): void;
}

/** `mayCome`: whether this address may have one more connection beside so many whose handshake has not ended. */
export function openHandshakes(
  server: Server,
  mayCome: (network: string, others: number) => boolean,
  { waitMs, handshakeMs }: HandshakeTimes = { waitMs: 15_000, handshakeMs: 3_000 },
): Handshakes {
  const turns = new OrgRoundRobin<Arrival>(PLACES, true);
  /** By their ends. */
  const arrivals = new Map<string, Arrival>();
  const ofNetwork = new Map<string, number>();
  /** Those whose handshake has begun, by what Node has of them. */
  const begun = new WeakMap<object, Arrival>();
  let running = 0;
  let isGoing = false;

  function arrive(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const network = networkOf(remoteAddress);
    const ends = endsOf(socket);
    socket.on('error', () => undefined);
    // Without an address it has been closed already.
    if (remoteAddress === '' || !mayCome(network, sizeOf(ofNetwork, network))) {
      socket.destroy();
      return;
    }
    const read = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      arrival.received = Buffer.concat([arrival.received, chunk]);
      if (arrival.received.length > MOST_BYTES) socket.destroy();
      else if (arrival.state === 'Reading' && hasFirstRecord(arrival.received)) wait(arrival);
    };
    const timer = setTimeout(() => socket.destroy(), waitMs);
    const { remotePort, remoteFamily, localAddress, localPort } = socket;
    const addresses = { remoteAddress, remotePort, remoteFamily, localAddress, localPort };
    const arrival: Arrival = {
      ...{ ends, org: network, socket, addresses, received: Buffer.alloc(0), state: 'Reading', timer, read },
    };
    arrivals.set(ends, arrival);
    add(ofNetwork, network);
    socket.on('readable', read);
    socket.once('close', () => leave(arrival));
  }

  function wait(arrival: Arrival): void {
    arrival.state = 'Waiting';
    turns.add(arrival);
    go();
  }

  function go(): void {
    if (isGoing) return;
    isGoing = true;
    setImmediate(() => {
      isGoing = false;
      const next = turns.take();
      if (next === undefined) return;
      begin(next);
      go();
    });
  }

  function begin(arrival: Arrival): void {
    const { socket } = arrival;
    arrival.state = 'Running';
    running += 1;
    clearTimeout(arrival.timer);
    // What has come meanwhile is read before the connection is cut: the loop may have been busy, and not the client slow.
    arrival.timer = setTimeout(
      () => setImmediate(() => arrivals.get(arrival.ends) === arrival && socket.destroy()),
      handshakeMs,
    );
    socket.off('readable', arrival.read);
    socket.unshift(arrival.received);
    arrival.received = Buffer.alloc(0);
    const sliced = new SlicedConnection(socket, arrival.org);
    begun.set(sliced, arrival);
    takeIn?.call(server, sliced);
  }

  /** The encrypted side knows its own stream only: what it is asked about the connection is what the arrival knew. */
  function secured(tls: TLSSocket): void {
    const arrival = begun.get(streamOf(tls));
    if (arrival === undefined) return;
    for (const [name, value] of Object.entries(arrival.addresses)) Object.defineProperty(tls, name, { value });
    leave(arrival);
  }

  /** Its handshake has ended, or the connection has. */
  function leave(arrival: Arrival | undefined): void {
    if (arrival === undefined || arrivals.get(arrival.ends) !== arrival) return;
    arrivals.delete(arrival.ends);
    clearTimeout(arrival.timer);
    remove(ofNetwork, arrival.org);
    if (arrival.state === 'Waiting') turns.delete(arrival);
    if (arrival.state !== 'Running') return;
    running -= 1;
    turns.release(arrival);
    go();
  }

  // Node's own, which begins the handshake.
  const [takeIn] = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', arrive);
  server.prependListener('secureConnection', secured);

  return {
    get running() {
      return running;
    },
    close() {
      for (const { socket } of arrivals.values()) socket.destroy();
    },
  };
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** Node keeps what it reads from behind its own wrapper of a stream, and has no public name for that. */
function streamOf(tls: TLSSocket): object {
  const { _handle: handle } = tls as unknown as {
    _handle?: Readonly<Record<'_parentWrap', { stream?: object } | undefined>>;
  };
  const wrapper = handle?.['_parentWrap'];
  return wrapper?.stream ?? tls;
}

const HEADER_BYTES = 5;
const HANDSHAKE_RECORD = 22;

/** Also of what is no TLS at all, which costs nothing to refuse. Source: RFC 8446, 5.1. */
function hasFirstRecord(received: Buffer): boolean {
  if (received[0] !== HANDSHAKE_RECORD) return true;
  return received.length >= HEADER_BYTES && received.length >= HEADER_BYTES + received.readUInt16BE(3);
}
