/**
 * Decides which lanes run now: each stands in the pool of its first effect until a place is free there.
 *
 * What starts work may take minutes and has places of its own, so that it holds up neither messages nor what ends work. What it
 * fetches from URLs has others: a slow download holds up no start that needs none. A start that is overruled by a later effect of
 * its lane (the stop of work whose input is still on its way) has its signal aborted, waits for nothing any more, and runs among
 * those that end work.
 *
 * Orgs take turns (`org-round-robin.ts`), and none may have so many under way that there are none left for another.
 *
 * I10: as many lanes stand here as there are lanes in hand; `PLACES` run at once.
 */
import type { EffectTask } from './definition.js';
import { OrgRoundRobin } from './org-round-robin.js';
import { OVERRULED, type PoolName } from './outcome.js';
import { overrules, poolOf } from './table.js';

export interface Lane {
  readonly key: string;
  /** Whose turns it takes. */
  readonly org: string;
  readonly queue: EffectTask[];
  /** Of the first task. */
  tries: number;
  /** The first task was overruled by a later one. */
  overruled: boolean;
  /** Where its first task goes on; undefined: where it begins. */
  continues: PoolName | undefined;
  /** Its first task waits for an operator. */
  parked: boolean;
  /** When its first task was last tried, or became the first (ms). */
  triedAt: number;
  state: LaneState;
}

/** What the first task is doing. */
type LaneState =
  | { readonly at: 'New' }
  | { readonly at: 'Ready'; readonly pool: Pool }
  | { readonly at: 'Running'; readonly pool: PoolName; readonly abort: AbortController | undefined }
  /** For its next try. */
  | { readonly at: 'Waiting'; readonly timer: NodeJS.Timeout };

interface Pool {
  readonly name: PoolName;
  readonly turns: OrgRoundRobin<Lane>;
}

export interface Pools {
  /** The lane's first effect is to be tried; nothing begins before `pump`. */
  ready(lane: Lane): void;
  /** The same after a pause. */
  pause(lane: Lane, ms: number): void;
  pump(): void;
  /** Lets what came behind the first effect overrule it. */
  overrule(lane: Lane, later: EffectTask): void;
  /** The lane has a new first effect. */
  begin(lane: Lane): void;
  /** Lends what ends the first effect early (the stop of the process, or an effect behind it), and says in whose place it runs. */
  withSignal<T>(lane: Lane, use: (signal: AbortSignal, pool: PoolName) => Promise<T>): Promise<T>;
}

/** Effects under way at once. Of one org half of them, so that another's need not wait for one to end. */
const PLACES: Readonly<Record<PoolName, number>> = {
  general: 512,
  starts: 128,
  fetches: 128,
  ends: 256,
  deletes: 256,
};

/** `run` makes one try at the lane's first effect; it never rejects. */
export function openPools(run: (lane: Lane) => Promise<void>, stopping: AbortSignal): Pools {
  const pools: Readonly<Record<PoolName, Pool>> = {
    general: open('general'),
    // Held for as long as a machine or a registry takes, which may be their owner's.
    starts: open('starts'),
    // Held for as long as an input is on its way, which its server decides.
    fetches: open('fetches'),
    ends: open('ends'),
    // An org may delete as many objects as it has.
    deletes: open('deletes'),
  };
  /** Of starts under way. One listener for all of them: thousands may come and go. */
  const aborts = new Set<AbortController>();
  const stop = (): void => {
    for (const abort of aborts) abort.abort(stopping.reason);
  };
  stopping.addEventListener('abort', stop, { once: true });

  function ready(lane: Lane): void {
    const [first] = lane.queue;
    if (!first) return;
    const pool = pools[lane.overruled ? 'ends' : (lane.continues ?? poolOf(first.effect))];
    lane.state = { at: 'Ready', pool };
    pool.turns.add(lane);
  }

  function pumpOne({ name, turns }: Pool): void {
    while (!stopping.aborted) {
      const lane = turns.take();
      if (lane === undefined) return;
      lane.state = { at: 'Running', pool: name, abort: undefined };
      void run(lane).then(() => {
        turns.release(lane);
        pump();
      });
    }
  }

  function pump(): void {
    pumpOne(pools.general);
    pumpOne(pools.starts);
    pumpOne(pools.fetches);
    pumpOne(pools.ends);
    pumpOne(pools.deletes);
  }

  function overrule(lane: Lane, later: EffectTask): void {
    const [first] = lane.queue;
    if (!first || lane.overruled || !overrules(later.effect, first.effect)) return;
    lane.overruled = true;
    switch (lane.state.at) {
      case 'New':
        return;
      case 'Running':
        lane.state.abort?.abort(OVERRULED);
        return;
      case 'Waiting':
        clearTimeout(lane.state.timer);
        break;
      case 'Ready':
        lane.state.pool.turns.delete(lane);
        break;
    }
    ready(lane);
  }

  return {
    ready,
    pump,
    overrule,
    pause(lane, ms) {
      // Not a `delay`: tens of thousands may wait, and each would listen to the one signal.
      const timer = setTimeout(() => {
        ready(lane);
        pump();
      }, ms).unref();
      lane.state = { at: 'Waiting', timer };
    },
    begin(lane) {
      lane.tries = 0;
      lane.overruled = false;
      lane.continues = undefined;
      lane.state = { at: 'New' };
      for (const later of lane.queue.slice(1)) overrule(lane, later);
      ready(lane);
    },
    async withSignal(lane, use) {
      const [first] = lane.queue;
      const pool = lane.state.at === 'Running' ? lane.state.pool : 'general';
      // A signal of its own only where it can be overruled: messages are many.
      if (!first || poolOf(first.effect) !== 'starts') return use(stopping, pool);
      const abort = new AbortController();
      lane.state = { at: 'Running', pool, abort };
      aborts.add(abort);
      if (lane.overruled) abort.abort(OVERRULED);
      try {
        return await use(abort.signal, pool);
      } finally {
        aborts.delete(abort);
      }
    },
  };
}

function open(name: PoolName): Pool {
  return { name, turns: new OrgRoundRobin(PLACES[name], true) };
}
