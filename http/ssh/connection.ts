/**
 * One connection of the SSH server from its first byte to its last: login, channels, and the reasons why it ends. It
 * belongs to one Workspace, one key and one epoch; when any of them is over, it is (I8).
 *
 * A client logs in by a public key only. Reverse forwards, agents and X11 are refused by having no listener.
 * Whatever a client sends may end its own connection and nothing else: errors of the library end here.
 */
import type { Duplex } from 'node:stream';
import { setMaxListeners } from 'node:events';
import type { AuthContext, Channel, Connection, PublicKeyAuthContext } from 'ssh2';
import type { SshPrincipal, SshBounds, SshDeps } from './deps.js';
import { forward } from './forward.js';
import { isExchangingKeys, refuseSmallPackets } from './library.js';
import { Outlet } from './outlet.js';
import { serveSession } from './session.js';

export interface SshConnection {
  /** Set from login on. */
  readonly principal: SshPrincipal | undefined;
  /** Something about its Workspace, or about who may enter it, has changed. Never rejects. */
  reconsider(): Promise<void>;
  /** Ends it; a person at the other end reads why. */
  end(why: string): void;
}

export interface SshConnectionDeps extends Pick<SshDeps, 'authorization' | 'inside'> {
  readonly bounds: SshBounds;
  onLogin(principal: SshPrincipal): void;
}

/** A client has so long to show what its sessions were told, ms. Nothing new is opened meanwhile. */
const PARTING_MS = 1_000;
/** A client that does not close its side is cut after this, ms. */
const LINGER_MS = 2_000;
/** What a client may have sent and nobody read yet, per channel: twice the window that it was given. */
const UNREAD_BYTES = 4 * 2 ** 20;

/** `client` and `socket` are the two faces of one connection. */
export function receive(client: Connection, socket: Duplex, deps: SshConnectionDeps): SshConnection {
  const { authorization, bounds } = deps;
  const ended = new AbortController();
  // One listener per channel, whose number is bounded.
  setMaxListeners(0, ended.signal);
  let principal: SshPrincipal | undefined;
  let failures = 0;
  /** performance.now() at which it was last known to be welcome. */
  let verifiedAt = performance.now();
  let channels = 0;
  const streams = new Set<Channel>();
  /** Ends it when an exchange of keys takes too long. */
  let exchanging: NodeJS.Timeout | undefined;
  let outlet: Outlet | undefined;

  /** The signal first: sessions say why and are closed, then the connection. */
  function end(why?: string): void {
    if (ended.signal.aborted) return;
    // The sessions say why, and close; a client without any goes by itself. One that is told to go forgets what it was told before.
    ended.abort(why);
    setTimeout(() => client.end(), why === undefined ? 0 : PARTING_MS).unref();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  refuseSmallPackets(client);
  client.on('error', () => end());
  client.on('handshake', () => {
    clearTimeout(exchanging);
    exchanging = undefined;
  });
  socket.once('close', () => {
    clearTimeout(exchanging);
    end();
  });
  // Called when the library has worked on the same bytes: an exchange of keys begins only with what a client sends.
  socket.on('data', () => {
    // A client that sends beyond the window that it was given would fill our memory: it is cut.
    for (const stream of streams) if (stream.readableLength > UNREAD_BYTES) end();
    if (exchanging === undefined && isExchangingKeys(client)) exchanging = setTimeout(end, bounds.rekeyMs).unref();
  });
  client.on('authentication', (context) => {
    // Nobody could be asked, as on a standby: that says nothing about the key.
    void judge(context).catch(() => end());
  });
  client.on('session', (accept, reject) => {
    if (!count()) {
      reject();
      return;
    }
    serveSession(accept(), {
      ...{ principal: admitted(), inside: deps.inside, outlet: output(), gone: ended.signal, obstacle },
      onChannel: follow,
      onClosed: () => (channels -= 1),
    });
  });
  client.on('tcpip', (accept, reject, info) => {
    if (!count()) {
      reject();
      return;
    }
    const opened = (): Channel => {
      const channel = accept();
      follow(channel);
      return channel;
    };
    void forward(info, opened, reject, {
      ...{ principal: admitted(), inside: deps.inside, outlet: output(), gone: ended.signal },
      onClosed: () => (channels -= 1),
    });
  });

  function count(): boolean {
    if (principal === undefined || ended.signal.aborted || channels >= bounds.channels) return false;
    channels += 1;
    return true;
  }

  function admitted(): SshPrincipal {
    // The library opens no channel before login.
    if (principal === undefined) throw new Error('a channel was opened before login');
    return principal;
  }

  function output(): Outlet {
    return (outlet ??= new Outlet(client, socket, admitted().owner.org));
  }

  function follow(channel: Channel): void {
    streams.add(channel);
    channel.once('close', () => streams.delete(channel));
  }

  /** An open connection counts as activity, whatever goes through it. Source: spec, "Workspace", `idleTimeout`. */
  async function stay({ owner, epoch }: SshPrincipal): Promise<void> {
    if (epoch === undefined) return;
    try {
      const { leave } = await deps.inside.stay(owner, epoch);
      if (ended.signal.aborted) leave();
      else ended.signal.addEventListener('abort', leave, { once: true });
    } catch {
      // What does not run (here) any more has no activity either.
    }
  }

  async function judge(context: AuthContext): Promise<void> {
    if (context.method !== 'publickey') {
      // The first question of every client, which tells it what there is.
      if (context.method === 'none') context.reject(['publickey']);
      else fail(context);
      return;
    }
    const found = isSound(context) ? await authorization.admit(context.username, context.key.data) : undefined;
    if (ended.signal.aborted) return;
    if (found === undefined) {
      fail(context);
      return;
    }
    if (context.signature === undefined) {
      // It asks whether the key would do.
      context.accept();
      return;
    }
    // An Error, whatever its type says, when the signature has no sense at all.
    const verified: unknown = found.key.verify(context.blob ?? '', context.signature, context.hashAlgo);
    if (verified !== true) {
      fail(context);
      return;
    }
    principal = found.principal;
    deps.onLogin(found.principal);
    context.accept();
    void stay(found.principal);
    // What has changed while the signature was looked at was told to nobody.
    void reconsider();
  }

  function fail(context: AuthContext): void {
    failures += 1;
    if (failures >= bounds.tries) end();
    else context.reject(['publickey']);
  }

  async function obstacle(): Promise<string | undefined> {
    const standing = await authorization.standing(admitted());
    return standing.standing === 'Welcome' ? undefined : standing.message;
  }

  async function reconsider(): Promise<void> {
    if (principal === undefined) return;
    const standing = await authorization.standing(principal).catch(() => undefined);
    if (standing !== undefined) verifiedAt = performance.now();
    else if (performance.now() - verifiedAt > bounds.unverifiedMs) end('this key could not be verified again');
    // One who came while nothing ran is told so by his session.
    const over = standing?.standing === 'NotRunning' && principal.epoch !== undefined;
    if (standing?.standing === 'Unwelcome' || over) end(standing.message);
  }

  return {
    get principal() {
      return principal;
    },
    reconsider,
    end,
  };
}

/** RSA with SHA-1 proves nothing any more. */
function isSound({ key, hashAlgo }: PublicKeyAuthContext): boolean {
  return key.algo !== 'ssh-rsa' || hashAlgo !== undefined;
}
