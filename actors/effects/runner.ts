/**
 * Owns the carrying out of stored effects on the process that holds the lease.
 *
 * Protocol. A commit that asks for later effects stores them as one row (I5) and hands the row over here; after a start
 * the rows that a crash left behind are read again. Effects of one object on one target share a lane and run in version
 * order, one at a time; different lanes run side by side, a few hundred at once (`pools.ts`). A lane that waits for its
 * next try takes no place from the others. When all effects of a row are done the row is deleted; a crash before that runs
 * them again, which is harmless, since each is idempotent by its key. One that fails past its retries returns to its object
 * as `EffectFailed`, and that message is delivered like any other. When that object is gone, nobody is left to decide what
 * follows: a fault that may pass is then tried again without end, and a lasting one ends the effect.
 *
 * What waits for a parked object is left in storage: its first effect alone stays in hand and tries again (`deferred-effects.ts`).
 * When that is through, the others are read again in their order; new ones go behind them until all of them are in hand.
 *
 * I10: at most about `MAX_TASKS` effects are held in memory. When it is full, rows stay in storage only, and so do all
 * that follow them (lanes keep their order); they are read from there, oldest first, as soon as half of the room is free.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import type { Delivery } from '../mailbox.js';
import { delay } from '../wait.js';
import type { EffectTask, EffectTry } from './definition.js';
import { openDeferredEffects, type DeferredTarget } from './deferred-effects.js';
import type { EffectStep, PoolName } from './outcome.js';
import { openPools, type Lane } from './pools.js';
import { laneKey, targetOf } from './table.js';

export interface EffectRunnerDeps {
  readonly pending: Pick<Pending, 'effects' | 'effectsAt' | 'effectsDone'>;
  /** Makes one try. */
  carryOut(task: EffectTask, attempt: EffectTry): Promise<EffectStep>;
  /** Gives a failed effect back to its object; resolves when it is decided. */
  giveBack(task: EffectTask, reason: string, message: string): Promise<Delivery>;
  readonly stopping: AbortSignal;
  chance(): number;
  onOutcome(type: LaterEffect['type'], outcome: EffectStep['outcome']): void;
  /** Between tries at a target that waits for an operator (ms). */
  readonly waitMs?: number | undefined;
  /** Before the second try of what failed (ms); doubled with each. */
  readonly firstBackoffMs?: number | undefined;
}

export interface EffectRunner {
  take(row: StoredEffects): void;
  /**
   * Effects that nothing stored asks for: carried out like others and tried for as long as it takes, but lost in a crash,
   * and dropped when memory is full. Whoever needs them asks again.
   */
  takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void;
  /** True while an effect of this object on its work is not done: what the engine has may be about to change. */
  workPending(uid: string): boolean;
  /** Reads what an earlier process left behind. Resolves when all of it is in hand or the memory bound is reached. */
  recover(): Promise<void>;
  readonly tasks: number;
  /**
   * Milliseconds since the last try of the effect that was tried longest ago, or since it came (I13). One that fails again and
   * again is no older than its back-off; what waits for an operator is told by the parked object and does not count,
   * and neither does what waits for a server elsewhere (a fetch: the dialer ends one that is silent).
   */
  oldestMs(now: number): number;
}

const MAX_TASKS = 50_000;
/** Of them volatile ones: these cannot be left in storage, and must not take the room of those that can. */
const MAX_VOLATILE = 20_000;
/** Rows read from storage per step of recovery. */
const PAGE_ROWS = 500;
/** Between two tries to read them. */
const READ_AGAIN_MS = 1_000;
/** Between two looks whether letters were taken. */
const LOOK_AGAIN_MS = 20;
const MAX_TRIES = 9;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 15_000;
/** Between tries at a target that waits for an operator. */
const WAIT_MS = 30_000;

