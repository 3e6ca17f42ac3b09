/**
 * The Docker engine: ComputeEngine over the API of a Docker Engine or of Podman's socket. Live work is a container each, whose labels
 * and log say all that is needed to go on with it; ended work is a file in the data directory (`finished-work.ts`). Nothing else is kept, so a service
 * that comes back, on the same or a later lease epoch, adopts everything.
 *
 * Who may talk to the daemon owns what runs there: environments and secrets of work are not in its API's answers (`box-hold.pl`), but its
 * owner can read any process. The daemon must be on the machine of the service where work has an attempt API or egress, whose sockets
 * are mounted; the rest works over the network, too.
 *
 *     const engine = openDockerEngine({ dir: '.data/docker', clusterId, leaseEpoch, images: { 'svc/agent-tools': 'troupe/tools:1' } });
 */
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import { LogReader } from '../shared/log/read-log.js';
import { machineProcesses, roomWithin } from '../shared/process-share.js';
import { EngineRefusal } from '../shared/refusal.js';
import type { OrgLogs } from '../shared/log/org-logs.js';
import { silentLog, type EngineLog } from '../shared/log/stored-log.js';
import { isPlainName } from '../shared/plain-name.js';
import { openResolver } from '../../dialer/resolve.js';
import type {
  ComputeEngine,
  EngineFacts,
  FoundImage,
  FundedTime,
  LogLine,
  LogPace,
  LogQuery,
  RegistryLogin,
  WorkSpec,
  WorkState,
} from '../contract/engine.js';
import { Box } from './box.js';
import { Commands } from './commands.js';
import { asked, found, openDaemon, refusalOf, removeContainer, statusOf, orAbort, type Daemon } from './daemon.js';
import { Disks } from './disks.js';
import type { FinishedWork } from './finished-work.js';
import { factsOf } from './facts.js';
import { findImage, type ImageDeps } from './images.js';
import { EpochFence } from './epoch-fence.js';
import { openKeptFiles, type DockerOptions, type KeptFiles } from './options.js';
import { LogNotifier } from './log-notifier.js';
import { containerName, LABEL, type Kept } from './labels.js';
import { endLine, fundLine, stopLine } from './order-lines.js';
import { checkOrder } from './orders.js';
import { Preparer } from './prepare.js';
import { registryNamed } from './registry.js';
import { takeOutputs } from './outputs.js';
import { EgressProxies } from './egress-proxies.js';

interface Watcher {
  readonly onState: (state: WorkState) => void;
}

interface Starting {
  readonly done: Promise<void>;
  readonly stop: AbortController;
  readonly state: WorkState;
}

/** Past the grace the box has this long to end itself before the daemon ends it. */
const KILL_AFTER_MS = 10_000;
/** Orders that are being prepared; one more is refused as Busy (I10). */
const MAX_STARTING = 256;
/** What the daemon is still asked for when the engine is closed gets this long; after it the daemon is taken for one that hangs (ms). */
const CLOSE_MS = 3_000;

