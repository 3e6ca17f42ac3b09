/**
 * Preloaded into a peer that cannot be told where to listen, and would for all addresses of the machine: a gateway that relays for everybody. It listens on
 * loopback then, and is not changed otherwise.
 */
import { Server } from 'node:net';

const listen = Server.prototype.listen as (...given: unknown[]) => Server;

function onLoopback(this: Server, port: unknown, ...rest: unknown[]): Server {
  if (typeof port !== 'number') throw new Error('this server is started by a port');
  const told = rest.filter((one) => typeof one === 'function');
  return listen.call(this, { port, host: '127.0.0.1', backlog: 2_048 }, ...told);
}

Server.prototype.listen = onLoopback as typeof Server.prototype.listen;