/** `again`: milliseconds until the next try; undefined when the effect is done or given back. */
type Tried =
  /** Its target waits for an operator. */
  | { readonly next: 'Waiting' }
  /** The object that it is to be given back to waits for an operator. */
  | { readonly next: 'Resting' }
  /** It goes on at once, in a place of another pool. */
  | { readonly next: 'Continues'; readonly pool: PoolName }
  | { readonly next: 'Tried'; readonly again: number | undefined };

const TRIED: Tried = { next: 'Tried', again: undefined };

export function openEffectRunner(deps: EffectRunnerDeps): EffectRunner {
  const lanes = new Map<string, Lane>();
  const pools = openPools(runLane, deps.stopping);
  /** Effects in hand of each row. */
  const rows = new Map<number, { left: number }>();
  const deferred = openDeferredEffects();
  const { waitMs = WAIT_MS, firstBackoffMs = FIRST_BACKOFF_MS } = deps;
  let tasks = 0;
  let volatileTasks = 0;
  /** Rows from this version on were left in storage; undefined: none. */
  let leftFrom: number | undefined;
  /** The newest of them that is known here. */
  let leftTo = 0;
  let refilling: Promise<void> | undefined;
  /** Keys of volatile rows count down from zero, so that they never meet a version. */
  let volatileKey = 0;

  function takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void {
    if (effects.length === 0 || tasks >= MAX_TASKS || volatileTasks >= MAX_VOLATILE) return; // I10
    volatileKey -= 1;
    accept({ version: volatileKey, address, uid, effects });
    pools.pump();
  }

  function take(row: StoredEffects): void {
    if (rows.has(row.version)) return; // already in hand
    // I10. What is newer than a row that was left behind stays behind it.
    if (tasks >= MAX_TASKS || deferred.full || leftFrom !== undefined) {
      leftFrom = Math.min(leftFrom ?? row.version, row.version);
      leftTo = Math.max(leftTo, row.version);
      void refill();
      return;
    }
    accept(row);
    pools.pump();
  }

  function accept(row: StoredEffects): void {
    for (const effect of row.effects) {
      const shelf = row.version > 0 ? deferred.of(row, effect) : undefined;
      if (shelf) deferred.leave(shelf, row.version);
      else enqueue({ row, effect });
    }
  }

  function enqueue(task: EffectTask): void {
    const key = laneKey(task);
    let lane = lanes.get(key);
    if (lane) {
      lane.queue.push(task);
      pools.overrule(lane, task);
    } else {
      lane = {
        ...{ key, org: task.row.address.org, queue: [task], tries: 0, overruled: false, parked: false },
        continues: undefined,
        triedAt: Date.now(),
        state: { at: 'New' },
      };
      lanes.set(key, lane);
      pools.ready(lane);
    }
    const row = rows.get(task.row.version);
    if (row) row.left += 1;
    else rows.set(task.row.version, { left: 1 });
    tasks += 1;
    if (!isStored(task)) volatileTasks += 1;
  }

  /** One try at the lane's first effect. */
  async function runLane(lane: Lane): Promise<void> {
    const task = lane.queue[0];
    const shelf = task && isStored(task) ? deferred.of(task.row, task.effect) : undefined;
    // A target that waits is asked by one. While its shelf is read again there is none, and all of them go on.
    if (task && shelf?.probe && shelf.probe !== task) return shelve(lane, shelf, 0);
    lane.triedAt = Date.now();
    const outcome = task && (await tryOnce(lane, task));
    if (!task || !outcome || deps.stopping.aborted) return;
    lane.parked = outcome.next === 'Waiting' || outcome.next === 'Resting';
    switch (outcome.next) {
      case 'Waiting':
        wait(lane, task);
        break;
      case 'Continues':
        lane.continues = outcome.pool;
        pools.ready(lane);
        break;
      case 'Resting':
        tried(lane, task, waitMs);
        break;
      case 'Tried':
        tried(lane, task, outcome.again);
    }
    pools.pump();
    void refill();
  }

  /** `again`: milliseconds until the next try; undefined when it is done or given back. */
  function tried(lane: Lane, task: EffectTask, again: number | undefined): void {
    const shelf = deferred.of(task.row, task.effect);
    const back = shelf?.probe === task;
    if (again === undefined) finish(lane, task);
    else pools.pause(lane, again);
    if (!shelf || !back) return;
    shelf.probe = undefined;
    void readShelf(shelf, task);
  }

  /** The lane's target waits for an operator: the first to find out asks again, and whatever else is for it is left. */
  function wait(lane: Lane, task: EffectTask): void {
    const known = deferred.of(task.row, task.effect);
    if (!isStored(task)) {
      if (known?.probe) shelve(lane, known, 1);
      return pools.pause(lane, waitMs);
    }
    if (known?.probe && known.probe !== task) return shelve(lane, known, 0);
    const shelf = deferred.open(task);
    shelve(lane, shelf, 1);
    pools.pause(lane, waitMs);
  }

  /** Leaves the lane's effects from this place on in storage. */
  function shelve(lane: Lane, shelf: DeferredTarget, from: number): void {
    for (const task of lane.queue.splice(from)) {
      if (!isStored(task)) {
        lane.queue.push(task);
        continue;
      }
      deferred.leave(shelf, task.row.version);
      leaveRow(task);
    }
    if (from > 0) return;
    if (lane.queue.length === 0) lanes.delete(lane.key);
    else begin(lane); // volatile ones
  }

  function finish(lane: Lane, task: EffectTask): void {
    lane.queue.shift();
    if (lane.queue.length > 0) begin(lane);
    else lanes.delete(lane.key);
    if (leaveRow(task) && isStored(task) && !deferred.holds(task.row))
      deps.pending.effectsDone(task.row.version, task.row.uid);
  }

  function begin(lane: Lane): void {
    lane.parked = false;
    lane.triedAt = Date.now();
    pools.begin(lane);
  }

  /** The effect is no longer in hand. True when none of its row is. */
  function leaveRow(task: EffectTask): boolean {
    tasks -= 1;
    if (!isStored(task)) volatileTasks -= 1;
    const row = rows.get(task.row.version);
    if (!row) return false;
    row.left -= 1;
    if (row.left > 0) return false;
    rows.delete(task.row.version);
    return true;
  }

  /** Takes what was left for a target that is back, oldest first, until none is left or it waits again. */
  async function readShelf(shelf: DeferredTarget, asked: EffectTask): Promise<void> {
    const { turn } = shelf;
    while (shelf.versions.size > 0) {
      const left = [...shelf.versions].toSorted((a, b) => a - b);
      for (let i = 0; i < left.length; i += PAGE_ROWS) {
        const page = left.slice(i, i + PAGE_ROWS);
        const read = await readPage(page, shelf, turn);
        // In between it may have come to wait again; whoever found that out reads the shelf next time.
        if (read === undefined || shelf.turn !== turn) return;
        for (const row of read) {
          for (const effect of row.effects) if (deferred.of(row, effect) === shelf) enqueue({ row, effect });
        }
        for (const version of page) deferred.take(shelf, version);
        pools.pump();
      }
    }
    deferred.close(asked);
  }

  async function readPage(
    page: readonly number[],
    shelf: DeferredTarget,
    turn: number,
  ): Promise<readonly StoredEffects[] | undefined> {
    while (!deps.stopping.aborted && shelf.turn === turn) {
      if (tasks > MAX_TASKS / 2) {
        await delay(LOOK_AGAIN_MS, deps.stopping);
        continue;
      }
      try {
        return await deps.pending.effectsAt(page);
      } catch {
        await delay(READ_AGAIN_MS, deps.stopping);
      }
    }
    return undefined;
  }

  async function tryOnce(lane: Lane, task: EffectTask): Promise<Tried> {
    const knew = lane.overruled;
    const outcome = await attempt(lane, task);
    deps.onOutcome(task.effect.type, outcome.outcome);
    switch (outcome.outcome) {
      case 'Done':
        return TRIED;
      case 'Continue':
        return { next: 'Continues', pool: outcome.pool };
      case 'Wait':
        return { next: 'Waiting' };
      case 'Retry':
        lane.tries += 1;
        if (lane.tries >= MAX_TRIES && isStored(task)) {
          const given = await deps.giveBack(task, 'RetriesExhausted', outcome.message);
          if (given === 'Done') return TRIED;
          if (given === 'Parked') return { next: 'Resting' };
        }
        return { next: 'Tried', again: lane.overruled && !knew ? 0 : backoff(lane.tries) };
      case 'Failed': {
        if (!isStored(task)) {
          // Nobody waits for it but the sender of a letter; should this be lost, it sends the letter again.
          if (task.effect.type === 'Tell') await deps.giveBack(task, outcome.reason, outcome.message);
          return TRIED;
        }
        lane.tries += 1;
        const given = await deps.giveBack(task, outcome.reason, outcome.message);
        if (given === 'Done' || given === 'Absent') return TRIED;
        return given === 'Parked' ? { next: 'Resting' } : { next: 'Tried', again: backoff(lane.tries) };
      }
    }
  }

  function backoff(tries: number): number {
    const full = Math.min(MAX_BACKOFF_MS, firstBackoffMs * 2 ** (tries - 1));
    return full / 2 + (full / 2) * deps.chance();
  }

  async function attempt(lane: Lane, task: EffectTask): Promise<EffectStep> {
    try {
      return await pools.withSignal(lane, (signal, pool) => deps.carryOut(task, { signal, pool, messagesSent }));
    } catch (error) {
      return { outcome: 'Retry', message: describeFault(error) };
    }
  }

  async function messagesSent(to: Address): Promise<void> {
    const key = addressKey(to);
    const inHand = [...lanes.values()].flatMap(({ queue }) =>
      queue.flatMap((task) =>
        isStored(task) || targetOf(task.row.address, task.effect) !== key ? [] : [task.row.version],
      ),
    );
    while (inHand.some((version) => rows.has(version)) && !deps.stopping.aborted)
      await delay(LOOK_AGAIN_MS, deps.stopping);
  }

  /** Resolves when nothing is left in storage only, or the memory is full again. Goes on when storage was away. */
  function refill(): Promise<void> {
    refilling ??= readLeft().finally(() => (refilling = undefined));
    return refilling;
  }

  async function readLeft(): Promise<void> {
    while (leftFrom !== undefined && tasks <= MAX_TASKS / 2 && !deferred.full && !deps.stopping.aborted) {
      const from = leftFrom;
      const known = leftTo;
      let page: readonly StoredEffects[];
      try {
        page = await deps.pending.effects(from - 1, PAGE_ROWS);
      } catch {
        await delay(READ_AGAIN_MS, deps.stopping);
        continue;
      }
      for (const row of page) if (!rows.has(row.version)) accept(row);
      const last = page.at(-1)?.version ?? from - 1;
      // A row that was left while the page was being read may not be in it.
      const more = page.length === PAGE_ROWS || leftTo > Math.max(known, last);
      leftFrom = more ? last + 1 : undefined;
      pools.pump();
    }
  }

  return {
    take,
    takeVolatile,
    workPending: (uid) => lanes.has(`${uid}>work`),
    async recover() {
      leftFrom = 0;
      await refill();
    },
    get tasks() {
      return tasks;
    },
    oldestMs(now) {
      let oldest = 0;
      for (const { parked, continues, triedAt } of lanes.values())
        if (!parked && continues !== 'fetches') oldest = Math.max(oldest, now - triedAt);
      return oldest;
    },
  };
}

function isStored({ row }: EffectTask): boolean {
  return row.version > 0;
}

/** What may be shown to the owner of an object: our own words, or a bare code; never a path of this machine (I11). */
function describeFault(error: unknown): string {
  if (error instanceof RefusalError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return `a fault of the service (${code ?? (error instanceof Error ? error.name : typeof error)})`;
}
