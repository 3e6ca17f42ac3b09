/**
 * Owns the carrying out of stored effects on the process that holds the lease.
 *
 * Protocol. A commit that asks for later effects stores them as one row (I5) and hands the row over here; after a start
 * the rows that a crash left behind are read again. Effects of one object on one target share a lane and run in version
 * order, one at a time; different lanes run side by side, at most `CONCURRENCY` at once. When all effects of a row are
 * done the row is deleted; a crash before that runs them again, which is harmless, since each is idempotent by its key.
 * One that fails past its retries returns to its object as `EffectFailed`, and that message is delivered like any other.
 *
 * I10: at most `MAX_TASKS` effects are held in memory. When it is full, rows stay in storage only, and are read from
 * there, oldest first, as soon as half of the room is free again.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { Pending, StoredEffects } from '../../storage/store.js';
import { delay } from '../wait.js';
import type { EffectOutcome } from './outcome.js';

export interface EffectTask {
  readonly row: StoredEffects;
  readonly effect: LaterEffect;
}

export interface EffectRunnerDeps {
  readonly pending: Pick<Pending, 'effects' | 'effectsDone'>;
  carryOut(task: EffectTask, signal: AbortSignal): Promise<EffectOutcome>;
  /** Gives a failed effect back to its object; resolves when it is decided. */
  giveBack(task: EffectTask, reason: string, message: string): Promise<'Done' | 'Retry'>;
  readonly stopping: AbortSignal;
  chance(): number;
  onOutcome(type: LaterEffect['type'], outcome: EffectOutcome['outcome']): void;
}

export interface EffectRunner {
  take(row: StoredEffects): void;
  /**
   * Effects that nothing stored asks for: carried out like others, but lost in a crash, and dropped when memory is full
   * or their tries are used up. Whoever needs them asks again.
   */
  takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void;
  /** True while an effect of this object on its work is not done: what the engine has may be about to change. */
  workPending(uid: string): boolean;
  /** Reads what an earlier process left behind. Resolves when all of it is in hand or the memory bound is reached. */
  recover(): Promise<void>;
  readonly tasks: number;
  /** Milliseconds for which the oldest effect has been in hand (I13). */
  oldestMs(now: number): number;
}

const CONCURRENCY = 256;
const MAX_TASKS = 50_000;
/** Rows read from storage per step of recovery. */
const PAGE_ROWS = 500;
const MAX_TRIES = 9;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 15_000;
/** Between tries at a target that waits for an operator. */
const WAIT_MS = 30_000;

interface Lane {
  readonly queue: EffectTask[];
  busy: boolean;
}

