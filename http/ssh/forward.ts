/**
 * A forwarded connection (`ssh -L`, `-D`, `-J`): a channel joined to a port on the loopback of the Workspace. Each direction
 * ends by itself, so that a protocol that half-closes works. Anywhere else than loopback is refused: the way out of a Workspace is its
 * `network`, not this server.
 */
import type { Duplex } from 'node:stream';
import type { Channel, TcpipRequestInfo } from 'ssh2';
import { joinChunks } from '../../src/engines/chunk-joiner.js';
import type { SshPrincipal, Inside } from './deps.js';
import type { Outlet } from './outlet.js';

export interface ForwardDeps {
  readonly principal: SshPrincipal;
  readonly inside: Inside;
  readonly outlet: Outlet;
  readonly gone: AbortSignal;
  onClosed(): void;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** `accept` is called once a program answers inside. Never rejects. */
export async function forward(
  { destIP, destPort }: Pick<TcpipRequestInfo, 'destIP' | 'destPort'>,
  accept: () => Channel | undefined,
  reject: () => void,
  deps: ForwardDeps,
): Promise<void> {
  const { epoch, owner } = deps.principal;
  const closed = new AbortController();
  const leave = (): void => closed.abort();
  deps.gone.addEventListener('abort', leave, { once: true });
  const over = (): void => {
    deps.gone.removeEventListener('abort', leave);
    closed.abort();
    deps.onClosed();
  };
  const possible = LOOPBACK.test(destIP) && destPort > 0 && destPort < 65_536 && epoch !== undefined;
  const connected = possible
    ? await deps.inside.connect(owner, { port: destPort, epoch }, closed.signal).catch(() => undefined)
    : undefined;
  const channel = connected?.outcome === 'Connected' && !deps.gone.aborted ? accept() : undefined;
  if (connected?.outcome !== 'Connected' || channel === undefined) {
    if (connected?.outcome === 'Connected') connected.stream.destroy();
    if (!deps.gone.aborted) reject();
    over();
    return;
  }
  join(channel, connected.stream, deps.outlet, closed.signal, over);
}

function join(channel: Channel, inner: Duplex, outlet: Outlet, gone: AbortSignal, over: () => void): void {
  joinChunks(channel);
  let open = 2;
  const half = (): void => {
    open -= 1;
    if (open === 0) channel.close();
  };
  channel.on('error', () => undefined);
  channel.once('close', () => {
    inner.destroy();
    over();
  });
  inner.on('error', () => undefined);
  /** What has come out is on its way; its end goes behind it. Node tells an end also to one who reads no further. */
  let sending = Promise.resolve(true);
  // Also after an error: what was sent is sent, and no more will come.
  inner.once('close', () => void sending.then(() => channel.destroy()));

  inner.on('data', (data: Buffer) => {
    inner.pause();
    sending = outlet.write(channel, data, gone);
    void sending.then((room) => (room ? inner.resume() : inner.destroy()));
  });
  inner.once('end', () => {
    void sending.then(() => {
      channel.eof();
      half();
    });
  });
  channel.on('data', (data: Buffer) => {
    if (inner.write(data)) return;
    channel.pause();
    inner.once('drain', () => channel.resume());
  });
  channel.once('end', () => {
    inner.end();
    half();
  });
}
