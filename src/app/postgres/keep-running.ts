/**
 * Keeps the embedded Postgres running: looks whether the server's process lives, and starts it again when it has ended, on the
 * port it had, because the connections of this process name it. It goes on trying with growing pauses, since what ended the
 * server may last: a full disk, too little memory. Of several processes that share the server one starts it, the others adopt.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { processEnd } from '../../process-start.js';
import type { Cluster } from './cluster.js';
import { startServer, type Server } from './server.js';

export interface KeptServer {
  /** Process id of the server. */
  pid(): number;
  /** Ends the looking, not the server. */
  close(): Promise<void>;
}

export interface KeepRunningOptions {
  readonly cluster: Cluster;
  readonly logFile: string;
  readonly server: Server;
  /** This process reaches the server by a socket in its directory, so that another program on its TCP port does not matter. */
  readonly hasSocket: boolean;
  readonly log: (line: string) => void;
}

/** Pause after a start that failed (ms): doubles from the first to the second. */
const LEAST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

export function keepRunning({ cluster, logFile, server, hasSocket, log }: KeepRunningOptions): KeptServer {
  const closing = new AbortController();
  const { port } = server;
  let { pid } = server;

  async function startAgain(): Promise<void> {
    let said = '';
    for (let failures = 0; !closing.signal.aborted; failures++) {
      try {
        // Every second time without TCP, where nothing of this process needs it: the port may be another program's by now.
        const how = hasSocket && failures % 2 === 1 ? { port, listen_addresses: '' } : { port };
        const started = await startServer(cluster, logFile, closing.signal, how);
        pid = started.pid;
        if (started.port !== port) {
          // By a program that knew of no port: only a start of this process finds it there.
          log(`Postgres (pid ${pid}) listens on port ${started.port} now, not on ${port}: restart this process`);
        } else log(`${started.adopted ? 'adopted' : 'started'} Postgres again (pid ${pid})`);
        return;
      } catch (error) {
        if (closing.signal.aborted) return;
        const reason = error instanceof Error ? error.message : 'unknown';
        if (reason !== said) log(`Postgres does not start again, and it is tried until it does: ${reason}`);
        said = reason;
        const pause = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** failures);
        await delay(pause, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  }

  async function keep(): Promise<void> {
    while (!closing.signal.aborted) {
      await processEnd(pid, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
      log(`Postgres (pid ${pid}) has ended; it is started again`);
      await startAgain();
    }
  }
  const kept = keep();

  return {
    pid: () => pid,
    async close() {
      closing.abort();
      await kept;
    },
  };
}
