/**
 * Owns the wiring of the actors room: cache, hub, registry, effects, timers, reports. It holds no rule of its own.
 * Opened by the process that holds the lease; everything in it ends when `stopping` is aborted.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { addressKey, type Address } from '../src/api/address.js';
import type { KindDefinition } from '../src/kinds/kind.js';
import type { PublicEndpoints, DecisionContext } from '../src/kinds/machine.js';
import type { WorkReport } from '../src/kinds/report.js';
import type { ComputeEngine } from '../src/engines/compute/contract/engine.js';
import type { CommittedChange, Committer } from '../storage/commit/request.js';
import type { AdmissionSwitch } from '../storage/admissions.js';
import type { ChangesLog, Clock, Objects, Pending, Responses, SecretVersions, StoredTimer } from '../storage/store.js';
import { openAdmission, type AdmissionDeps } from './admission/admission.js';
import { openCache } from './cache.js';
import { serviceRequest } from './caller.js';
import type { ChildrenDeps } from './effects/children.js';
import { openEffectRunner } from './effects/runner.js';
import { carryOut, type EffectDeps } from './effects/table.js';
import type { WorkDeps } from './effects/work.js';
import { openActivity } from './work/activity.js';
import { openCommands, type Commands } from './work/commands.js';
import { openFiles, type Files } from './work/files/open.js';
import { openHub } from './hub/hub.js';
import { openNextChange } from './next-change.js';
import { openOperators, type Operators } from './operators.js';
import { openOrgTurns } from './org-turns.js';
import { openMessageRouter } from './message-router.js';
import { answersInTurns, inTurns, openReadTurns } from './read-turns.js';
import { listObjects, readObject, searchObjects } from './reads.js';
import { CROWD_OF_LISTS, openSlices } from './slices.js';
import { recover } from './recovery.js';
import { openRegistry } from './registry.js';
import type { ResourceService, WriteReply, WriteRequest } from './resource-service.js';
import { submit, type Pause, type SubmitDeps } from './submit.js';
import { openSupervision } from './supervision.js';
import { openActorTree } from './system.js';
import { abortable } from './wait.js';
import { openAttempts } from './work/attempts.js';
import { openDetached } from './work/detached.js';
import type { Inputs } from './work/inputs.js';
import { openReports, type ReportDelivery, type ReportDeps } from './work/reports.js';
import type { OrderDeps } from './work/work-spec.js';
import { openTools, type Tools } from './work/tools.js';
import { openRunning, type Running } from './work/running.js';

export interface Timers {
  arm(timer: StoredTimer): void;
  clear(timer: { readonly uid: string; readonly timer: string; readonly generation: number }): void;
  rearm(): Promise<void>;
  close(): Promise<void>;
}

export interface ActorsDeps {
  readonly kinds: readonly KindDefinition[];
  readonly clock: Clock;
  readonly objects: Objects;
  readonly log: ChangesLog;
  readonly pending: Pending;
  readonly responses: Responses;
  readonly secrets: SecretVersions;
  openCommitter(publish: (changes: readonly CommittedChange[]) => void): Promise<Committer>;
  openTimers(fire: (timer: StoredTimer) => void): Promise<Timers>;
  readonly engine: ComputeEngine | undefined;
  /** Where people find this deployment. */
  readonly endpoints?: PublicEndpoints | undefined;
  readonly inputs: Inputs;
  /** How work reaches its own API; absent where there is none. */
  readonly access?: OrderDeps['access'];
  readonly keepOutput: ReportDeps['keep'];
  readonly settings: ActorSettings;
  readonly stopping: AbortSignal;
  readonly admissions: AdmissionSwitch;
  /** Why no object can be taken now, such as a disk that is nearly full. */
  shortage?(): string | undefined;
  /** Why a URL can never be reached from here; absent: any may be. */
  readonly neverDialled?: AdmissionDeps['neverDialled'] | undefined;
  readonly abandonDeliveries: EffectDeps['abandonDeliveries'];
  readonly forgetBlobs: ChildrenDeps['forgetBlobs'];
  /** Every committed change, in version order, before it is acknowledged. Must be quick. */
  onChange(change: CommittedChange): void;
  /** A commit was fenced: another process is the active one now. */
  onFenced(): void;
  readonly observe: ActorObserver;
}

