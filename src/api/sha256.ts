/** The hash by which credentials and requests are known. */
import { createHash, hash } from 'node:crypto';

/** In hex. `crypto.hash` is three times as fast as a Hash object for something short; Node 20.12 and up have it. */
export const sha256: (data: string | Buffer) => string =
  typeof hash === 'function'
    ? (data) => hash('sha256', data, 'hex')
    : (data) => createHash('sha256').update(data).digest('hex');
