/**
 * Owns the whole service as a test sees it: the built program as a process of its own, with its own data directory and
 * free ports. A test talks to it over HTTP, kills it, and starts it again.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { readAdminKey } from '../../ops/admin-key.js';
import { readListening } from '../../ops/listening.js';
import { stopServer } from '../../ops/postgres/server.js';
import { openTestDatabase } from './postgres.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const READY_MS = 60_000;
/** Longer than the drain by default. */
const STOP_MS = 40_000;
const LOOK_MS = 20;
/** Characters of output kept; older ones are dropped. */
const LOG_LENGTH = 1_000_000;

export interface ServiceOptions {
  /**
   * Settings beside the defaults of a test: a database of its own, free ports. `DATABASE_URL: ''` asks for the embedded
   * Postgres; `PORT` and `TROUPE_TLS_PORT` for certain ports.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Of another service, to start a second process on it. Default: a new one, removed by `close`. */
  readonly dataDir?: string | undefined;
  /** Another program, such as an older build. Default: this build's `src/main.js`. */
  readonly main?: string | undefined;
  /** Resolve when the process is up, even when it is not ready (a standby). Default: wait for /readyz. */
  readonly standby?: boolean | undefined;
}

export interface Service {
  /** Base URL for HTTP, without a slash at its end. */
  readonly url: string;
  /** Base URL for HTTPS; its CA is in `<dataDir>/kubeconfig` and `<dataDir>/tls/ca.crt`. */
  readonly tlsUrl: string;
  readonly adminKey: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly pid: number;
  /** What it printed: the last part of it. */
  logs(): string;
  /** Sends a signal; for a deadly one, resolves when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** SIGTERM, and SIGKILL when that takes too long; the data stays. Answers the exit code (null: by signal). */
  stop(): Promise<number | null>;
  /** Stops it if it runs, and starts it again on the same data and ports. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves when /readyz answers 200. */
  ready(): Promise<void>;
  /** Ends everything that it left running, and removes its data. */
  close(): Promise<void>;
}

export const startService = async (options: ServiceOptions = {}): Promise<Service> => {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'troupe-test-service-')));
  const database = options.env?.['DATABASE_URL'] === undefined ? await openTestDatabase() : undefined;
  const databaseUrl = database?.url ?? options.env?.['DATABASE_URL'] ?? '';
  let settings: Readonly<Record<string, string>> = {
    PORT: '0',
    TROUPE_TLS_PORT: 'any',
    TROUPE_LOG_LEVEL: 'info',
    TROUPE_DATA_DIR: dataDir,
    ...options.env,
    DATABASE_URL: databaseUrl,
  };
  let output = '';
  let current: Running | undefined;
  let place = { url: '', tlsUrl: '' };

  const running = (): Running => {
    if (current === undefined) throw new Error('the service was stopped');
    return current;
  };
  const launch = async (): Promise<void> => {
    current = spawnService(options.main ?? MAIN, settings, (text) => {
      output = (output + text).slice(-LOG_LENGTH);
    });
    const { child } = current;
    await until('it listens', async () => {
      if (ended(child)) throw new Error(`the service ended while it started:\n${output.slice(-4000)}`);
      const announced = await readListening(dataDir);
      if (announced?.pid === child.pid) {
        place = { url: announced?.http ?? '', tlsUrl: announced?.https ?? '' };
        return true;
      }
      return options.standby === true && output.includes('standby');
    });
    if (options.standby !== true) await ready();
    // The same ports at the next start, so that clients find it again.
    if (place.url !== '') settings = { ...settings, PORT: new URL(place.url).port };
    if (place.tlsUrl !== '') settings = { ...settings, TROUPE_TLS_PORT: new URL(place.tlsUrl).port };
  };
  const ready = (): Promise<void> =>
    until('it is ready', async () => {
      if (ended(running().child)) throw new Error(`the service ended while it started:\n${output.slice(-4000)}`);
      const response = await fetch(`${place.url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.status === 200;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${output.slice(-4000)}`, { cause: error });
    });
  const stop = async (): Promise<number | null> => {
    if (current === undefined) return null;
    const { child, exit } = current;
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const late = delay(STOP_MS, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    const code = await Promise.race([exit, late.then(() => exit)]);
    current = undefined;
    return code;
  };

  await launch();
  const adminKey = (await readAdminKey(dataDir)) ?? '';
  return {
    get url() {
      return place.url;
    },
    get tlsUrl() {
      return place.tlsUrl;
    },
    get pid() {
      return running().child.pid ?? 0;
    },
    get adminKey() {
      return adminKey;
    },
    dataDir,
    databaseUrl,
    logs: () => output,
    kill: async (signal) => {
      const { child, exit } = running();
      child.kill(signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT') {
        await exit;
        current = undefined;
      }
    },
    stop,
    restart: async (env = {}) => {
      await stop();
      settings = { ...settings, ...env };
      await launch();
    },
    ready,
    close: async () => {
      await stop();
      if (options.dataDir === undefined) {
        await endLeftovers(dataDir);
        await stopServer(join(dataDir, 'postgres', 'cluster'));
        await rm(dataDir, { recursive: true, force: true });
      }
      await database?.close();
    },
  };
};

interface Running {
  readonly child: ChildProcess;
  /** Exit code, or null when a signal ended it. */
  readonly exit: Promise<number | null>;
}

const spawnService = (
  main: string,
  settings: Readonly<Record<string, string>>,
  onOutput: (text: string) => void,
): Running => {
  const { PATH, HOME, LANG } = process.env;
  const child = spawn(process.execPath, [main], {
    // Settings of whoever runs the tests stay outside.
    env: Object.fromEntries(
      Object.entries({ PATH, HOME, LANG, ...settings }).filter(([, value]) => value !== undefined && value !== ''),
    ),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk: Buffer) => onOutput(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => onOutput(chunk.toString()));
  const exit = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
  return { child, exit };
};

const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + READY_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${READY_MS / 1000} s until ${what}`);
    await delay(LOOK_MS);
  }
};

/** Ends what the service left running on purpose (the runner and its work): every process that names this directory. */
const endLeftovers = async (dataDir: string): Promise<void> => {
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (!Number.isSafeInteger(pid) || pid === process.pid) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const isPostgres = command.split('\0')[0]?.endsWith('/postgres') === true;
    if (!command.includes(dataDir) || isPostgres) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
};