export function openEffectRunner(deps: EffectRunnerDeps): EffectRunner {
  const lanes = new Map<string, Lane>();
  const ready: Lane[] = [];
  const rows = new Map<number, { left: number; readonly since: number }>();
  let running = 0;
  let tasks = 0;
  /** Rows from this version on were left in storage; undefined: none. */
  let leftFrom: number | undefined;
  let refilling = false;
  /** Keys of volatile rows count down from zero, so that they never meet a version. */
  let volatileKey = 0;

  function takeVolatile(address: Address, uid: string, effects: readonly LaterEffect[]): void {
    if (effects.length === 0 || tasks >= MAX_TASKS) return; // I10
    volatileKey -= 1;
    take({ version: volatileKey, address, uid, effects });
  }

  function take(row: StoredEffects): void {
    if (rows.has(row.version)) return; // already in hand
    if (tasks >= MAX_TASKS) {
      leftFrom = Math.min(leftFrom ?? row.version, row.version); // I10
      return;
    }
    rows.set(row.version, { left: row.effects.length, since: Date.now() });
    for (const effect of row.effects) enqueue({ row, effect });
    pump();
  }

  function enqueue(task: EffectTask): void {
    const key = laneKey(task);
    let lane = lanes.get(key);
    if (!lane) {
      lane = { queue: [], busy: false };
      lanes.set(key, lane);
    }
    lane.queue.push(task);
    tasks += 1;
    if (!lane.busy && lane.queue.length === 1) ready.push(lane);
  }

  function pump(): void {
    while (running < CONCURRENCY && ready.length > 0 && !deps.stopping.aborted) {
      const lane = ready.shift();
      if (!lane) return;
      running += 1;
      lane.busy = true;
      void runLane(lane);
    }
  }

  async function runLane(lane: Lane): Promise<void> {
    const task = lane.queue[0];
    if (task) {
      await runTask(task);
      if (!deps.stopping.aborted) finish(lane, task);
    }
    running -= 1;
    pump();
    void refill();
  }

  function finish(lane: Lane, task: EffectTask): void {
    lane.queue.shift();
    lane.busy = false;
    tasks -= 1;
    if (lane.queue.length > 0) ready.push(lane);
    else lanes.delete(laneKey(task));
    const row = rows.get(task.row.version);
    if (!row) return;
    row.left -= 1;
    if (row.left > 0) return;
    rows.delete(task.row.version);
    if (task.row.version > 0) deps.pending.effectsDone(task.row.version, task.row.uid);
  }

  /** Tries until the effect is done, given back, or the process stops. */
  async function runTask(task: EffectTask): Promise<void> {
    for (let tries = 1; !deps.stopping.aborted; tries += 1) {
      const outcome = await attempt(task);
      deps.onOutcome(task.effect.type, outcome.outcome);
      switch (outcome.outcome) {
        case 'Done':
          return;
        case 'Wait':
          tries -= 1;
          await delay(WAIT_MS, deps.stopping);
          break;
        case 'Retry':
          if (tries >= MAX_TRIES && (await giveBack(task, 'RetriesExhausted', outcome.message))) return;
          await delay(backoff(tries, deps.chance()), deps.stopping);
          break;
        case 'Failed':
          if (await giveBack(task, outcome.reason, outcome.message)) return;
          await delay(backoff(tries, deps.chance()), deps.stopping);
      }
    }
  }

  async function giveBack(task: EffectTask, reason: string, message: string): Promise<boolean> {
    if (task.row.version <= 0) return true; // nobody waits for it
    return (await deps.giveBack(task, reason, message)) === 'Done';
  }

  async function attempt(task: EffectTask): Promise<EffectOutcome> {
    try {
      return await deps.carryOut(task, deps.stopping);
    } catch (error) {
      return { outcome: 'Retry', message: error instanceof Error ? error.message : String(error) };
    }
  }

  async function refill(): Promise<void> {
    if (leftFrom === undefined || refilling || tasks > MAX_TASKS / 2 || deps.stopping.aborted) return;
    refilling = true;
    try {
      while (leftFrom !== undefined && tasks <= MAX_TASKS / 2 && !deps.stopping.aborted) {
        const page = await deps.pending.effects(leftFrom - 1, PAGE_ROWS);
        leftFrom = undefined;
        for (const row of page) take(row);
        const last = page.at(-1);
        if (leftFrom === undefined && page.length === PAGE_ROWS && last) leftFrom = last.version + 1;
      }
    } catch {
      leftFrom ??= 0; // storage is away; what was left is still there
      await delay(MAX_BACKOFF_MS, deps.stopping);
    } finally {
      refilling = false;
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
      for (const { since } of rows.values()) oldest = Math.max(oldest, now - since);
      return oldest;
    },
  };
}

function backoff(tries: number, chance: number): number {
  const full = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries - 1));
  return full / 2 + (full / 2) * chance;
}

/** One lane per object and target: effects on one target keep their order, others do not wait for them. */
function laneKey({ row, effect }: EffectTask): string {
  return `${row.uid}>${target(row.address, effect)}`;
}

function target(address: Address, effect: LaterEffect): string {
  switch (effect.type) {
    case 'Tell':
      return addressKey(effect.to);
    // The same lane as a letter to that child: it is told after it was made.
    case 'CreateChild':
      return addressKey({
        ...address,
        kind: effect.kind,
        name: effect.name,
        project: effect.project ?? address.project,
      });
    case 'DeleteChild':
      return addressKey({ ...address, kind: effect.kind, name: effect.name });
    case 'CollectChildren':
      return 'children';
    case 'CollectProject':
      return 'project';
    case 'StartWork':
    case 'StopWork':
    case 'RemoveWork':
      return 'work';
    case 'CountPlaces':
      return addressKey(address);
  }
}