export interface ActorSettings {
  readonly cacheBytes: number;
  readonly ringBytes: number;
  readonly mailboxLimit: number;
  /** Idle time after which an actor is let go. */
  readonly passivateAfterMs: number;
}

/** What happens in here, for metrics and logs. Never carries object contents. */
export interface ActorObserver {
  crash(address: Address, errorClass: string, parked: boolean): void;
  effect(type: string, outcome: string): void;
  problem(message: string): void;
}

/** Health is work done (I13): how old the oldest thing is that waits or is in hand. */
export interface ActorHealth {
  readonly oldestMessageMs: number;
  readonly oldestEffectMs: number;
  readonly effects: number;
  readonly oldestCommitMs: number;
  readonly commitsWaiting: number;
}

export interface Actors {
  readonly resources: ResourceService;
  readonly operators: Operators;
  /** A write of the service itself (bootstrap, catalogs). */
  write(address: Address, write: Parameters<typeof serviceRequest>[1]): Promise<WriteReply>;
  readonly router: ReturnType<typeof openMessageRouter>;
  /** What browser tools there are inside running Workspaces. */
  readonly tools: Pick<Tools, 'look'>;
  /** What work says of itself. */
  readonly running: Running;
  /** Keeps the answer of a keyed request that is no write of one object. */
  readonly keepAnswer: Committer['keepAnswer'];
  /** What is done inside running Sandboxes and Workspaces. */
  readonly commands: Commands;
  readonly files: Files;
  /** Whether new work is paused; given a value, sets it first. */
  admissions(paused?: boolean): Promise<boolean>;
  /** Takes up what was under way; resolves when everything has been woken. */
  start(): Promise<void>;
  /** The changes log now begins above this version. */
  moveFloor(version: number): void;
  health(): ActorHealth;
  sizes(): { readonly actors: number; readonly cached: number; readonly cacheBytes: number; readonly watchers: number };
  close(): Promise<void>;
}

const RING_CHANGES = 100_000;
/** Lists that read from Postgres at once; the other readers are left to single objects. */
const LISTS_READING = 4;
/** Single reads at once: as many as Postgres has readers (`storage/postgres.ts`). An org has half of them. */
const SINGLE_READS = 8;
/** Longest wait of a single read for its place (ms): as for a connection. */
const SINGLE_READ_WAIT_MS = 5_000;
const PASSIVATE_EVERY_MS = 5_000;

