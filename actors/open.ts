/**
 * Opens the actors of the process that holds the lease, as parts of which each uses only those before it: objects, work, money, effects.
 * Everything in them ends when `stopping` is aborted.
 */
import type { Address } from '../src/api/address.js';
import type { Committer } from '../storage/commit/request.js';
import type { ActorsDeps } from './deps.js';
import type { ServiceWrite } from './effects/children.js';
import type { MessageRouter } from './message-router.js';
import type { Payments } from './payments/service.js';
import type { RefusedHolds } from './money/refused-holds.js';
import { openEffects } from './open-effects.js';
import { openObjects, type ObjectsPart } from './open-objects.js';
import { openMoney } from './open-money.js';
import { openPayments } from './open-payments.js';
import { openWork } from './open-work.js';
import { openOperators, type Operators } from './operators.js';
import { listObjects } from './reads.js';
import type { ResourceService, WriteReply } from './resource-service.js';
import { abortable } from './wait.js';
import type { Commands } from './work/commands.js';
import type { Files } from './work/files/open.js';
import type { Running } from './work/running.js';
import type { Tools } from './work/tools.js';

export type { ActorObserver } from './deps.js';

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
  write(address: Address, write: ServiceWrite): Promise<WriteReply>;
  readonly router: MessageRouter;
  /** What browser tools there are inside running Workspaces. */
  readonly tools: Pick<Tools, 'look'>;
  /** What running work tells of itself. */
  readonly running: Running;
  /** Keeps the answer of a keyed request that is no write of one object. */
  readonly keepAnswer: Committer['keepAnswer'];
  /** Operations of the ledger that belong to no object. */
  readonly ledger: Committer['ledger'];
  /** A hold that belongs to no object was refused. */
  readonly refusedHolds: RefusedHolds['note'];
  readonly payments: Payments;
  /** What is done inside running Sandboxes and Workspaces. */
  readonly commands: Commands;
  readonly files: Files;
  /** Whether new work is paused; given a value, sets it first. */
  admissions(paused?: boolean): Promise<boolean>;
  /** Takes up what was under way; resolves when all Attempts that hold a place have been activated. The rest is woken while clients are served. */
  start(): Promise<void>;
  /** The changes log now begins above this version. */
  moveFloor(version: number): void;
  health(): ActorHealth;
  sizes(): { readonly actors: number; readonly cached: number; readonly cacheBytes: number; readonly watchers: number };
  close(): Promise<void>;
}

const PASSIVATE_EVERY_MS = 5_000;

export async function openActors(deps: ActorsDeps): Promise<Actors> {
  const { clock, settings } = deps;
  const objects = await openObjects(deps);
  const work = openWork(deps, objects);
  const money = openMoney(deps, objects, work);
  const payments = openPayments(deps, objects);
  const effects = await openEffects(deps, { objects, work, money, payments });
  const { registry, router, supervision, committer, hub, cache } = objects;
  objects.refusedHolds.start(router, deps.stopping);
  const passivation = setInterval(() => registry.passivate(clock() - settings.passivateAfterMs), PASSIVATE_EVERY_MS);
  passivation.unref();
  let floor = await deps.log.floor();
  return {
    resources: openResourceService(objects, () => floor),
    operators: openOperators(registry, supervision, router, clock),
    write: effects.serviceWrite,
    router,
    ...{ tools: work.tools, running: work.running, commands: work.commands, files: work.files },
    keepAnswer: (org, answer, version) => committer.keepAnswer(org, answer, version),
    ledger: (org, operations) => committer.ledger(org, operations),
    refusedHolds: objects.refusedHolds.note,
    payments: payments.service,
    admissions: objects.pause.admissions,
    async start() {
      await effects.start();
      money.start(effects.caughtUp());
      payments.start();
    },
    moveFloor: (version) => void (floor = version),
    health() {
      let oldestMessageMs = 0;
      for (const actor of registry.actors()) {
        const since = actor.oldest();
        if (since !== undefined) oldestMessageMs = Math.max(oldestMessageMs, clock() - since);
      }
      const { oldestMs: oldestCommitMs, waiting: commitsWaiting } = committer.depth();
      const { runner } = effects;
      const oldestEffectMs = runner.oldestMs(Date.now());
      return { oldestMessageMs, oldestEffectMs, effects: runner.tasks, oldestCommitMs, commitsWaiting };
    },
    sizes: () => ({ actors: registry.size, cached: cache.size, cacheBytes: cache.bytes, watchers: hub.watchers }),
    async close() {
      clearInterval(passivation);
      hub.drain();
      await money.close();
      await committer.close();
      await effects.timers.close();
      objects.tree.close();
    },
  };
}

function openResourceService({ write, read, cache, lists, hub }: ObjectsPart, floor: () => number): ResourceService {
  return {
    // A client that leaves does not undo its write: the actor goes on, only the answer has no reader.
    write: (address, request, signal) => abortable(write(address, request), signal),
    read: (address) => read(address),
    peek: (address) => cache.get(address)?.body,
    list: (request) => listObjects(request, lists),
    slice: lists.slices.next,
    version: () => hub.version,
    settled: hub.settled,
    floor,
    watch: hub.watch,
  };
}
