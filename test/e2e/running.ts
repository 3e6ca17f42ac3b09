/**
 * Runs a service for black-box tests: a process of its own, started as a user starts it, which a test may kill,
 * stop, continue and start again on the same data.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/app/free-port.js';
import { openEmptyDatabase, openTestDatabase } from '../support/postgres.js';
import { client, type Client } from './client.js';
import { processesOn } from './processes.js';
import { shared } from './shared.js';
import { until } from './until.js';

const MAIN = fileURLToPath(new URL('../../src/app/main.js', import.meta.url));
const SHORT_LIVED = new URL('../support/short-lived.js', import.meta.url).href;
/** A warm start takes a second or two; on a machine with twenty times its work, a minute. */
const READY_MS = 120_000;
/** A stop that takes longer is a fault of the service. */
const STOP_MS = 20_000;
/** Lines of the service's own log that are kept for a failing test. */
const LOG_LINES = 400;

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

export interface Running {
  readonly url: string;
  readonly tlsUrl: string;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly databaseUrl: string;
  pid(): number;
  /** A client with the bootstrap Owner's key. */
  client(): Client;
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void;
  /** SIGKILL, and waits until the process is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same data and waits until it is ready; answers how long that took, in ms. */
  start(): Promise<number>;
  /** Starts the process and does not wait for it. */
  launch(): void;
  ready(deadlineMs?: number): Promise<void>;
  /** True while the process lives. */
  alive(): boolean;
  /** Last lines of its output. */
  log(): string;
  /** Ends it, and what it left behind. */
  close(): Promise<void>;
}

export interface Setup {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Another's data: a standby on the same database. */
  readonly beside?: Running | undefined;
  /** An own database instead of a fresh one. `embedded`: none, so that the service starts its own Postgres. */
  readonly databaseUrl?: string | undefined;
  /** Its fresh database has no tables: something else makes them. */
  readonly emptyDatabase?: boolean | undefined;
  /** A directory for the data instead of a fresh one. The caller removes it. */
  readonly dataDir?: string | undefined;
  readonly ports?: { readonly http: number; readonly tls: number } | undefined;
  /** Told everything that the process prints, as it comes; `log()` keeps the last lines only. */
  readonly hear?: ((text: string) => void) | undefined;
  /** Where its standard error goes instead. */
  readonly stderr?: number | undefined;
}

interface Teardown {
  teardown(release: () => Promise<void>): void;
}