/** Reads what is in `dir`; the daemon is asked at first need. */
export async function openDockerEngine(options: DockerOptions): Promise<ComputeEngine> {
  const kept = await openKeptFiles(options);
  const { finished } = kept;
  const engine = new DockerEngine(options, await openDaemon(options.host), kept);
  const { commands } = engine;
  // A daemon may hang: the caller's signal ends the wait, not what was begun, and `close` ends that.
  return {
    name: engine.name,
    images: 'Any',
    apiDirectory: finished.apiDirectory,
    facts: (signal) => orAbort(engine.facts(signal), signal),
    epochSeen: (signal) => orAbort(engine.epochSeen(signal), signal),
    resolveImage: (name, logins, signal) => orAbort(engine.resolveImage(name, logins, signal), signal),
    start: (spec, signal) => orAbort(engine.start(spec, signal), signal),
    stop: (id, graceSeconds, signal) => orAbort(engine.stop(id, graceSeconds, signal), signal),
    fund: (times, signal) => orAbort(engine.fund(times, signal), signal),
    remove: (id, logs, signal) => orAbort(engine.remove(id, logs, signal), signal),
    list: (signal) => orAbort(engine.list(signal), signal),
    watch: (onState, onLost, signal) => orAbort(engine.watch(onState, onLost, signal), signal),
    exec: (order, signal) => orAbort(commands.exec(order, signal), signal),
    startProcess: (order, signal) => orAbort(commands.startProcess(order, signal), signal),
    processes: (work, signal) => orAbort(commands.processes(work, signal), signal),
    writeProcess: (work, id, input, signal) => orAbort(commands.writeProcess(work, id, input, signal), signal),
    signalProcess: (work, id, name, signal) => orAbort(commands.signalProcess(work, id, name, signal), signal),
    connect: (work, port, signal) => orAbort(commands.connect(work, port, signal), signal),
    logs: (id, query, signal, pace) => engine.logs(id, query, signal, pace),
    close: () => engine.close(),
  };
}

class DockerEngine {
  readonly name = 'docker';
  readonly commands: Commands;
  private readonly daemon: Daemon;
  private readonly docker: Docker;
  private readonly options: DockerOptions;
  private readonly log: EngineLog;
  private readonly finished: FinishedWork;
  private readonly orgLogs: OrgLogs;
  private readonly fence: EpochFence;
  private readonly notifier = new LogNotifier();
  private readonly preparer: Preparer;
  private readonly disks: Disks;
  private readonly egressProxies: EgressProxies;
  private readonly images: ImageDeps;
  private readonly boxes = new Map<string, Box>();
  private readonly starting = new Map<string, Starting>();
  private readonly watchers = new Set<Watcher>();
  private readonly closed = new AbortController();
  private readonly kills = new Map<string, NodeJS.Timeout>();
  private adopting: Promise<void> | undefined;
  private knowledge: Promise<EngineFacts & { readonly podman: boolean }> | undefined;

  constructor(options: DockerOptions, daemon: Daemon, { finished, privateImages, orgLogs }: KeptFiles) {
    const { clusterId: cluster, leaseEpoch: epoch } = options;
    this.options = options;
    this.finished = finished;
    this.orgLogs = orgLogs;
    this.log = options.log ?? silentLog;
    this.daemon = daemon;
    this.docker = daemon.docker;
    this.egressProxies = new EgressProxies(options.egressAllow ?? [], (line) => this.log.warn({}, line));
    this.images = {
      docker: this.docker,
      catalog: options.images,
      privateImages,
      lookup: openResolver(),
      trusted: new Set((options.registries ?? []).map(registryNamed)),
      isPodman: async (signal) => (await this.known(signal)).podman,
    };
    this.fence = new EpochFence(this.docker, cluster, epoch);
    this.preparer = new Preparer({
      docker: this.docker,
      cluster,
      epoch,
      images: this.images,
      enforced: async (signal) => (await this.known(signal)).enforced,
      isPodman: async (signal) => (await this.known(signal)).podman,
      // As if the daemon were on this machine: it says nothing of its own.
      room: async (signal) => ({
        memory: (await this.known(signal)).memory,
        processes: roomWithin(machineProcesses()),
      }),
      openWayOut: (box) => this.egressProxies.open(box),
      makeBox: (container, kept) => this.makeBox(container, kept.id, kept),
    });
    this.commands = new Commands(epoch, async (work, signal) => {
      await this.adopted(signal);
      return this.boxes.get(work);
    });
    this.disks = new Disks(
      options.diskSeconds ?? 2,
      () => this.boxes.values(),
      (box, what) => {
        box.fullOf ??= what;
        void box.control.send(endLine(epoch, 'DiskFull')).catch(() => undefined);
        this.killLater(box, KILL_AFTER_MS);
      },
    );
  }

