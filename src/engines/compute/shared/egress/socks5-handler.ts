/** The SOCKS5 half of the proxy: one handshake on one connection, then a tunnel. */
import type { Duplex } from 'node:stream';
import type { Dialled } from './dial.js';
import type { ProxyHandlerDeps } from './proxy-handler.js';
import type { Target } from './policy.js';
import { MAX_HANDSHAKE, NO_AUTHENTICATION, NO_METHOD, parseGreeting, parseRequest, REPLY, reply } from './socks.js';
import { join } from './tunnel.js';

/** Its first byte, not read yet, is that of SOCKS5. */
export function serveSocks(inner: Duplex, deps: ProxyHandlerDeps): void {
  let bytes: Buffer = Buffer.alloc(0);
  let greeted = false;
  const refuse = (words: Buffer): void => {
    inner.off('data', take);
    deps.spoke(inner);
    deps.senseless('SOCKS5');
    inner.end(words);
    inner.resume();
  };
  const take = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk]);
    if (!greeted) {
      const greeting = parseGreeting(bytes);
      if (greeting.kind === 'Bad') return refuse(reply(REPLY.failed));
      if (greeting.kind === 'More') return;
      if (!greeting.noAuthentication) return refuse(NO_METHOD);
      greeted = true;
      bytes = bytes.subarray(greeting.length);
      inner.write(NO_AUTHENTICATION);
    }
    const request = parseRequest(bytes);
    switch (request.kind) {
      case 'More':
        if (bytes.length > MAX_HANDSHAKE) refuse(reply(REPLY.failed));
        return;
      case 'Refused':
        return refuse(reply(request.reply));
      case 'Connect':
        inner.off('data', take);
        inner.pause();
        deps.spoke(inner);
        void connect(inner, request.target, bytes.subarray(request.length), deps);
    }
  };
  inner.on('data', take);
}

async function connect(inner: Duplex, target: Target, rest: Buffer, deps: ProxyHandlerDeps): Promise<void> {
  const opened = await deps.open('SOCKS5', target, inner);
  if (opened.outcome !== 'Connected') {
    inner.end(reply(replyOf(opened)));
    inner.resume();
    return;
  }
  inner.write(reply(REPLY.succeeded));
  if (rest.length > 0) opened.socket.write(rest);
  join(inner, opened.socket, deps);
}

function replyOf(failed: Exclude<Dialled, { outcome: 'Connected' }>): number {
  if (failed.outcome === 'Refused') return REPLY.notAllowed;
  if (failed.outcome === 'Full') return REPLY.failed;
  switch (failed.reason) {
    case 'ConnectionRefused':
      return REPLY.connectionRefused;
    case 'TimedOut':
      return REPLY.timedOut;
    default:
      return REPLY.hostUnreachable;
  }
}
