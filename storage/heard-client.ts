/**
 * Owns the one kind of connection to Postgres that this service makes: one whose end somebody hears. A pool listens to its
 * idle connections only, and pg tells of an end more than once (the server's farewell, then the socket's): an 'error'
 * that nobody listens to would end the process. Whoever waits for an answer gets the error from there.
 */
import { Client, type ClientConfig } from 'pg';

export class HeardClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => {});
  }
}
