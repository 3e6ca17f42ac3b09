/**
 * The life of one resource actor: its mailbox, its turns, its crashes, and when it may be let go.
 *
 * Protocol. An address has at most one actor in this process (`../registry.ts`), and an actor handles one thing at a
 * time: a client's write (`write.ts`), or a fold of internal messages (`fold.ts`). It decides over a draft, commits it,
 * and only then takes the draft as its state and answers (I2). Its state is always what is committed.
 * - A second activation of the same object in another process cannot write: its commits name a stale version or a stale
 *   lease epoch, and are answered `Stale` or `Fenced` (I3). It then forgets its state and reads again.
 * - A crash while handling drops that item, forgets the state (a half-changed side state too), and backs off; then it starts
 *   from committed state with `Activated`. The stored effect behind a dropped message delivers it again.
 * - Storage that does not answer is no crash: the write is answered 503, messages wait or go back to their sender.
 * - Too many crashes park the actor: writes are answered 503, messages wait in storage, the object's condition
 *   `ActorHealthy` says so. An operator's restart is the only way out.
 * - With nothing to do it is let go: at once when the kind has neither side state nor life of its own, else after an idle time.
 *   The registry forgets it in the same turn in which its mailbox was seen empty, so no item is lost between.
 */
import { setCondition } from '../../src/api/conditions.js';
import type { ApiObject, Condition } from '../../src/api/object.js';
import { RefusalError, type Refusal } from '../../src/api/refusal.js';
import type { Address } from '../../src/api/address.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { Mailbox, type Delivery, type Item } from '../mailbox.js';
import type { Supervision } from '../supervision.js';
import { delay } from '../wait.js';
import { openDraft } from './draft.js';
import { handleFold } from './fold.js';
import { load, type Incarnation } from './incarnation.js';
import type { ActorDeps, Self } from './self.js';
import { commitDraft } from './commit-draft.js';
import { handleWrite } from './write.js';

export interface RunDeps extends ActorDeps {
  readonly supervision: Supervision;
  readonly mailboxLimit: number;
  readonly stopping: AbortSignal;
  now(): number;
  chance(): number;
  onCrash(address: Address, errorClass: string, parked: boolean): void;
}

const UNKNOWN: Incarnation = { at: 'Unknown' };
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

export class ResourceActor implements Self {
  readonly address: Address;
  readonly kind: KindDefinition;
  readonly mailbox: Mailbox;
  /** What it holds of its object; only its own turns change it. */
  state: Incarnation = UNKNOWN;
  /** Milliseconds at which its last item was done. */
  lastUsed: number;
  busy = false;
  readonly #deps: RunDeps;
  readonly #key: string;
  /** When the turn that is under way began: a handler that hangs must be seen, though its mailbox is empty (I13). */
  #turnSince: number | undefined;
  #reconcile = false;

  constructor(key: string, address: Address, kind: KindDefinition, deps: RunDeps) {
    this.#key = key;
    this.address = address;
    this.kind = kind;
    this.#deps = deps;
    this.mailbox = new Mailbox(deps.mailboxLimit);
    this.lastUsed = deps.now();
  }

  /** True when it holds nothing that could not be read again. */
  get disposable(): boolean {
    return this.kind.machine.sideState?.stored ?? true;
  }

