/**
 * The egress of one piece of work: the only way from inside to the outside. It takes connections that work has made to its
 * proxy and lets through what the policy allows; an engine says where they come from.
 *
 *     const egress = openEgress({ box, network, log, lookup: openResolver() });
 *     server.on('connection', (socket) => egress.serve(socket));
 *
 * HTTP and SOCKS5 come on the same port and are told apart by their first byte.
 *
 * Bounds (I10): MAX_CONNECTIONS of one piece of work, inwards and outwards alike, one more is refused; FIRST_WORDS_MS until a connection
 * has said what it wants; IDLE_MS of silence after that; buffers are those of the streams, and who does not read stops the other side.
 * A connection outwards belongs to one inwards: it ends at most LINGER_MS after that one, and all end with the work.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WorkNetwork } from '../../contract/engine.js';
import type { AllowedAddresses } from '../../../dialer/special-addresses.js';
import { dial, type Dialled } from './dial.js';
import type { ProxyHandlerDeps, Kind } from './proxy-handler.js';
import { httpProxyHandler, refusal, type HttpProxyHandler } from './http.js';
import { authorityOf, type Target } from './policy.js';
import { SOCKS_VERSION } from './socks.js';
import { serveSocks } from './socks5-handler.js';

const MAX_CONNECTIONS = 256;
const FIRST_WORDS_MS = 60_000;
/** Longer than databases and message queues are commonly silent. */
const IDLE_MS = 4 * 3_600_000;
/** For what a connection that has ended in order has still to deliver. */
const LINGER_MS = 30_000;

export interface EgressOptions {
  /** Which box it is: boxes take turns. */
  readonly box: string;
  readonly network: WorkNetwork;
  /** One line for each connection that was asked for, when it ends. Never with a path, a query or a header (I11). */
  readonly log: (line: string) => void;
  readonly lookup: (host: string) => Promise<readonly string[]>;
  /** Special addresses that an operator allows all the same. */
  readonly allowed: AllowedAddresses;
  readonly bounds?:
    | {
        readonly connections?: number | undefined;
        readonly connectMs?: number | undefined;
        readonly firstWordsMs?: number | undefined;
        readonly idleMs?: number | undefined;
        readonly lingerMs?: number | undefined;
      }
    | undefined;
}

export interface Egress {
  serve(inner: Duplex): void;
  /** Ends all connections; resolves when each has been logged. */
  close(): Promise<void>;
}

export function openEgress(options: EgressOptions): Egress {
  const { network, allowed, lookup, bounds = {} } = options;
  const {
    connections = MAX_CONNECTIONS,
    firstWordsMs = FIRST_WORDS_MS,
    idleMs = IDLE_MS,
    lingerMs = LINGER_MS,
    connectMs,
  } = bounds;
  /** Each with the clock that runs until it has said what it wants. */
  const live = new Map<Duplex, NodeJS.Timeout | undefined>();

  function spoke(inner: Duplex): void {
    clearTimeout(live.get(inner));
    if (live.has(inner)) live.set(inner, undefined);
  }

  /** Asked for and not logged yet. */
  let asked = 0;
  let done: (() => void) | undefined;
  const settle = (): void => {
    if (asked === 0 && live.size === 0) done?.();
  };

  const outward = new Set<Socket>();

  async function open(kind: Kind, target: Target, inner: Duplex): Promise<Dialled> {
    const began = performance.now();
    if (asked >= connections) {
      const message = `this work has ${asked} connections open`;
      options.log(`${kind} ${authorityOf(target)} refused (${message})`);
      return { outcome: 'Full', message };
    }
    asked++;
    const gone = new AbortController();
    const abort = (): void => gone.abort();
    if (inner.destroyed) abort();
    inner.once('close', abort);
    const dialled = await dial(target, { network, allowed, lookup, connectMs }, gone.signal);
    inner.off('close', abort);
    const tell = (words: string): void => {
      options.log(`${kind} ${authorityOf(target)} ${words} seconds=${((performance.now() - began) / 1000).toFixed(3)}`);
      asked--;
      settle();
    };
    switch (dialled.outcome) {
      case 'Connected': {
        const { socket, address } = dialled;
        outward.add(socket);
        let timer: NodeJS.Timeout | undefined;
        const linger = (): void => {
          timer = setTimeout(() => socket.destroy(), lingerMs);
        };
        inner.once('close', linger);
        socket.once('close', () => {
          inner.off('close', linger);
          clearTimeout(timer);
          outward.delete(socket);
          tell(`allowed address=${address} sent=${socket.bytesWritten} received=${socket.bytesRead}`);
        });
        if (inner.destroyed || closed) socket.destroy();
        return dialled;
      }
      case 'Refused':
        tell(`refused (${dialled.message})`);
        return dialled;
      default:
        tell(`failed (${dialled.message})`);
        return dialled;
    }
  }

  const deps: ProxyHandlerDeps = {
    box: options.box,
    open,
    spoke,
    senseless: (kind) => options.log(`${kind} refused (not understood)`),
    idleMs,
  };
  let http: HttpProxyHandler | undefined;
  let closed = false;

  return {
    serve(inner) {
      inner.on('error', () => undefined);
      if (live.size >= connections) {
        options.log(`refused (${live.size} connections are open)`);
        inner.end(refusal(503, 'Service Unavailable', `this work has ${live.size} connections open`));
        inner.once('finish', () => inner.destroy());
        return;
      }
      live.set(
        inner,
        setTimeout(() => inner.destroy(), firstWordsMs),
      );
      inner.once('close', () => {
        spoke(inner);
        live.delete(inner);
        settle();
      });
      let isHttp = false;
      inner.once('data', (first: Buffer) => {
        inner.pause();
        inner.unshift(first);
        isHttp = first[0] !== SOCKS_VERSION;
        if (isHttp) (http ??= httpProxyHandler(deps)).serve(inner);
        else serveSocks(inner, deps);
        inner.resume();
      });
      // Ended before it said what it wants. Of HTTP the parser finds that out, which may have to read some of it yet.
      inner.once('end', () => {
        if (!isHttp && live.get(inner) !== undefined) inner.end();
      });
    },
    close() {
      closed = true;
      for (const inner of live.keys()) inner.destroy();
      for (const socket of outward) socket.destroy();
      return new Promise((resolve) => {
        done = resolve;
        settle();
      });
    },
  };
}
