/**
 * Owns the life of one resource actor: its mailbox, its turns, its crashes, and when it may be let go.
 *
 * Protocol. An address has at most one actor in this process (`../registry.ts`), and an actor handles one thing at a
 * time: a client's write (`write.ts`), or a fold of internal messages (`fold.ts`). It decides over a draft, commits it,
 * and only then takes the draft as its state and answers (I2). Its state is always what is committed.
 * - A second activation of the same object in another process cannot write: its commits name a stale version or a stale
 *   lease epoch, and it is told `Stale` or `Fenced` (I3). It then forgets its state and reads again.
 * - A crash while handling drops that item, forgets the state (a half-changed book too), and backs off; then it starts
 *   from committed state with `Activated`. The stored effect behind a dropped message delivers it again.
 * - Storage that does not answer is no crash: the write is answered 503, messages wait or go back to their sender.
 * - Too many crashes park the actor: writes are answered 503, messages wait in storage, the object's condition
 *   `ActorHealthy` says so. An operator's restart is the only way out.
 * - With nothing to do it is let go: at once when the kind has neither book nor life of its own, else after an idle time.
 *   The registry forgets it in the same turn in which its mailbox was seen empty, so no item is lost between.
 */
import { setCondition } from '../../src/api/conditions.js';
import type { ApiObject, Condition } from '../../src/api/object.js';
import { RefusalError, type Refusal } from '../../src/api/refusal.js';
import { addressKey, type Address } from '../../src/api/address.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { openMailbox, type Delivery, type Item, type Mailbox } from '../mailbox.js';
import type { Supervision } from '../supervision.js';
import { delay } from '../wait.js';
import { openDraft } from './draft.js';
import { handleFold } from './fold.js';
import { load } from './incarnation.js';
import type { ActorDeps, Self } from './self.js';
import { settle } from './settle.js';
import { handleWrite } from './write.js';

export interface ResourceActor {
  readonly address: Address;
  readonly mailbox: Mailbox;
  /** Milliseconds at which its last item was done. */
  readonly lastUsed: number;
  readonly busy: boolean;
  /** Milliseconds at which the oldest item came that is not done: one that waits, or the one in hand (I13). */
  oldest(): number | undefined;
  /** True when it holds nothing that could not be read again. */
  readonly disposable: boolean;
  /** Handles what waits; called by nact, never twice at once. */
  run(): Promise<void>;
  /** Reads its state anew before the next item (an operator's restart), which must follow. */
  reset(): void;
}

export interface RunDeps extends ActorDeps {
  readonly supervision: Supervision;
  readonly mailboxLimit: number;
  readonly stopping: AbortSignal;
  now(): number;
  chance(): number;
  onCrash(address: Address, errorClass: string, parked: boolean): void;
}

/** Seconds that a client is asked to wait for a parked object: long, because a person has to act. */
const PARKED_RETRY_SECONDS = 30;
/** Between two looks whether storage answers again (ms). */
const AWAY_MS = 200;

const PARKED: Refusal = {
  code: 'Unavailable',
  message: 'this object is parked after repeated crashes; an operator has to restart it',
  retryAfterSeconds: PARKED_RETRY_SECONDS,
};
const STOPPING: Refusal = {
  code: 'Unavailable',
  message: 'this process is no longer the active one; nothing was written',
  retryAfterSeconds: 1,
};

