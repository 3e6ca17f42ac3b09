/**
 * Owns the life of one resource actor: its mailbox, its turns, its crashes, and when it may be let go.
 *
 * Protocol. An address has at most one actor in this process (`../registry.ts`), and an actor handles one thing at a
 * time: a client's write (`write.ts`), or a fold of internal messages (`fold.ts`). It decides over a draft, commits it,
 * and only then takes the draft as its state and answers (I2). Its state is always what is committed.
 * - A second activation of the same object in another process cannot write: its commits name a stale version or a stale
 *   lease epoch, and it is told `Stale` or `Fenced` (I3). It then forgets its state and reads again.
 * - A crash while handling drops that item, forgets the state (a half-changed book too), and backs off; the next item
 *   starts from committed state with `Activated` first. The stored effect behind a dropped message delivers it again.
 * - Too many crashes park the actor: writes are answered 503, messages wait in storage, the object's condition
 *   `ActorHealthy` says so. An operator's restart is the only way out.
 * - With nothing to do it is let go: at once when the kind has neither book nor life of its own, else after an idle time.
 *   The registry forgets it in the same turn in which its mailbox was seen empty, so no item is lost between.
 */
import { setCondition } from '../../src/api/conditions.js';
import type { Condition } from '../../src/api/object.js';
import { addressKey, type Address } from '../../src/api/address.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { openMailbox, type Item, type Mailbox } from '../mailbox.js';
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
  /** True when it holds nothing that could not be read again. */
  readonly disposable: boolean;
  /** Handles what waits; called by nact, never twice at once. */
  run(): Promise<void>;
  /** Reads its state anew before the next item (an operator's restart). */
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

export function openResourceActor(address: Address, kind: KindDefinition, deps: RunDeps): ResourceActor {
  const self: Self = { address, kind, state: { at: 'Unknown' } };
  const key = addressKey(address);
  const mailbox = openMailbox(deps.mailboxLimit);
  let lastUsed = deps.now();
  let busy = false;
  let reconcile = false;

  async function run(): Promise<void> {
    busy = true;
    try {
      while (mailbox.size > 0) {
        if (deps.supervision.isParked(key)) refuseParked(mailbox);
        else await turn();
      }
    } finally {
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
        next.settle(await handleWrite(self, next.request, next.prepared, deps));
      } else {
        await handleFold(self, mailbox, deps, taken);
      }
    } catch (error) {
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
    const items: Extract<Item, { item: 'message' }>[] = [];
    const own = openMailbox(1);
    own.push({ item: 'message', message: { type: 'Activated' }, since: deps.now(), settle: () => undefined });
    await handleFold(self, own, deps, items);
    reconcile = false;
  }

  async function crashed(error: unknown): Promise<void> {
    self.state = { at: 'Unknown' };
    reconcile = true;
    const verdict = deps.supervision.crashed(key, error, deps.now(), deps.chance());
    deps.onCrash(address, error instanceof Error ? error.name : typeof error, verdict.verdict === 'Park');
    if (verdict.verdict === 'Restart') await delay(verdict.afterMs, deps.stopping);
    else await markHealth(self, deps, deps.supervision.record(key)?.errorClass);
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
    get disposable() {
      return kind.machine.book?.stored ?? true;
    },
    run,
    reset() {
      self.state = { at: 'Unknown' };
      reconcile = true;
    },
  };
}

/** Answers everything that waits at a parked actor. */
function refuseParked(mailbox: Mailbox): void {
  for (let item = mailbox.shift(); item; item = mailbox.shift()) {
    if (item.item === 'message') {
      item.settle('Parked');
      continue;
    }
    item.settle({
      outcome: 'Refused',
      refusal: {
        code: 'Unavailable',
        message: 'this object is parked after repeated crashes; an operator has to restart it',
        retryAfterSeconds: PARKED_RETRY_SECONDS,
      },
    });
  }
}

/** Writes condition `ActorHealthy=False` with the error's class. If even that fails, the object is parked all the same. */
async function markHealth(self: Self, deps: RunDeps, errorClass: string | undefined): Promise<void> {
  try {
    self.state = await load(self.address, self.kind, deps);
    if (self.state.at !== 'Present') return;
    const { object, private: privateState, book } = self.state;
    const status = (object.status ?? {}) as { conditions?: readonly Condition[] };
    const conditions = setCondition(
      status.conditions ?? [],
      {
        type: 'ActorHealthy',
        status: 'False',
        reason: 'CrashLoop',
        message: `parked after repeated crashes (${errorClass ?? 'unknown error'})`,
      },
      deps.now(),
    );
    const draft = openDraft(self.address, { ...object, status: { ...status, conditions } }, privateState, book);
    await settle(self, draft, deps);
  } catch {
    self.state = { at: 'Unknown' };
  }
}
