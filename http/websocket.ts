/**
 * WebSockets of which this service is the other end: the handshake, their bounds, their heartbeat and their end.
 *
 * I10: a message has at most MAX_MESSAGE bytes (larger: close 1009); nothing is compressed, since a small frame could then
 * unpack to any size. One message or ping of a connection is taken in a turn of the event loop, and while
 * the answer to a ping is on its way, only the latest of those that follow waits for one (RFC 6455, 5.5.3). A peer that gives no sign for SILENT_MS is gone; a drain closes with 1001.
 */
import { WebSocket, WebSocketServer } from 'ws';
import { refuse } from '../src/api/refusal.js';
import { plainSubprotocols } from './auth/extract-credential.js';
import type { Exchange } from './exchange.js';
import type { Stream } from './streams.js';

/** What is pasted into a terminal at once has room in it. */
const MAX_MESSAGE = 1024 * 1024;
/** Frames of one message: they are taken in one turn of the loop. */
const MAX_FRAGMENTS = 1_024;
const PING_MS = 30_000;
/** Two pings and a slow way back. */
const SILENT_MS = 75_000;
/** RFC 6455, 5.5: a control frame carries 125 bytes, two of them the code. */
const MAX_REASON = 123;

const acceptor = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE,
  maxFragments: MAX_FRAGMENTS,
  // A read of 64 KiB may hold 10,000 frames: the next one is taken in the next turn of the loop.
  allowSynchronousEvents: false,
  // By `heartbeat`.
  autoPong: false,
  handleProtocols: (offered) => [...offered].find((name) => chosen.has(name)) ?? false,
});
/** Those that the handshake under way may choose; the handshake is done within one turn. */
let chosen: ReadonlySet<string> = new Set();
// Checked beforehand, so this is for what the library knows beyond it.
acceptor.on('wsClientError', (_error, socket) => socket.destroy());

/** Refuses with BadRequest what is no WebSocket handshake. */
export function demandWebSocket(x: Exchange): void {
  const { headers } = x.req;
  if (x.upgrade === undefined || headers.upgrade?.toLowerCase() !== 'websocket') {
    throw refuse('BadRequest', 'this path is a WebSocket', {
      fix: 'Use a WebSocket client, and send the key as the Authorization header or as a subprotocol.',
    });
  }
  if (headers['sec-websocket-version'] !== '13') {
    x.res.setHeader('sec-websocket-version', '13');
    throw refuse('BadRequest', 'Sec-WebSocket-Version must be 13');
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    throw refuse('BadRequest', 'Sec-WebSocket-Key is not 16 bytes in base64');
  }
  const offered = plainSubprotocols(x.req);
  if (new Set(offered).size < offered.length || !offered.every((name) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name))) {
    throw refuse('BadRequest', 'Sec-WebSocket-Protocol must be a list of distinct names');
  }
}

/** After `demandWebSocket`; answers 101. The first offered subprotocol that is one of ours is chosen. */
export function acceptWebSocket(x: Exchange, subprotocols: readonly string[]): WebSocket {
  const { upgrade } = x;
  if (upgrade === undefined) throw new Error('no handshake');
  x.leaveHttp(upgrade);
  chosen = new Set(subprotocols);
  let accepted: WebSocket | undefined;
  acceptor.handleUpgrade(x.req, upgrade.socket, upgrade.head, (webSocket) => (accepted = webSocket));
  if (accepted === undefined) throw refuse('BadRequest', 'the WebSocket handshake is not valid');
  // What is wrong is told by the close, which always follows.
  accepted.on('error', () => undefined);
  return accepted;
}

/** For `Streams`: answers pings, sends its own, ends a peer that is silent, and ends all at a drain. */
export function heartbeat(webSocket: WebSocket): Required<Pick<Stream, 'sweep' | 'end'>> {
  let heard = performance.now();
  let pinged = heard;
  let waiting = 0;
  const sign = (): void => {
    heard = performance.now();
  };
  for (const event of ['pong', 'ping', 'message']) webSocket.on(event, sign);
  let answering = false;
  let latest: Buffer | undefined;
  function answerPing(): void {
    if (answering || latest === undefined || webSocket.readyState !== WebSocket.OPEN) return;
    answering = true;
    webSocket.pong(latest, false, () => {
      answering = false;
      answerPing();
    });
    latest = undefined;
  }
  webSocket.on('ping', (data) => {
    latest = data;
    answerPing();
  });
  return {
    sweep(now) {
      // One who takes what waits, or whom we do not read, cannot answer a ping in time.
      if (webSocket.isPaused || webSocket.bufferedAmount < waiting) heard = now;
      waiting = webSocket.bufferedAmount;
      if (now - heard > SILENT_MS) webSocket.terminate();
      else if (now - pinged >= PING_MS && webSocket.readyState === WebSocket.OPEN) {
        pinged = now;
        webSocket.ping();
      }
    },
    end() {
      webSocket.close(1001, 'the service is shutting down');
    },
  };
}

/** As the reason of a close frame: whole, or without its message when that is too long. */
export function closeReason(said: Readonly<Record<string, unknown>>): string {
  const whole = JSON.stringify(said);
  if (Buffer.byteLength(whole) <= MAX_REASON) return whole;
  const { message: _message, ...rest } = said;
  return JSON.stringify(rest);
}
