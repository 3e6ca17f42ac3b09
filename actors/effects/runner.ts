/**
 * Carries out the stored effects of commits on the process that holds the lease.
 *
 * Protocol. A commit that asks for later effects stores them as one row (I5) and hands the row over here; after a start
 * the rows that a crash left behind are read again. Effects of one object on one target share a lane and run in version
 * order, one at a time; different lanes run side by side, a few hundred at once (`pools.ts`). A lane that waits for its
 * next try takes no place from the others. When all effects of a row are done the row is deleted; a crash before that runs
 * them again, which is harmless, since each is idempotent by its key. What follows from a try is decided in `try-effect.ts`.
 *
 * What waits for a parked object is left in storage: its first effect alone stays in hand and tries again (`deferred-effects.ts`).
 * When that is through, the others are read again in their order; new ones go behind them until all of them are in hand.
 *
 * I10: the effects in hand are bounded, and each org's share of them (`room.ts`). What finds no room stays in storage only, and so does
 * all of its group that follows, until there is room again (`left-rows.ts`).
 */
import { addressKey, type Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import { turnsOf } from '../../src/kinds/node/local.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import { delay } from '../wait.js';
import { openDeferredEffects, type DeferredTarget } from './deferred-effects.js';
import type { EffectTask, EffectTry } from './definition.js';
import { openLeftRows, PAGE_ROWS, READ_AGAIN_MS } from './left-rows.js';
import type { EffectStep } from './outcome.js';
import { openPools, type Lane } from './pools.js';
import { EffectRoom, groupOf, isStored } from './room.js';
import { laneKey, targetOf } from './table.js';
import { tryEffect, type TryDeps } from './try-effect.js';

export interface EffectRunnerDeps extends Omit<TryDeps, 'carryOut'> {
  readonly pending: Pick<Pending, 'effects' | 'effectsOrgs' | 'effectsAt' | 'effectsDone'>;
  /** Version of the newest commit that this process knows of; at first of the newest that there was when it began. */
  published(): number;
  /** Makes one try. */
  carryOut(task: EffectTask, attempt: EffectTry): Promise<EffectStep>;
  readonly stopping: AbortSignal;
  /** Between tries at a target that waits for an operator (ms). */
  readonly waitMs?: number | undefined;
}

export interface EffectRunner {
  take(row: StoredEffects): void;
  /**
   * Effects that nothing stored asks for: carried out like others and tried for as long as it takes, but lost in a crash,
   * and dropped when memory is full. The object that needs them asks again.
   */
  takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void;
  /** True while an effect of this object on its work is not done: what the engine has may be about to change. */
  workPending(uid: string): boolean;
  /** Reads what an earlier process left behind. Resolves when all of it is in hand or the memory bound is reached. */
  recover(): Promise<void>;
  readonly tasks: number;
  /** Attempts of this org that are to be made by effects in hand. */
  attemptsAsked(org: string): number;
  /**
   * Milliseconds since the last try of the effect that was tried longest ago, or since it came (I13). One that fails again and
   * again is no older than its back-off; an effect that waits for an operator shows as a parked object and does not count,
   * and neither does what waits for a server elsewhere (a fetch: the dialer ends one that is silent).
   */
  oldestMs(now: number): number;
}

/** Between two looks whether messages were taken. */
const LOOK_AGAIN_MS = 20;
/** Between tries at a target that waits for an operator. */
const WAIT_MS = 30_000;

export function openEffectRunner(deps: EffectRunnerDeps): EffectRunner {
  const lanes = new Map<string, Lane>();
  const pools = openPools(runLane, deps.stopping);
  /** Effects in hand of each row. */
  const rows = new Map<number, { left: number }>();
  const deferred = openDeferredEffects();
  const { waitMs = WAIT_MS } = deps;
  const room = new EffectRoom();
  /** Keys of volatile rows count down from zero, so that they never meet a version. */
  let volatileKey = 0;
  const left = openLeftRows({
    pending: deps.pending,
    published: deps.published,
    mayRead: (group) => room.mayRead(group) && !deferred.full,
    take(page) {
      for (const row of page) if (!rows.has(row.version)) accept(row);
      pools.pump();
    },
    stopping: deps.stopping,
  });
  const trying: TryDeps = {
    ...deps,
    carryOut: (lane, task) =>
      pools.withSignal(lane, (signal, pool) => deps.carryOut(task, { signal, pool, messagesSent })),
  };

  function takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void {
    if (effects.length === 0 || room.isFullOfVolatile(groupOf(address))) return; // I10
    volatileKey -= 1;
    accept({ version: volatileKey, address, uid, effects });
    pools.pump();
  }

  function take(row: StoredEffects): void {
    if (rows.has(row.version)) return; // already in hand
    const group = groupOf(row.address);
    // I10. What is newer than a row that was left behind stays behind it.
    if (room.isFull(group) || deferred.full || left.any(group)) {
      left.leave(group, row.version);
      void left.refill();
      return;
    }
    accept(row);
    pools.pump();
  }

  function accept(row: StoredEffects): void {
    for (const effect of row.effects) {
      const target = row.version > 0 ? deferred.of(row, effect) : undefined;
      if (target) deferred.leave(target, row.version);
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
        ...{ key, org: turnsOf(task.row.address), queue: [task], tries: 0, overruled: false, parked: false },
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
    room.add(task);
  }

  /** One try at the lane's first effect. */
  async function runLane(lane: Lane): Promise<void> {
    const task = lane.queue[0];
    const target = task && isStored(task) ? deferred.of(task.row, task.effect) : undefined;
    // One effect alone probes a target that waits. While the others are read again there is no probe, and all of them go on.
    if (task && target?.probe && target.probe !== task) return deferLane(lane, target, 0);
    lane.triedAt = Date.now();
    const outcome = task && (await tryEffect(lane, task, trying));
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
      case 'Again':
        tried(lane, task, outcome.afterMs);
        break;
      case 'Finished':
        tried(lane, task, undefined);
        break;
    }
    pools.pump();
    void left.refill();
  }

  /** `again`: milliseconds until the next try; undefined when it is done or given back. */
  function tried(lane: Lane, task: EffectTask, again: number | undefined): void {
    const target = deferred.of(task.row, task.effect);
    const back = target?.probe === task;
    if (again === undefined) finish(lane, task);
    else pools.pause(lane, again);
    if (!target || !back) return;
    target.probe = undefined;
    void readDeferred(target, task);
  }

  /** The lane's target waits for an operator: the first effect that finds out becomes its probe, and all others for it are left. */
  function wait(lane: Lane, task: EffectTask): void {
    const known = deferred.of(task.row, task.effect);
    if (!isStored(task)) {
      if (known?.probe) deferLane(lane, known, 1);
      return pools.pause(lane, waitMs);
    }
    if (known?.probe && known.probe !== task) return deferLane(lane, known, 0);
    const target = deferred.open(task);
    deferLane(lane, target, 1);
    pools.pause(lane, waitMs);
  }

  /** Leaves the lane's effects from this place on in storage. */
  function deferLane(lane: Lane, target: DeferredTarget, from: number): void {
    for (const task of lane.queue.splice(from)) {
      if (!isStored(task)) {
        lane.queue.push(task);
        continue;
      }
      deferred.leave(target, task.row.version);
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
    room.remove(task);
    const row = rows.get(task.row.version);
    if (!row) return false;
    row.left -= 1;
    if (row.left > 0) return false;
    rows.delete(task.row.version);
    return true;
  }

  /** Takes what was left for a target that is back, oldest first, until none is left or it waits again. */
  async function readDeferred(target: DeferredTarget, asked: EffectTask): Promise<void> {
    const { turn } = target;
    while (target.versions.size > 0) {
      const versions = [...target.versions].toSorted((a, b) => a - b);
      for (let i = 0; i < versions.length; i += PAGE_ROWS) {
        const page = versions.slice(i, i + PAGE_ROWS);
        const read = await readPage(page, asked, () => target.turn === turn);
        // In between it may have come to wait again: then its next probe reads them.
        if (read === undefined || target.turn !== turn) return;
        for (const row of read) {
          for (const effect of row.effects) if (deferred.of(row, effect) === target) enqueue({ row, effect });
        }
        for (const version of page) deferred.take(target, version);
        pools.pump();
      }
    }
    deferred.close(asked);
  }

  async function readPage(
    page: readonly number[],
    asked: EffectTask,
    isWanted: () => boolean,
  ): Promise<readonly StoredEffects[] | undefined> {
    while (!deps.stopping.aborted && isWanted()) {
      if (!room.mayRead(groupOf(asked.row.address))) {
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

  return {
    take,
    takeVolatile,
    workPending: (uid) => lanes.has(`${uid}>work`),
    async recover() {
      await left.leaveAll();
      await left.refill();
    },
    get tasks() {
      return room.tasks;
    },
    attemptsAsked: (org) => room.attemptsAsked(org),
    oldestMs(now) {
      let oldest = 0;
      for (const { parked, continues, triedAt } of lanes.values())
        if (!parked && continues !== 'fetches') oldest = Math.max(oldest, now - triedAt);
      return oldest;
    },
  };
}
