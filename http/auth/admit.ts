/**
 * Lets a request in: finds its caller, counts the request against the caller's rate, and takes a place in flight for it.
 * Everything that needs a caller comes through here.
 */
import type { Caller } from '../../actors/resource-service.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import type { Identity } from './authenticator.js';

/** Refuses with Unauthorized or TooManyRequests. `header`: an `Authorization` header. */
export async function admit(x: Exchange, context: ServerContext, header: string | undefined): Promise<Caller> {
  return admitAs(x, context, await context.authenticator.authenticate(header, x.from));
}

/** As `admit`, of one who is known already. */
export function admitAs(x: Exchange, context: ServerContext, identity: Identity): Caller {
  const { caller } = identity;
  x.identity = identity;
  const isWelcome = context.connections.welcome(x.req.socket, caller);
  context.rates.demand(caller);
  if (!isWelcome) {
    if (!x.res.headersSent) x.res.setHeader('connection', 'close');
    throw context.connections.tooMany(caller);
  }
  x.place = context.admission.enter(caller);
  return caller;
}