export async function openActors(deps: ActorsDeps): Promise<Actors> {
  const { kinds, clock, stopping } = deps;
  const kindOf = (name: string): KindDefinition | undefined => kinds.find(({ kind }) => kind === name);
  const cache = openCache(deps.settings.cacheBytes);
  const singleRead = openReadTurns({ places: SINGLE_READS, shared: true, waitMs: SINGLE_READ_WAIT_MS });
  const objects = inTurns(deps.objects, singleRead);
  const responses = answersInTurns(deps.responses, singleRead);
  const slices = openSlices(CROWD_OF_LISTS);
  const listRead = openReadTurns({ places: LISTS_READING, shared: false });
  const lists = { cache, objects, slices, turn: listRead };
  const read = (address: Address): Promise<Buffer | undefined> => readObject(address, { cache, objects });
  const admission = openAdmission({
    kindOf,
    read,
    search: (org, kind, project) => searchObjects({ org, kind, project }, stopping, lists),
    secrets: deps.secrets,
    neverDialled: deps.neverDialled ?? (() => undefined),
  });
  const supervision = openSupervision();
  const hub = openHub({
    // A watch that catches up reads as a list does.
    log: { after: (org, ...rest) => listRead(org, () => deps.log.after(org, ...rest)), head: () => deps.log.head() },
    slices,
    start: await deps.log.head(),
    ring: { maxBytes: deps.settings.ringBytes, maxChanges: RING_CHANGES },
    now: () => performance.now(),
  });
  const nextChange = openNextChange();
  const committer = await deps.openCommitter((committed) => {
    for (const change of committed) {
      cache.committed(change);
      nextChange.committed(change);
      admission.committed(change);
      deps.onChange(change);
      if (change.type === 'DELETED') supervision.forgive(addressKey(change.address));
    }
    hub.publish(committed);
  });
  const timers = await deps.openTimers((timer) => {
    const { address, uid, generation } = timer;
    void router.deliver(address, uid, { type: 'TimerFired', timer: timer.timer, generation });
  });
  // I9: the one place where a machine's clock, ids and randomness come from.
  const moment = (): DecisionContext => ({
    now: clock(),
    uid: randomUUID,
    randomBytes,
    endpoints: deps.endpoints,
    images: deps.engine?.images,
  });
  let generation = 0;

  const tree = openActorTree(deps.observe.problem);
  const registry = openRegistry(tree, kindOf, {
    cache,
    objects,
    committer,
    responses,
    secrets: deps.secrets,
    moment,
    nextGeneration: () => (generation = Math.max(generation + 1, Math.floor(clock()))),
    admit: admission.check,
    admitOwners: admission.owners,
    rule: admission.rule,
    effects: (row) => effects.take(row),
    volatile: (address, uid, letters) => effects.takeVolatile(address, uid, letters),
    timers: (address, uid, writes) => {
      for (const { op, timer, generation: of, ...rest } of writes) {
        if (op === 'arm' && 'at' in rest) timers.arm({ address, uid, timer, generation: of, at: rest.at });
        else timers.clear({ uid, timer, generation: of });
      }
    },
    onFenced: deps.onFenced,
    supervision,
    mailboxLimit: deps.settings.mailboxLimit,
    stopping,
    now: clock,
    chance: Math.random,
    onCrash: deps.observe.crash,
  });
  const router = openMessageRouter(registry.deliver, kindOf, clock);

  let paused = await deps.admissions.read();
  const pause = (): Pause | undefined => {
    const message = deps.shortage?.();
    if (message !== undefined) return { what: 'AllObjects', message };
    return paused ? { what: 'Work', message: 'new work is paused by the operator of this deployment' } : undefined;
  };
  const submitting: SubmitDeps = {
    ...{ kindOf, moment, admission, clock, turns: openOrgTurns() },
    ...{ deliver: registry.deliver, responses, paused: pause },
  };
  const write = (address: Address, request: WriteRequest): Promise<WriteReply> => submit(address, request, submitting);
  const serviceWrite: ChildrenDeps['write'] = (address, asked) => write(address, serviceRequest(address.org, asked));

  const attempts = openAttempts();
  const reported = async (address: Address, uid: string, report: WorkReport): Promise<ReportDelivery> => {
    const delivery = await router.deliver(address, uid, { type: 'Reported', report });
    if (delivery === 'Parked') return delivery;
    return delivery === 'Done' || delivery === 'Absent' ? 'Done' : 'Retry';
  };
  const activity = openActivity({
    tell(address, uid, letter) {
      void router.deliver(address, uid, { type: 'MessageReceived', from: { address, uid, version: 0 }, letter });
    },
    now: clock,
    stopping,
  });
  const detached = openDetached({ attempts, activity, read, onProblem: deps.observe.problem });
  const reports =
    deps.engine &&
    openReports({
      engine: deps.engine,
      attempts,
      deliver: reported,
      keep: deps.keepOutput,
      onState(state) {
        detached.note(state);
        tools.note(state);
      },
      onRemoved(id) {
        detached.gone(id);
        tools.gone(id);
      },
      stopping,
      now: clock,
      onProblem: deps.observe.problem,
    });
  const work: WorkDeps = {
    kinds,
    engine: deps.engine,
    reports,
    attempts,
    secrets: deps.secrets,
    read,
    inputs: deps.inputs,
    access: deps.access,
    deliver: reported,
    tell: router.tell,
    // Lost in a crash, like any use that nobody has noted yet.
    used(address, uid) {
      const from = { address, uid, version: 0 };
      void router.deliver(address, uid, { type: 'MessageReceived', from, letter: { letter: 'Used', time: clock() } });
    },
    now: clock,
  };
  const tools = openTools({ ...work, attempts, router, stopping, onProblem: deps.observe.problem });
  const effectDeps: EffectDeps = {
    ...work,
    ...{ objects, write: serviceWrite, quiet: admission.quiet, router, pending: deps.pending, stopping },
    ...{ forgetBlobs: deps.forgetBlobs, abandonDeliveries: deps.abandonDeliveries },
  };

  const effects = openEffectRunner({
    pending: deps.pending,
    carryOut: (task, attempt) => carryOut(task, effectDeps, attempt),
    giveBack({ row, effect }, reason, message) {
      return router.deliver(row.address, row.uid, { type: 'EffectFailed', effect, reason, message });
    },
    stopping,
    chance: Math.random,
    onOutcome: deps.observe.effect,
  });

  const passivation = setInterval(
    () => registry.passivate(clock() - deps.settings.passivateAfterMs),
    PASSIVATE_EVERY_MS,
  );
  passivation.unref();

  let floor = await deps.log.floor();
  const resources: ResourceService = {
    // A client that leaves does not undo its write: the actor goes on, only the answer has no reader.
    write: (address, request, signal) => abortable(write(address, request), signal),
    read: (address) => read(address),
    peek: (address) => cache.get(address)?.body,
    list: (request) => listObjects(request, lists),
    slice: slices.next,
    version: () => hub.version,
    settled: hub.settled,
    floor: () => floor,
    watch: hub.watch,
  };

  return {
    resources,
    operators: openOperators(registry, supervision, router, clock),
    write: serviceWrite,
    router,
    tools,
    running: openRunning({ attempts, router, read }),
    commands: openCommands({ ...work, activity, nextChange: nextChange.wait }),
    files: openFiles({ ...work, activity, nextChange: nextChange.wait }),
    keepAnswer: (org, answer, version) => committer.keepAnswer(org, answer, version),
    async admissions(next) {
      if (next !== undefined) {
        await deps.admissions.set(next);
        paused = next;
      }
      return paused;
    },
    async start() {
      const working = await attempts.recall(deps, stopping);
      await recover({
        pending: deps.pending,
        effects,
        router,
        kinds: kinds.filter(({ machine }) => machine.isTerminal).map(({ kind }) => kind),
        rearmTimers: () => timers.rearm(),
        stopping,
      });
      await reports?.start();
      await reports?.missLost(working, (uid) => effects.workPending(uid));
    },
    moveFloor(version) {
      floor = version;
    },
    health() {
      let oldestMessageMs = 0;
      for (const actor of registry.actors()) {
        const since = actor.oldest();
        if (since !== undefined) oldestMessageMs = Math.max(oldestMessageMs, clock() - since);
      }
      const { oldestMs: oldestCommitMs, waiting: commitsWaiting } = committer.depth();
      const oldestEffectMs = effects.oldestMs(Date.now());
      return { oldestMessageMs, oldestEffectMs, effects: effects.tasks, oldestCommitMs, commitsWaiting };
    },
    sizes: () => ({
      actors: registry.size,
      cached: cache.size,
      cacheBytes: cache.bytes,
      watchers: hub.watchers,
    }),
    async close() {
      clearInterval(passivation);
      hub.drain();
      await committer.close();
      await timers.close();
      tree.close();
    },
  };
}
