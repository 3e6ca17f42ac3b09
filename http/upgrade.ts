/**
 * Requests that ask to leave HTTP (`Connection: Upgrade`): which of them may, and that all others are served as if they
 * had not asked (RFC 9110, 7.8: a server may ignore it; clients of HTTP/2 ask with each first request).
 *
 * One that may goes the way of every other request (gate, caller, rates, authorisation, the one funnel): its Exchange has
 * an answer of its own on the bare connection, so a refusal is a plain HTTP answer. A handler that agrees takes the
 * connection (`Exchange.leaveHttp`), and from then on nothing else writes to it.
 *
 * Node counts such connections no longer among those of its server, so they are kept here until they close (I10: bounded
 * by the server's MAX_CONNECTIONS, and those that were agreed to by the bound on streams).
 */
import { ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { refusePipelined } from './pipelining.js';

/** A connection whose request asked to leave HTTP. */
export interface Upgrade {
  readonly socket: Socket;
  /** What has arrived behind the request already. */
  readonly head: Buffer;
}

export interface UpgradeDeps {
  /** Whether this path can be left to what `Upgrade` names. */
  may(path: string, protocol: string): boolean;
  serve(req: IncomingMessage, res: ServerResponse, upgrade: Upgrade): void;
}

export interface Upgrades {
  /** `event`: by which the server takes connections in. */
  follow(server: Server, event: 'connection' | 'secureConnection'): void;
  close(): void;
}

/** A refused client has so long to read the answer and to close, ms. */
const LINGER_MS = 2_000;

export function openUpgrades(deps: UpgradeDeps): Upgrades {
  const open = new Set<Socket>();
  /** Each return to the server leaves a listener on the connection, and nobody needs to ask twice. */
  const returned = new WeakSet<Socket>();

  function take(req: IncomingMessage, socket: Socket, head: Buffer): void {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    res.once('finish', () => {
      res.detachSocket(socket);
      // What still comes is thrown away: a close over unread bytes would take the answer with it.
      socket.resume();
      socket.end();
      socket.setTimeout(LINGER_MS, () => socket.destroy());
    });
    deps.serve(req, res, { socket, head });
  }

  return {
    follow(server, event) {
      server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
        if (refusePipelined(req, socket)) return;
        // Nobody else listens on a connection that has left its server.
        const onError = (): void => void socket.destroy();
        socket.on('error', onError);
        try {
          if (deps.may(pathOf(req), req.headers.upgrade?.toLowerCase() ?? '')) take(req, socket, head);
          else {
            const again = returned.has(socket);
            returned.add(socket);
            socket.unshift(Buffer.concat([Buffer.from(withoutQuestion(req, again), 'latin1'), head]));
            socket.off('error', onError);
            server.emit(event, socket);
          }
        } catch {
          // Two requests at once on one connection, of which the second asked: its answer could not be told from the first's.
          socket.destroy();
        }
      });
    },
    close() {
      for (const socket of open) socket.destroy();
    },
  };
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

const ASKING = new Set(['upgrade', 'http2-settings', 'connection']);

/** The request's head as it came, without the question. `last`: the connection ends with its answer. */
function withoutQuestion(req: IncomingMessage, last: boolean): string {
  const lines = [`${req.method ?? 'GET'} ${req.url ?? '/'} HTTP/${req.httpVersion}`];
  const { rawHeaders } = req;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (!ASKING.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[i + 1] ?? ''}`);
  }
  const kept = (req.headers.connection ?? '')
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '' && !ASKING.has(token.toLowerCase()));
  if (last) kept.push('close');
  if (kept.length > 0) lines.push(`Connection: ${kept.join(', ')}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