  /** Milliseconds at which the oldest item came that is not done: one that waits, or the one in hand (I13). */
  oldest(): number | undefined {
    const waiting = this.mailbox.oldest();
    if (waiting === undefined || this.#turnSince === undefined) return waiting ?? this.#turnSince;
    return Math.min(waiting, this.#turnSince);
  }

  /** Reads its state anew before the next item (an operator's restart), which must follow. */
  reset(): void {
    // The state itself is forgotten by the next turn: the present one may be deciding over it.
    this.#reconcile = true;
  }

  /** Handles what waits; called by nact, never twice at once. */
  async run(): Promise<void> {
    this.busy = true;
    try {
      for (;;) {
        if (this.#deps.stopping.aborted) return answerAll(this.mailbox, STOPPING, 'Retry');
        const parked = this.#deps.supervision.isParked(this.#key);
        if (parked) answerAll(this.mailbox, PARKED, 'Parked');
        if (this.mailbox.size === 0 && (parked || !this.#reconcile)) return;
        this.#turnSince = this.#deps.now();
        await this.#turn();
      }
    } finally {
      this.#turnSince = undefined;
      this.lastUsed = this.#deps.now();
      this.busy = false;
    }
  }

  async #turn(): Promise<void> {
    const taken: Extract<Item, { item: 'message' }>[] = [];
    let writing: Extract<Item, { item: 'write' }> | undefined;
    try {
      if (this.#reconcile) await this.#reactivate();
      const next = this.mailbox.peek();
      if (next?.item === 'write') {
        this.mailbox.shift();
        writing = next;
        // I2: the answer is given when the commit is answered, not before.
        next.settle(await handleWrite(this, next.request, next.prepared, this.#deps));
      } else if (next) {
        await handleFold(this, this.mailbox, this.#deps, taken);
      }
    } catch (error) {
      if (error instanceof RefusalError && (writing !== undefined || error.refusal.code === 'Unavailable')) {
        // Nothing was written, and the side state may be half changed. A write that is refused from below is no crash.
        this.state = UNKNOWN;
        writing?.settle({ outcome: 'Refused', refusal: error.refusal });
        for (const item of taken) item.settle('Retry');
        return error.refusal.code === 'Unavailable' ? delay(AWAY_MS, this.#deps.stopping) : undefined;
      }
      await this.#crashed(error);
      writing?.settle({
        outcome: 'Refused',
        refusal: { code: 'InternalError', message: `handling this ${this.kind.kind} failed` },
      });
      for (const item of taken) item.settle('Dropped');
    }
  }

  /** After a crash, the first thing decided is what the committed state still needs. */
  async #reactivate(): Promise<void> {
    this.state = UNKNOWN;
    this.#deps.cache.forget(this.address); // what stands there may be why it crashed
    const own = new Mailbox(1);
    const answered = (delivery: Delivery): void =>
      void (this.#reconcile = delivery !== 'Done' && delivery !== 'Absent');
    own.push({ item: 'message', message: { type: 'Activated' }, since: this.#deps.now(), settle: answered });
    await handleFold(this, own, this.#deps, []);
    if (this.#reconcile) await delay(AWAY_MS, this.#deps.stopping);
    else await this.#heal();
  }

  /** What was parked before and has reconciled says so. */
  async #heal(): Promise<void> {
    if (this.state.at === 'Present' && isMarked(this.state.object)) await markHealth(this, this.#deps, HEALTHY);
  }

  async #crashed(error: unknown): Promise<void> {
    const deps = this.#deps;
    this.state = UNKNOWN;
    this.#reconcile = true;
    const verdict = deps.supervision.crashed(this.#key, error, deps.now(), deps.chance());
    deps.onCrash(this.address, error instanceof Error ? error.name : typeof error, verdict.verdict === 'Park');
    if (verdict.verdict === 'Restart') await delay(verdict.afterMs, deps.stopping);
    else if (!(await markHealth(this, deps, unhealthy(deps.supervision.record(this.#key)?.errorClass))))
      // A create that crashes leaves no object to park: a record would stay for ever (I10).
      deps.supervision.forgive(this.#key);
  }
}

/** Answers everything that waits without looking at it. */
function answerAll(mailbox: Mailbox, refusal: Refusal, delivery: Delivery): void {
  for (let item = mailbox.shift(); item; item = mailbox.shift()) {
    if (item.item === 'message') item.settle(delivery);
    else item.settle({ outcome: 'Refused', refusal, parked: delivery === 'Parked' });
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
    const { version, object, private: privateState, sideState } = self.state;
    const conditions = setCondition(conditionsOf(object), { type: ACTOR_HEALTHY, ...health }, deps.now());
    const status = { ...(object.status as object), conditions };
    const draft = openDraft(self.address, version, { ...object, status }, privateState, sideState);
    await commitDraft(self, draft, deps);
  } catch {
    self.state = { at: 'Unknown' };
  }
  return true;
}
