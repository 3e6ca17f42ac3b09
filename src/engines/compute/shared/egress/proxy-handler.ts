/** What the two halves of the proxy, HTTP and SOCKS5, need of the whole: how a connection goes on once it has said what it wants. */
import type { Duplex } from 'node:stream';
import type { Dialled } from './dial.js';
import type { Target } from './policy.js';

/** How it was asked for; the first word in the log. */
export type Kind = 'CONNECT' | 'HTTP' | 'SOCKS5';

export interface ProxyHandlerDeps {
  /** Which box it is, for turns among boxes. */
  readonly box: string;
  /** Dials what the policy allows, and logs it once it has ended. */
  open(kind: Kind, target: Target, inner: Duplex): Promise<Dialled>;
  /** A request that names nothing which could be reached. */
  senseless(kind: Kind): void;
  /** The connection has said what it wants. */
  spoke(inner: Duplex): void;
  /** Silence (ms) that ends it. */
  readonly idleMs: number;
}
