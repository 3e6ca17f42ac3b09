/**
 * How many lists read from Postgres at once: part of its readers, so that reads of single objects never queue behind
 * lists, however many there are. Turns are given in the order in which they were asked for, one read each.
 *
 * I10: what waits is one entry for each list under way, and those are bounded by the requests in flight and the streams.
 */
export type ListTurn = <T>(read: () => Promise<T>) => Promise<T>;

export function openListTurns(atOnce: number): ListTurn {
  const waiting: (() => void)[] = [];
  let reading = 0;

  return async (read) => {
    if (reading < atOnce) reading += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await read();
    } finally {
      // The place is handed on: a read that comes in between queues.
      const next = waiting.shift();
      if (next) next();
      else reading -= 1;
    }
  };
}