export function openResourceActor(address: Address, kind: KindDefinition, deps: RunDeps): ResourceActor {
  const self: Self = { address, kind, state: { at: 'Unknown' } };
  const key = addressKey(address);
  const mailbox = openMailbox(deps.mailboxLimit);
  let lastUsed = deps.now();
  let busy = false;
  /** When the turn that is under way began: a handler that hangs must be seen, though its mailbox is empty (I13). */
  let turnSince: number | undefined;
  let reconcile = false;

  async function run(): Promise<void> {
    busy = true;
    try {
      for (;;) {
        if (deps.stopping.aborted) return answerAll(mailbox, STOPPING, 'Retry');
        const parked = deps.supervision.isParked(key);
        if (parked) answerAll(mailbox, PARKED, 'Parked');
        if (mailbox.size === 0 && (parked || !reconcile)) return;
        turnSince = deps.now();
        await turn();
      }
    } finally {
      turnSince = undefined;
      lastUsed = deps.now();
      busy = false;
    }
  }

  async function turn(): Promise<void> {
    const taken: Extract<Item, { item: 'message' }>[] = [];
    let writing: Extract<Item, { item: 'write' }> | undefined;
    try {
      if (reconcile) await reactivate();
      const next = mailbox.peek();
      if (next?.item === 'write') {
        mailbox.shift();
        writing = next;
        // I2: the answer is given when the commit has spoken, not before.
        next.settle(await handleWrite(self, next.request, next.prepared, deps));
      } else if (next) {
        await handleFold(self, mailbox, deps, taken);
      }
    } catch (error) {
      if (error instanceof RefusalError && error.refusal.code === 'Unavailable') {
        // Nothing was written, and the book may be half changed.
        self.state = { at: 'Unknown' };
        writing?.settle({ outcome: 'Refused', refusal: error.refusal });
        for (const item of taken) item.settle('Retry');
        return delay(AWAY_MS, deps.stopping);
      }
      await crashed(error);
      writing?.settle({
        outcome: 'Refused',
        refusal: { code: 'InternalError', message: `handling this ${kind.kind} failed; nothing was written` },
      });
      for (const item of taken) item.settle('Dropped');
    }
  }

  /** After a crash, the first thing decided is what the committed state still needs. */
  async function reactivate(): Promise<void> {
    self.state = { at: 'Unknown' };
    deps.cache.forget(address); // what stands there may be why it crashed
    const own = openMailbox(1);
    const answered = (delivery: Delivery): void => void (reconcile = delivery !== 'Done');
    own.push({ item: 'message', message: { type: 'Activated' }, since: deps.now(), settle: answered });
    await handleFold(self, own, deps, []);
    if (reconcile) await delay(AWAY_MS, deps.stopping);
    else await heal();
  }

  /** What was parked before and has reconciled says so. */
  async function heal(): Promise<void> {
    if (self.state.at === 'Present' && isMarked(self.state.object)) await markHealth(self, deps, HEALTHY);
  }

  async function crashed(error: unknown): Promise<void> {
    self.state = { at: 'Unknown' };
    reconcile = true;
    const verdict = deps.supervision.crashed(key, error, deps.now(), deps.chance());
    deps.onCrash(address, error instanceof Error ? error.name : typeof error, verdict.verdict === 'Park');
    if (verdict.verdict === 'Restart') await delay(verdict.afterMs, deps.stopping);
    else if (!(await markHealth(self, deps, unhealthy(deps.supervision.record(key)?.errorClass))))
      // A create that crashes leaves no object to park: a record would stay for ever (I10).
      deps.supervision.forgive(key);
  }

  return {
    address,
    mailbox,
    get lastUsed() {
      return lastUsed;
    },
    get busy() {
      return busy;
    },
    oldest() {
      const waiting = mailbox.oldest();
      return waiting !== undefined && turnSince !== undefined ? Math.min(waiting, turnSince) : (waiting ?? turnSince);
    },
    get disposable() {
      return kind.machine.book?.stored ?? true;
    },
    run,
    reset() {
      // The state itself is forgotten by the next turn: the present one may be deciding over it.
      reconcile = true;
    },
  };
}

/** Answers everything that waits without looking at it. */
function answerAll(mailbox: Mailbox, refusal: Refusal, delivery: Delivery): void {
  for (let item = mailbox.shift(); item; item = mailbox.shift()) {
    if (item.item === 'message') item.settle(delivery);
    else item.settle({ outcome: 'Refused', refusal });
  }
}

const ACTOR_HEALTHY = 'ActorHealthy';

type Health = Pick<Condition, 'status' | 'reason' | 'message'>;

const HEALTHY: Health = { status: 'True', reason: 'Restarted', message: '' };

/** I11: the class of the error only, never its text. */
function unhealthy(errorClass: string | undefined): Health {
  const message = `parked after repeated crashes (${errorClass ?? 'unknown error'})`;
  return { status: 'False', reason: 'CrashLoop', message };
}

function conditionsOf(object: ApiObject): readonly Condition[] {
  return ((object.status ?? {}) as { conditions?: readonly Condition[] }).conditions ?? [];
}

function isMarked(object: ApiObject): boolean {
  return conditionsOf(object).some(({ type, status }) => type === ACTOR_HEALTHY && status === 'False');
}

/**
 * Writes condition `ActorHealthy`. If even that fails, the object is parked (or restarted) all the same. False when there
 * is no object.
 */
async function markHealth(self: Self, deps: RunDeps, health: Health): Promise<boolean> {
  try {
    self.state = await load(self.address, self.kind, deps);
    if (self.state.at !== 'Present') return false;
    const { object, private: privateState, book } = self.state;
    const conditions = setCondition(conditionsOf(object), { type: ACTOR_HEALTHY, ...health }, deps.now());
    const status = { ...(object.status as object), conditions };
    const draft = openDraft(self.address, { ...object, status }, privateState, book);
    await settle(self, draft, deps);
  } catch {
    self.state = { at: 'Unknown' };
  }
  return true;
}
