/**
 * The embedded engine: ComputeEngine over the socket of this machine's runner. It keeps no state of work of its own: the
 * runner knows, and every report is the whole state.
 *
 *     const engine = await openNamespacesEngine({ runnerDir: '.data/runner', clusterId, leaseEpoch, log });
 *     await engine.watch(onState, onLost, signal);
 *     await engine.start(order, signal);
 */
import { join } from 'node:path';
import { API_DIRECTORY, WORK_ROOT } from '../../../brand.js';
import type {
  ComputeEngine,
  EngineFacts,
  LogLine,
  LogPace,
  LogQuery,
  ProcessStart,
  ProcessState,
  WorkSpec,
  WorkState,
} from '../contract/engine.js';
import { isPlainName } from '../shared/plain-name.js';
import { AGENT_VERSION, NETWORK_VERSION, type Event, type WireOrder } from '../../../runner/protocol/messages.js';
import { runnerSettings, type RunnerSettings } from '../../../runner/settings.js';
import type { RunnerAddress } from './open-stream.js';
import type { Ask, Connection } from './connection.js';
import { startExec } from './exec.js';
import { LogFollowers } from './log-followers.js';
import { Link } from './link.js';
import { connectPort } from './port.js';
import { EngineRefusal } from '../shared/refusal.js';
import { silentLog, type EngineLog } from '../shared/log/stored-log.js';
import { LogReader } from '../shared/log/read-log.js';
import { Replacement } from './replacement.js';
import { placeRunner, type RunnerPlace } from './start-runner.js';
import { onSystem, SYSTEM_IMAGES } from './images.js';

export interface NamespacesOptions {
  /** The runner's own directory, below the data directory; made when absent. */
  readonly runnerDir: string;
  /** Names the service whose runner this is; the same after every restart. */
  readonly clusterId: string;
  /** Epoch of the lease under which orders are given; a runner obeys only the highest it has seen. */
  readonly leaseEpoch: number;
  readonly log?: EngineLog | undefined;
  /** Directories of the service (its data, its program) that work must not see wherever they lie. */
  readonly hidden?: readonly string[] | undefined;
  /** Special addresses and ranges that work may reach where its network policy allows; none by default. */
  readonly egressAllow?: readonly string[] | undefined;
  /** See `runner/settings.ts`; a runner that already runs keeps the settings it was started with. */
  readonly runner?:
    | Partial<
        Pick<
          RunnerSettings,
          'isolation' | 'idleSeconds' | 'maxLive' | 'maxKept' | 'diskSeconds' | 'spares' | 'orgLogBytes'
        >
      >
    | undefined;
}

interface Watcher {
  readonly onState: (state: WorkState) => void;
  readonly onLost: (reason: string) => void;
}

/** Resolves when a runner answers; throws EngineRefusal (Unavailable) when none does in time. */
export async function openNamespacesEngine(options: NamespacesOptions): Promise<ComputeEngine> {
  const parsed = runnerSettings.omit({ runnerDir: true, runtimeDir: true, runnerId: true }).parse({
    ...options.runner,
    hidden: [options.runnerDir, ...(options.hidden ?? [])],
  });
  const place = placeRunner(options.runnerDir, options.clusterId, parsed);
  return openAt(place, options.leaseEpoch, options.log ?? silentLog, options.egressAllow);
}

