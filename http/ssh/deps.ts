/**
 * What the SSH server needs from the layers below: who may log in, and the ways into a Workspace. Declared here by their
 * consumer, so that a test may stand in for them.
 */
import type { Duplex } from 'node:stream';
import type { ParsedKey } from 'ssh2';
import type { Address } from '../../src/api/address.js';
import type { Execution, TerminalSize } from '../../src/engines/compute/contract/engine.js';
import type { HttpLog } from '../deps.js';

export interface SshDeps {
  /** Address to listen on. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Private key of the host, ed25519, in OpenSSH's own form. */
  readonly hostKey: string;
  readonly authorization: SshAuthorization;
  readonly inside: Inside;
  readonly log: Pick<HttpLog, 'info' | 'warn'>;
  /** Takes shorter ones in tests. */
  readonly bounds?: Partial<SshBounds> | undefined;
}

/** Who may come in. May throw `Unavailable` while this process is not the active one. */
export interface SshAuthorization {
  /** Undefined: there is no such Workspace, or the key (its public half, in SSH's binary form) does not open it; which one is not said. */
  admit(user: string, key: Uint8Array): Promise<Admitted | undefined>;
  /** What has become of a client that has logged in. */
  standing(principal: SshPrincipal): Promise<SshAccess>;
}

export interface Admitted {
  readonly principal: SshPrincipal;
  /** To verify the signature with. */
  readonly key: ParsedKey;
}

export interface SshPrincipal {
  readonly owner: Address;
  /** Of the Workspace. */
  readonly uid: string;
  /** Public half of the key by which the client has logged in. */
  readonly key: Uint8Array;
  /** I8: the only epoch that this connection may enter. Undefined: nothing ran when it was made. */
  readonly epoch: number | undefined;
}

export type SshAccess =
  | { readonly standing: 'Welcome' }
  /** Why there is nothing to enter (any more), for a person to read. */
  | { readonly standing: 'NotRunning'; readonly message: string }
  /** The key or the Workspace is gone. */
  | { readonly standing: 'Unwelcome'; readonly message: string };

export interface SshCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly terminal?: TerminalSize | undefined;
  readonly epoch: number;
}

/** The ways inside; `actors/work/commands.ts` fits it. All refuse as `attach.ts` does. */
export interface Inside {
  start(owner: Address, command: SshCommand, signal: AbortSignal): Promise<Execution>;
  connect(
    owner: Address,
    port: { readonly port: number; readonly epoch: number },
    signal: AbortSignal,
  ): Promise<
    | { readonly outcome: 'Connected'; readonly stream: Duplex }
    | { readonly outcome: 'Refused'; readonly message: string }
  >;
  /** Activity until `leave`. */
  stay(owner: Address, epoch: number): Promise<{ readonly leave: () => void }>;
}

/** I10. What is beyond a bound is closed or refused at once; only the exchange of keys is waited for, within `loginMs`. */
export interface SshBounds {
  /** Connections in all; a file descriptor and, with full windows, some MB each. */
  readonly connections: number;
  /** Of them, those of one client address. */
  readonly connectionsPerAddress: number;
  /** Of all, those that have not logged in. */
  readonly strangers: number;
  /** Of them, those of one client address. */
  readonly strangersPerAddress: number;
  /** Of them, those that exchange keys; the others wait. */
  readonly exchanges: number;
  /** A connection counts among them for so long at most, ms. */
  readonly exchangeMs: number;
  /** Time for version, key exchange and login together, ms. */
  readonly loginMs: number;
  /** An exchange of keys that takes longer ends its connection, ms; of output nothing goes out meanwhile. */
  readonly rekeyMs: number;
  /** Keys that are offered in vain; a client's agent may hold a few. */
  readonly tries: number;
  /** Sessions and forwarded connections of one connection. */
  readonly channels: number;
  /** How often each connection is looked at again, whether or not a change was heard of, ms. */
  readonly checkMs: number;
  /** A connection that could not be looked at for this long ends, ms. */
  readonly unverifiedMs: number;
}

export const BOUNDS: SshBounds = {
  connections: 500,
  connectionsPerAddress: 100,
  strangers: 100,
  strangersPerAddress: 50,
  exchanges: 16,
  exchangeMs: 5_000,
  loginMs: 30_000,
  rekeyMs: 30_000,
  tries: 6,
  channels: 32,
  checkMs: 15_000,
  unverifiedMs: 60_000,
};
