/**
 * Lets a request in: finds its caller, counts the request against the caller's rate, and takes a place in flight for it.
 * Everything that needs a caller comes through here.
 */
import type { Caller } from '../../actors/stage.js';
import type { Exchange } from '../exchange.js';
import type { Room } from '../room.js';
import type { Identity } from './authenticator.js';

/** Refuses with Unauthorized or TooManyRequests. `header`: an `Authorization` header. */
export async function admit(x: Exchange, room: Room, header: string | undefined): Promise<Caller> {
  return admitAs(x, room, await room.authenticator.authenticate(header, x.from));
}

/** As `admit`, of one who is known already. */
export function admitAs(x: Exchange, room: Room, identity: Identity): Caller {
  const { caller } = identity;
  x.identity = identity;
  const isWelcome = room.connections.welcome(x.req.socket, caller);
  room.rates.demand(caller);
  if (!isWelcome) {
    if (!x.res.headersSent) x.res.setHeader('connection', 'close');
    throw room.connections.tooMany(caller);
  }
  x.place = room.admission.enter(caller);
  return caller;
}
