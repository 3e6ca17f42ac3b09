/**
 * How many lists read from Postgres at once: part of its readers, so that reads of single objects never queue behind
 * lists, however many there are. Each turn is one read, and orgs take them in turns (`effects/turns.ts`): many lists of one org hold up
 * those of another by one read for each place.
 *
 * I10: what waits is one entry for each list under way, and those are bounded by the requests in flight and the streams.
 */
import { Turns } from './effects/turns.js';

export type ListTurn = <T>(org: string, read: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly org: string;
  begin(): void;
}

export function openListTurns(atOnce: number): ListTurn {
  const turns = new Turns<Waiting>(atOnce, false);

  return async (org, read) => {
    let isFree = false;
    const granted = new Promise<void>((resolve) => {
      const begin = (): void => {
        isFree = true;
        resolve();
      };
      turns.add({ org, begin });
      turns.take()?.begin();
    });
    if (!isFree) await granted;
    try {
      return await read();
    } finally {
      turns.release({ org });
      turns.take()?.begin();
    }
  };
}