  epochSeen(signal: AbortSignal): Promise<number> {
    return this.fence.highest(signal);
  }

  async facts(signal: AbortSignal): Promise<EngineFacts> {
    this.knowledge = undefined;
    const { podman: _, ...facts } = await this.known(signal);
    return facts;
  }

  async resolveImage(name: string, logins: readonly RegistryLogin[], signal: AbortSignal): Promise<FoundImage> {
    const image = await asked(signal, () => findImage({ name, logins }, this.images, signal));
    return image.outcome === 'Here' ? { outcome: 'Found', digest: image.digest } : image;
  }

  async start(spec: WorkSpec, signal: AbortSignal): Promise<void> {
    checkOrder(spec);
    const { id } = spec;
    const under = this.starting.get(id);
    if (under !== undefined) return orAbort(under.done, signal);
    const stop = new AbortController();
    const state: WorkState = { id, phase: 'Preparing', sequence: 0, preparedAt: Date.now() };
    const entry: Starting = { done: this.begin(spec, state, stop.signal, signal), stop, state };
    if (this.starting.size >= MAX_STARTING) throw new EngineRefusal('Busy', 'too many orders are being prepared');
    this.starting.set(id, entry);
    void entry.done.catch(() => undefined).then(() => this.starting.delete(id));
    return orAbort(entry.done, signal);
  }

