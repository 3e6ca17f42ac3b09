/**
 * Whether the address of the setting HOST can be listened on, found out before anything is started: a name that does not resolve would
 * be taken for a Postgres that does not answer.
 */
import { createServer } from 'node:net';

/** Longest wait for the name to be looked up (ms). */
const LOOKED_UP_WITHIN = 15_000;

const FAULTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'is no address and no name that can be looked up',
  EAI_AGAIN: 'is no address, and as a name it cannot be looked up now',
  EADDRNOTAVAIL: 'is no address of this machine',
  EAFNOSUPPORT: 'is of a kind of addresses that this machine does not have',
  EINVAL: 'is no address that can be listened on',
};

/** Undefined: it can, or what fails has nothing to do with the address. */
export function hostFault(host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    const end = (fault: string | undefined): void => {
      clearTimeout(late);
      server.removeAllListeners('error').on('error', () => undefined);
      server.close();
      resolve(fault);
    };
    const late = setTimeout(() => end(FAULTS['EAI_AGAIN']), LOOKED_UP_WITHIN);
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => end(FAULTS[code]));
    server.listen(0, host, () => end(undefined));
  });
}
