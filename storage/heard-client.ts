/**
 * Owns the one kind of connection to Postgres that this service makes: one whose end never ends the process. A pool listens
 * to its idle connections only, pg tells of an end more than once (the server's farewell, then the socket's), and a library
 * may take all listeners off a connection that it is done with: an 'error' that nobody listens to would be thrown. Whoever waits
 * for an answer gets the error from there.
 */
import { Client } from 'pg';

export class HeardClient extends Client {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event, ...args);
  }
}
