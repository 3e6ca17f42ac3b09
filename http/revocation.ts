/**
 * Knows every open stream with the credential that opened it and what it needs, and ends those that their caller may no
 * longer have. It asks who the credential stands for when an object changes from which that was read, when the
 * credential's time is over, and every CHECK_MS (for what another process has changed).
 *
 * A stream is told why and ends in its own way; one that is still there PARTING_MS later is cut. When nobody can say for
 * UNVERIFIED_MS whether a credential is good, its streams end as well.
 * I10: one look-up at a time for each credential with streams, whose number is bounded (`streams.ts`).
 */
import { addressKey, type Address } from '../src/api/address.js';
import { refuse, RefusalError } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';
import type { Authenticator, Identity } from './auth/authenticator.js';
import type { Exchange } from './exchange.js';

export interface Revocable {
  /** Whether a caller may have what this stream shows or does; asked again as long as it is open. */
  allows(caller: Caller): boolean;
  /** Stops at once whatever the stream does for its client, and says why where that is possible. Absent: it is cut. */
  revoke?(refusal: RefusalError): void;
  /**
   * Something has changed from which the credential was read. What the client sends from now on must do nothing before
   * `checked` resolves, which it does after `revoke` if that is due. It never rejects.
   */
  doubt?(checked: Promise<void>): void;
}

export interface Revocation {
  /** Follows a stream until the returned function is called. */
  follow(x: Exchange, stream: Revocable): () => void;
  /** This object has changed or is gone. */
  changed(address: Address): void;
  /** To be called once a second; `now` is performance.now(). */
  sweep(now: number): void;
}

export interface RevocationDeps {
  readonly authenticator: Pick<Authenticator, 'again' | 'isCurrent'>;
  /** ms since the epoch. */
  readonly clock: () => number;
}

const CHECK_MS = 15_000;
/** After this a stream that was told to end is cut. */
const PARTING_MS = 1_000;
const UNVERIFIED_MS = 60_000;

interface Open {
  readonly x: Exchange;
  readonly stream: Revocable;
}

/** All streams of one credential. */
interface Group {
  identity: Identity;
  readonly open: Set<Open>;
  /** performance.now() of the last answer. */
  checkedAt: number;
  /** Resolves when the look-up under way has been acted on; never rejects. */
  checking: Promise<void> | undefined;
  /** Something changed while it was being asked. */
  stale: boolean;
}

export function openRevocation({ authenticator, clock }: RevocationDeps): Revocation {
  const groups = new Map<string, Group>();

  function check(group: Group): Promise<void> {
    group.stale = true;
    return (group.checking ??= lookUp(group));
  }

  async function lookUp(group: Group): Promise<void> {
    try {
      while (group.stale) {
        group.stale = false;
        group.identity = await authenticator.again(group.identity.sha256);
      }
      group.checkedAt = performance.now();
      const { caller } = group.identity;
      for (const open of group.open) {
        if (!open.stream.allows(caller)) end(group, open, noLonger());
      }
    } catch (error) {
      if (error instanceof RefusalError && error.refusal.code === 'Unauthorized') endAll(group, error);
      else if (performance.now() - group.checkedAt > UNVERIFIED_MS) endAll(group, unverified());
      // Else the next sweep asks again.
    } finally {
      group.checking = undefined;
    }
  }

  function endAll(group: Group, why: RefusalError): void {
    for (const open of group.open) end(group, open, why);
  }

  function end(group: Group, open: Open, why: RefusalError): void {
    leave(group, open);
    const { x, stream } = open;
    if (stream.revoke === undefined) {
      x.cut();
      return;
    }
    stream.revoke(why);
    setTimeout(() => x.cut(), PARTING_MS).unref();
  }

  function leave(group: Group, open: Open): void {
    group.open.delete(open);
    const { sha256 } = group.identity;
    if (group.open.size === 0 && groups.get(sha256) === group) groups.delete(sha256);
  }

  return {
    follow(x, stream) {
      const { identity } = x;
      if (identity === undefined) throw new Error('a stream was opened without a caller');
      let group = groups.get(identity.sha256);
      if (group === undefined) {
        group = { identity, open: new Set(), checkedAt: performance.now(), checking: undefined, stale: false };
        groups.set(identity.sha256, group);
      }
      const open: Open = { x, stream };
      group.open.add(open);
      // What changed between its authentication and now was told to the streams that were there.
      if (!authenticator.isCurrent(identity)) void check(group);
      const mine = group;
      return () => leave(mine, open);
    },
    changed(address) {
      const key = addressKey(address);
      for (const group of groups.values()) {
        if (!group.identity.sources.includes(key)) continue;
        const checked = check(group);
        for (const { stream } of group.open) stream.doubt?.(checked);
      }
    },
    sweep(now) {
      for (const group of groups.values()) {
        const { expires } = group.identity;
        const over = expires !== undefined && expires <= clock();
        if (over || now - group.checkedAt >= CHECK_MS) void check(group);
      }
    },
  };
}

function noLonger(): RefusalError {
  return refuse('Forbidden', 'the credential no longer allows this');
}

function unverified(): RefusalError {
  return refuse('Unavailable', 'the credential could not be verified again', { retryAfterSeconds: 1 });
}