  async stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    await this.fence.check(signal);
    await this.adopted(signal);
    const starting = this.starting.get(id);
    starting?.stop.abort(new EngineRefusal('Failed', 'stopped'));
    await orAbort(starting?.done.catch(() => undefined) ?? Promise.resolve(), signal);
    const box = this.boxes.get(id);
    if (box === undefined) return;
    box.stopping = true;
    await asked(signal, async () => {
      try {
        await box.control.send(stopLine(this.options.leaseEpoch, graceSeconds));
      } catch (error) {
        // It may have ended under our hands, which is all that was asked for.
        if ((await found(box.container.inspect()))?.State.Running === true) throw error;
      }
    });
    this.killLater(box, graceSeconds * 1000 + KILL_AFTER_MS);
  }

  async fund(times: readonly FundedTime[], signal: AbortSignal): Promise<void> {
    await this.fence.check(signal);
    await this.adopted(signal);
    const { leaseEpoch } = this.options;
    await Promise.all(
      times.flatMap(({ work, seconds }) => this.boxes.get(work)?.control.send(fundLine(leaseEpoch, seconds)) ?? []),
    );
  }

  async remove(id: string, logs: boolean, signal: AbortSignal): Promise<void> {
    await this.fence.check(signal);
    await this.adopted(signal);
    const starting = this.starting.get(id);
    starting?.stop.abort(new EngineRefusal('Failed', 'removed'));
    await orAbort(starting?.done.catch(() => undefined) ?? Promise.resolve(), signal);
    const box = this.boxes.get(id);
    this.boxes.delete(id);
    const container = box?.container ?? this.docker.getContainer(containerName(this.options.clusterId, id));
    const forgotten = box?.forget();
    if (box !== undefined) this.commands.endIn(box);
    await Promise.all([forgotten, asked(signal, () => removeContainer(container))]);
    this.egressProxies.unrelay(this.finished.apiOf(id));
    await this.finished.remove(id, logs);
    if (logs) this.orgLogs.removed(id);
    else this.orgLogs.ended(id);
  }

  async list(signal: AbortSignal): Promise<readonly WorkState[]> {
    await this.adopted(signal);
    const live = [...this.boxes.values()].map(({ state }) => state);
    const known = new Set(live.map(({ id }) => id));
    const others = [...this.finished.all(), ...[...this.starting.values()].map(({ state }) => state)];
    for (const state of others) {
      if (known.has(state.id)) continue;
      known.add(state.id);
      live.push(state);
    }
    return live;
  }

  async watch(
    onState: (state: WorkState) => void,
    _onLost: (reason: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.adopted(signal);
    const watcher = { onState };
    this.watchers.add(watcher);
    signal.addEventListener('abort', () => this.watchers.delete(watcher), { once: true });
  }

  async *logs(id: string, query: LogQuery, signal: AbortSignal, pace?: LogPace): AsyncGenerator<LogLine> {
    if (!isPlainName(id) || !isPlainName(query.container)) return;
    await this.adopted(signal);
    const reader = new LogReader(this.finished.logDirectory(id), query.container, pace);
    const read = (): AsyncGenerator<LogLine> => reader.read(query.since);
    const ended = (): boolean => {
      if (this.closed.signal.aborted) return true;
      if (this.starting.has(id)) return false;
      return this.boxes.get(id)?.logEnded(query.container) ?? true;
    };
    try {
      await reader.seek(query.tail, query.follow, signal);
      yield* query.follow ? this.notifier.follow(id, read, ended, signal) : read();
    } finally {
      await reader.close();
    }
  }

  async close(): Promise<void> {
    this.closed.abort(new EngineRefusal('Unavailable', 'the engine is closed'));
    this.disks.close();
    for (const timer of this.kills.values()) clearTimeout(timer);
    this.commands.close();
    // Half an order is none; who wants it asks the next service.
    for (const { stop } of this.starting.values()) stop.abort(this.closed.signal.reason);
    const late = setTimeout(() => this.daemon.close(), CLOSE_MS);
    await Promise.allSettled([this.adopting, ...[...this.starting.values()].map(({ done }) => done)]);
    await Promise.all([...this.boxes.values()].map((box) => box.close()));
    clearTimeout(late);
    this.daemon.close();
    this.egressProxies.close();
    this.notifier.close();
  }

  private async begin(spec: WorkSpec, state: WorkState, stopped: AbortSignal, asking: AbortSignal): Promise<void> {
    const { id } = spec;
    await this.fence.check(asking);
    await this.adopted(asking);
    if (this.boxes.has(id) || this.finished.get(id) !== undefined) return;
    this.tell(state);
    const { outputs, limits, main, enterable } = spec;
    const kept: Kept = {
      id,
      enterable: enterable === true || main === undefined,
      network: spec.network,
      preparedAt: state.preparedAt ?? 0,
      outputs: outputs.map(({ name, path, vital }) => ({ name, path, vital })),
      disk: limits.disk,
      logBytes: limits.logBytes,
      org: spec.labels['org'],
    };
    const fail = async (reason: string, message: string): Promise<void> => {
      const end: WorkState = { ...state, phase: 'StartFailed', sequence: 1, endedAt: Date.now(), reason, message };
      await this.finished.write(end);
      this.tell(end);
    };
    const name = containerName(this.options.clusterId, id);
    try {
      const made = await this.preparer.make(await this.withOwnApi(spec), name, kept, stopped);
      if (made.outcome === 'Failed') return await fail(made.reason, made.message);
      this.boxes.set(id, made.box);
      made.box.follow();
      await orAbort(made.box.taken, this.closed.signal);
    } catch (error) {
      this.closed.signal.throwIfAborted();
      if (stopped.aborted) {
        await removeContainer(this.docker.getContainer(name)).catch(() => undefined);
        return fail('Stopped', 'stopped before the main program ran');
      }
      throw refusalOf(error);
    }
  }

  /** With a socket of the attempt API that no other box has. */
  private async withOwnApi(spec: WorkSpec): Promise<WorkSpec> {
    if (spec.apiDirectory === undefined) return spec;
    const apiDirectory = await this.finished.makeApiOf(spec.id);
    await this.egressProxies.relay(apiDirectory, this.finished.apiDirectory, spec.id);
    return { ...spec, apiDirectory };
  }

  private makeBox(container: Container, id: string, kept: Kept): Box {
    const box: Box = new Box(id, container, kept, {
      epoch: this.options.leaseEpoch,
      logDirectory: this.finished.logDirectory(id),
      logSpace: this.orgLogs.begin(id, kept.org),
      now: () => Date.now(),
      onState: (state) => this.tell(state),
      onGrown: () => this.notifier.grown(id),
      collect: (where, settled) =>
        takeOutputs(container, kept.outputs, where, this.finished.outputDirectory(id), kept.disk, settled),
      journalEnd: async (state) => {
        if (this.boxes.get(id) === box || !this.closed.signal.aborted) await this.finished.write(state);
      },
      onEnded: () => {
        this.orgLogs.ended(id);
        if (this.boxes.get(id) === box) this.boxes.delete(id);
        clearTimeout(this.kills.get(id));
        this.kills.delete(id);
        this.egressProxies.unrelay(this.finished.apiOf(id));
        // The next start of the service tries again.
        removeContainer(container, this.closed.signal).catch(() => undefined);
      },
      report: (line) => this.log.warn({}, line),
    });
    return box;
  }

  /** Everything of ours that the daemon has is known, once. */
  private async adopted(signal: AbortSignal): Promise<void> {
    this.adopting ??= this.adopt().catch((error: unknown) => {
      this.adopting = undefined;
      throw refusalOf(error);
    });
    await orAbort(this.adopting, signal);
  }

  private async adopt(): Promise<void> {
    const filters = { label: [`${LABEL.cluster}=${this.options.clusterId}`, LABEL.work] };
    const all = await this.docker.listContainers({ all: true, filters });
    await Promise.all(
      all.map(async ({ Id, Labels, State }) => {
        const container = this.docker.getContainer(Id);
        const id = Labels[LABEL.work];
        if (id === undefined || Labels[LABEL.cluster] !== this.options.clusterId) return;
        // Ended before we did, or never ordered: who ordered it asks again.
        if (this.finished.get(id) !== undefined || State === 'created') {
          await removeContainer(container).catch(() => undefined);
          return;
        }
        const box = this.makeBox(container, id, JSON.parse(Labels[LABEL.kept] ?? '{}') as Kept);
        await box.catchUp();
        if (!box.ordered) {
          await box.close();
          await removeContainer(container).catch(() => undefined);
          return;
        }
        if (this.closed.signal.aborted) return box.close();
        this.boxes.set(id, box);
        box.follow();
        // The listeners of the service before went with it.
        if (this.finished.hasApiOf(id))
          await this.egressProxies.relay(this.finished.apiOf(id), this.finished.apiDirectory, id);
        await this.egressProxies
          .open(box)
          .catch((error: unknown) => this.log.warn({}, `${id}: ${(error as Error).message}`));
      }),
    );
    void this.orgLogs.findStored(this.closed.signal).catch((error: Error) => this.log.warn({}, error.message));
  }

  /** Whatever its first process does, the box ends. */
  private killLater(box: Box, ms: number): void {
    clearTimeout(this.kills.get(box.id));
    const kill = (): void => {
      if (this.boxes.get(box.id) !== box) return;
      box.stopping = true;
      box.container.kill({ signal: 'SIGKILL' }).catch((error: unknown) => {
        if (statusOf(error) !== 409 && statusOf(error) !== 404) this.log.warn({}, `${box.id}: it cannot be killed`);
      });
    };
    // Asked for by what was under way when the engine was closed, it must not keep the process; nor what has ended meanwhile the timer.
    if (this.closed.signal.aborted || this.boxes.get(box.id) !== box) return;
    this.kills.set(box.id, setTimeout(kill, Math.min(ms, 2 ** 31 - 1)).unref());
  }

  private known(signal: AbortSignal): Promise<EngineFacts & { readonly podman: boolean }> {
    this.knowledge ??= factsOf(this.docker, this.options.dir);
    return orAbort(this.knowledge, signal);
  }

  private tell(state: WorkState): void {
    for (const { onState } of this.watchers) onState(state);
  }
}