export async function openRunning(t: Teardown | undefined, setup: Setup = {}): Promise<Running> {
  const dataDir = setup.dataDir ?? (await mkdtemp(join(tmpdir(), 'troupe-e2e-')));
  const database =
    setup.databaseUrl === undefined && setup.beside === undefined
      ? await (setup.emptyDatabase === true ? openEmptyDatabase() : openTestDatabase())
      : undefined;
  const databaseUrl = setup.beside?.databaseUrl ?? setup.databaseUrl ?? database?.url ?? '';
  const http = setup.ports?.http ?? (await freePort());
  const tls = setup.ports?.tls ?? (await freePort());
  const url = `http://127.0.0.1:${http}`;
  const keyFile = join(setup.beside?.dataDir ?? dataDir, 'admin.key');
  const { NODE_ENV: _mode, ...inherited } = process.env;
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(
      Object.entries(inherited).filter(([name]) => !/^(TROUPE_|PORT$|HOST$|REDIS_URL$|DATABASE_URL$)/.test(name)),
    ),
    PORT: String(http),
    TROUPE_TLS_PORT: String(tls),
    TROUPE_SSH_PORT: '0',
    TROUPE_DATA_DIR: dataDir,
    // Tests load one key with what a whole org would send.
    TROUPE_KEY_REQUESTS_PER_SECOND: '1000000',
    TROUPE_ORG_REQUESTS_PER_SECOND: '1000000',
    // Nobody here waits for a command that does not end.
    TROUPE_DRAIN_SECONDS: '3',
    // A hundred would be made in the background of each of many services.
    TROUPE_SPARE_BOXES: '4',
    TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...(databaseUrl === 'embedded' ? {} : { DATABASE_URL: databaseUrl }),
    // A standby shares what lies beside the database.
    ...(setup.beside === undefined ? {} : { TROUPE_BLOB_DIR: join(setup.beside.dataDir, 'blobs') }),
    ...setup.env,
  };
  let child: ChildProcess | undefined;
  let key = '';
  const lines: string[] = [];

  const keep = (chunk: Buffer): void => {
    setup.hear?.(chunk.toString());
    lines.push(...chunk.toString().split('\n'));
    lines.splice(0, Math.max(0, lines.length - LOG_LINES));
  };
  const launch = (): void => {
    const started = spawn(process.execPath, ['--enable-source-maps', '--import', SHORT_LIVED, MAIN], {
      env,
      stdio: ['ignore', 'pipe', setup.stderr ?? 'pipe'],
    });
    started.stdout?.on('data', keep);
    started.stderr?.on('data', keep);
    started.once('exit', (code, name) => lines.push(`— process ended: ${code ?? name}`));
    child = started;
  };
  const alive = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const log = (): string => lines.join('\n');

  const ready = async (deadlineMs = READY_MS): Promise<void> => {
    try {
      const outcome = await until(
        `${url} is ready`,
        async () => {
          if (!alive()) return 'Ended';
          if ((await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(5000) })).status !== 200)
            return false;
          key = (await readFile(keyFile, 'utf8')).trim();
          return 'Ready';
        },
        deadlineMs,
      );
      if (outcome === 'Ended') throw new Error('the process has ended');
    } catch (error) {
      throw new Error(`the service did not get ready; its log:\n${log()}`, { cause: error });
    }
  };
  const gone = async (): Promise<void> => {
    const ending = child;
    if (ending !== undefined && alive()) await once(ending, 'exit');
  };

  const running: Running = {
    url,
    tlsUrl: `https://127.0.0.1:${tls}`,
    dataDir,
    kubeconfig: join(dataDir, 'kubeconfig'),
    databaseUrl,
    pid: () => child?.pid ?? 0,
    client: () => client(url, key),
    signal: (name) => void child?.kill(name),
    async kill() {
      child?.kill('SIGKILL');
      await gone();
    },
    async start() {
      const began = performance.now();
      launch();
      await ready();
      return performance.now() - began;
    },
    launch,
    ready,
    alive,
    log,
    async close() {
      let forced = false;
      if (alive()) {
        child?.kill('SIGCONT');
        child?.kill('SIGTERM');
        const force = setTimeout(() => (forced = child?.kill('SIGKILL') === true), STOP_MS);
        await gone();
        clearTimeout(force);
      }
      // The runner and an embedded Postgres outlive the service by design; nothing else names this directory.
      for (const pid of processesOn(dataDir).keys()) end(pid);
      await database?.close();
      if (setup.dataDir === undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
      if (forced || /something keeps the process/.test(log())) {
        throw new Error(`the service did not end by itself within ${STOP_MS} ms; its log:\n${log()}`);
      }
    },
  };
  t?.teardown(() => running.close());
  return running;
}

/** A service that is ready, with a fresh database. Another program may have taken its port since it was chosen: then it gets others. */
export async function startRunning(t: Teardown | undefined, setup: Setup = {}, again = true): Promise<Running> {
  const running = await openRunning(t, setup);
  try {
    await running.start();
    return running;
  } catch (error) {
    if (!again || setup.ports !== undefined || !running.log().includes('another program listens there')) throw error;
    if (t === undefined) await running.close();
    return startRunning(t, setup, false);
  }
}

const services = new Map<string, () => Promise<Running>>();

/**
 * The one service of this process that has these settings, started for the first test file that asks. Files that run together share it, so
 * each gives its objects names of its own; where tests kill it, they are serial, and so are all others that use it. It ends when every file
 * that asked has closed it.
 */
export async function shareRunning(t: Teardown | undefined, setup: Pick<Setup, 'env'> = {}): Promise<Running> {
  const key = JSON.stringify(setup.env ?? {});
  const share = services.get(key) ?? shared(() => startRunning(undefined, setup));
  services.set(key, share);
  const running = await share();
  t?.teardown(running.close);
  return running;
}
