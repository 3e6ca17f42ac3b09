/** Fits the bound of connections to the number of files that the system lets this process open. */
import { readFileSync } from 'node:fs';
import type { Log } from './log.js';

/** As `http/connections.ts` has them where nothing limits them. */
const CONNECTIONS = 30_000;
/** The rest is for files, Postgres, and what leads to boxes and receivers. */
const PART = 0.75;

/** The bound of connections; undefined: the usual one. Warns when the system's limit makes it smaller. */
export function connectionsWithin(limit: number | undefined, log: Log): number | undefined {
  if (limit === undefined || limit * PART >= CONNECTIONS) return undefined;
  const connections = Math.floor(limit * PART);
  const needed = Math.ceil(CONNECTIONS / PART);
  log.warn(
    { openFiles: limit, needed, connections },
    `this process may open ${limit} files, so it takes ${connections} connections at most; ${needed} files (ulimit -n, LimitNOFILE=) are enough for all`,
  );
  return connections;
}

/** Files that this process may have open; undefined where the system does not say. Node has raised the soft limit to the hard one. */
export function openFilesLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