/** The same for a runner whose place was made by the caller, also one of another user. */
export async function openAt(
  place: RunnerPlace,
  leaseEpoch: number,
  log: EngineLog,
  egressAllow?: readonly string[],
): Promise<ComputeEngine> {
  const watchers = new Set<Watcher>();
  const followers = new LogFollowers();
  const never = new AbortController().signal;

  const onEvent = (event: Event): void => {
    switch (event.event) {
      case 'states':
        for (const state of event.states) for (const watcher of watchers) watcher.onState(state);
        return;
      case 'grown':
        followers.grown(event.work, event.container, event.ended);
        return;
    }
  };
  const subscribe = async (connection: Connection): Promise<void> => {
    const states = (await connection.ask({ op: 'watch' }, never)) as readonly WorkState[];
    for (const state of states) for (const watcher of watchers) watcher.onState(state);
  };
  const link = new Link(
    place,
    leaseEpoch,
    {
      onEvent,
      onLost: (reason) => {
        for (const watcher of watchers) watcher.onLost(reason);
      },
      onConnected: (connection) => {
        // A connection that breaks here is followed by the next one, which subscribes again.
        if (watchers.size > 0) subscribe(connection).catch(() => undefined);
        followers.reconnected();
      },
    },
    log,
  );
  try {
    await link.connection(never);
  } catch (error) {
    link.close();
    throw error;
  }

  const replacement = new Replacement(link);
  const address = async (agent: boolean, signal: AbortSignal): Promise<RunnerAddress> => {
    const connection = await link.connection(signal);
    if (agent) needsAgent(connection);
    return { path: place.layout.socket, version: connection.welcome.version, epoch: leaseEpoch };
  };
  const askAgent = async (request: Ask, signal: AbortSignal): Promise<unknown> => {
    needsAgent(await link.connection(signal));
    return link.ask(request, signal);
  };

  return {
    name: 'namespaces',
    // Its images are this machine's own system.
    images: 'Catalog',
    apiDirectory: place.layout.api,
    facts: async (signal) => (await link.ask({ op: 'facts' }, signal)) as EngineFacts,
    epochSeen: async (signal) => (await link.connection(signal)).welcome.epoch,
    start: async (spec, signal) => {
      const { network } = spec;
      const version = network !== undefined && network.egress !== 'Deny' ? NETWORK_VERSION : 0;
      const request = { op: 'start', order: wireOrder(spec, egressAllow) } as const;
      await replacement.start(version, NO_NETWORK, () => link.ask(request, signal), signal);
    },
    stop: async (id, graceSeconds, signal) => {
      await link.ask({ op: 'stop', work: id, graceSeconds }, signal);
    },
    fund: async (times, signal) => {
      const wire = times.map(({ work, seconds = null }) => ({ work, seconds }));
      await link.ask({ op: 'fund', times: wire }, signal).catch((error: unknown) => {
        // A runner of an older program does not know it.
        if (!(error instanceof EngineRefusal) || error.code !== 'Invalid') throw error;
      });
    },
    remove: async (id, logs, signal) => {
      await link.ask({ op: 'remove', work: id, logs }, signal);
    },
    list: async (signal) => (await link.ask({ op: 'list' }, signal)) as readonly WorkState[],
    watch: async (onState, onLost, signal) => {
      const connection = await link.connection(signal);
      const watcher = { onState, onLost };
      watchers.add(watcher);
      signal.addEventListener('abort', () => watchers.delete(watcher), { once: true });
      try {
        await connection.ask({ op: 'watch' }, signal);
      } catch (error) {
        if (!(error instanceof EngineRefusal)) throw error;
        // It broke just now; the next connection subscribes for all watchers.
        await link.connection(signal);
      }
    },
    exec: async (order, signal) =>
      startExec(await address(order.terminal !== undefined, signal), onSystem(order), signal),
    startProcess: async (order, signal) =>
      (await askAgent({ op: 'startProcess', order: onSystem(order) }, signal)) as ProcessStart,
    processes: async (work, signal) =>
      ((await askAgent({ op: 'processes', work }, signal)) as readonly ProcessState[] | null) ?? undefined,
    writeProcess: async (work, id, { data, end }, signal) => {
      const text = Buffer.from(data).toString('base64');
      // Once only: what was taken must not be taken again.
      const connection = await link.connection(signal);
      needsAgent(connection);
      const write = { op: 'writeProcess', work, process: id, data: text, end } as const;
      return (await connection.ask(write, signal)) as 'Taken' | 'Full' | 'Gone';
    },
    signalProcess: async (work, id, name, signal) =>
      (await askAgent({ op: 'signalProcess', work, process: id, signal: name }, signal)) as 'Sent' | 'Gone',
    connect: async (work, port, signal) => connectPort(await address(true, signal), work, port, signal),
    logs: (id, query, signal, pace) => readLogs(place.layout.logs, link, followers, id, query, signal, pace),
    close: async () => {
      link.close();
      followers.close();
    },
  };
}

/** A runner lives as long as it has work: that of an older program may still be there. */
function needsAgent({ welcome }: Connection): void {
  if (welcome.version >= AGENT_VERSION) return;
  throw new EngineRefusal(
    'Unavailable',
    'the runner on this machine is of an older version, which has no terminals, processes and ports; it is replaced once it has no work',
  );
}

/** Work that waits for the network it was promised would fail in a way that nobody could tell. */
const NO_NETWORK =
  'the runner on this machine is of an older version, which gives work no network; it is replaced once it has no work';

function wireOrder(spec: WorkSpec, egressAllow: readonly string[] | undefined): WireOrder {
  // Nothing is pulled here.
  const { secretFiles, imageDigest, registryLogins: _, ...plain } = spec;
  return {
    ...plain,
    main: spec.main && onSystem(spec.main),
    init: spec.init && onSystem(spec.init),
    sidecars: spec.sidecars.map(onSystem),
    secretFiles: Object.fromEntries(
      [...secretFiles].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]),
    ),
    // Nothing here has a digest of its own: what is pinned to one was another engine's.
    rootfs: SYSTEM_IMAGES.has(spec.image) && imageDigest === undefined ? 'system' : 'missing',
    inside: {
      workspace: '/workspace',
      home: spec.home ?? '/root',
      secrets: '/run/secrets',
      root: WORK_ROOT,
      api: API_DIRECTORY,
    },
    egressAllow,
  };
}

/** Files are read here, past the runner; it is asked only whether they may still grow. */
async function* readLogs(
  logs: string,
  link: Link,
  followers: LogFollowers,
  id: string,
  query: LogQuery,
  signal: AbortSignal,
  pace?: LogPace,
): AsyncGenerator<LogLine> {
  if (!isPlainName(id) || !isPlainName(query.container)) return;
  const reader = new LogReader(join(logs, id), query.container, pace);
  const read = (): AsyncGenerator<LogLine> => reader.read(query.since);
  try {
    await reader.seek(query.tail, query.follow, signal);
    yield* query.follow ? followers.follow(link, id, query.container, read, signal) : read();
  } finally {
    await reader.close();
  }
}
