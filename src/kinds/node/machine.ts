/**
 * Owns the behaviour of a Node: it gives out the places of one machine.
 *
 * Places cost no commits: grants are letters that nothing stores, and the book is rebuilt by asking. A grant that is lost in a
 * crash is asked for again by its Attempt; one that outlived the book would be a place that nobody counts; a place is given back only by the Attempt that has proof that its work is gone. So what is
 * granted never exceeds the capacity, whatever crashes: until every Attempt has said what it holds, nothing is granted.
 * What the status shows of it is a summary, written every few seconds while something changes.
 */
import { setCondition } from '../../api/conditions.js';
import { rfc3339 } from '../../api/time.js';
import type { ResourceAmounts } from '../amounts.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Letter, Sender } from '../letter.js';
import type { Current, Decision, Machine } from '../machine.js';
import { LOCAL_OFFERING, LOCAL_REGION } from '../offering/local.js';
import { fits, MAX_PLACES, NOTHING, sayAmounts, showAmounts, take, type Load } from './amounts.js';
import { LOCAL_NODE } from './local.js';
import { PlacementBook, type PlaceRequest, type PlacementChange } from './placement-book.js';
import type { NodeSpec, NodeStatus } from './schema.js';
import { PATIENCE_MS, planGrants } from './turns.js';

/** Kept beside the Node: what the engine last said, as numbers. */
export interface NodePrivate {
  readonly capacity?: ResourceAmounts | undefined;
  /** Why no work can run here. */
  readonly refusal?: string | undefined;
}

type This = Current<NodeSpec, NodeStatus, NodePrivate>;
type NodeDecision = Decision<NodeStatus, NodePrivate, PlacementChange>;

const IGNORED: NodeDecision = { outcome: 'Ignored' };

/** Between two summaries; also how long an Attempt waits before it is told why. */
export const SUMMARY_MS = 5_000;
/** When the count is not answered by then, it is asked for again: nobody may wait for ever for a lost answer. */
const COUNT_MS = 15_000;
/** Waiting Attempts that are told why, and looked at, per summary. */
const TOLD_AT_ONCE = 64;
const LOOKED_AT = 1_000;

export const nodeMachine: Machine<NodeSpec, NodeStatus, NodePrivate, PlacementBook, PlacementChange> = {
  book: {
    stored: false,
    open: () => new PlacementBook(),
    apply: (book, change) => book.apply(change),
  },
  decide(current, book, message, moment) {
    const step = new Step(current, book, moment.now);
    // A book that was opened empty has lost count, whatever message found it so.
    if (book.count === 'Unknown') step.beginCount();
    switch (message.type) {
      case 'Created':
      case 'Activated':
        break;
      case 'Updated':
        step.grant(book.load);
        step.show();
        break;
      case 'DeletionRequested':
        return refuseDeletion(current);
      case 'TimerFired':
        if (message.timer === 'count') step.countAgain();
        else if (message.timer === 'summary') step.summarize();
        else return IGNORED;
        break;
      case 'Told':
        step.told(message.from, message.letter);
        break;
      case 'EffectFailed':
        if (message.effect.type !== 'CountPlaces') return IGNORED;
        step.beginCount();
        break;
      case 'Reported':
      case 'Action':
        return IGNORED;
    }
    return step.conclude();
  },
  /** It is opened with the service, which tells it what the machine has. */
  isTerminal: () => false,
};

/** The machine's own Node stands as long as the service runs there; it is drained, not deleted. */
function refuseDeletion(current: This): NodeDecision {
  const { name } = current.address;
  if (name !== LOCAL_NODE.name) return { outcome: 'Next', status: current.object.status, effects: [] };
  return {
    outcome: 'Refused',
    refusal: {
      code: 'Conflict',
      message: `Node "${name}" is the machine that the service runs on and cannot be deleted`,
      fix: 'Set spec.unschedulable to true to stop new work on it.',
    },
  };
}

/** One decision while it is made. */
class Step {
  readonly #current: This;
  readonly #book: PlacementBook;
  readonly #now: number;
  readonly #changes: PlacementChange[] = [];
  readonly #letters: LaterEffect[] = [];
  readonly #effects: Effect[] = [];
  #status: NodeStatus;
  #private: NodePrivate;
  /** Somebody waits who will be told why at a later summary. */
  #untold = false;

  constructor(current: This, book: PlacementBook, now: number) {
    this.#current = current;
    this.#book = book;
    this.#now = now;
    this.#status = current.object.status;
    this.#private = current.private ?? {};
  }

  beginCount(): void {
    this.#changes.push({ change: 'Counting' });
    this.#effects.push({ type: 'CountPlaces' }, { type: 'ArmTimer', timer: 'count', at: this.#now + COUNT_MS });
  }

  countAgain(): void {
    if (this.#book.count === 'Counting') this.beginCount();
  }

  endCount(): void {
    if (this.#book.count === 'Counted') return;
    this.#changes.push({ change: 'Counted' });
    this.#effects.push({ type: 'CancelTimer', timer: 'count' });
    this.grant(this.#book.load, { counted: true });
  }

  told(from: Sender, letter: Letter): void {
    switch (letter.letter) {
      case 'PlaceWanted':
        this.#wanted({ ...letter, uid: from.uid, attempt: from.address }, letter.held);
        return;
      case 'PlaceReleased':
        this.#released(from.uid);
        return;
      case 'PlacesCounted':
        this.endCount();
        return;
      case 'NodeObserved':
        this.#observed(letter);
        return;
      default:
    }
  }

  #wanted({ uid, attempt, owner, since, amounts }: PlaceRequest, held: boolean): void {
    const request: PlaceRequest = { uid, attempt, owner, since, amounts };
    const book = this.#book;
    if (book.hasLeft(uid)) return; // overtaken by its own release
    if (held) {
      if (book.held(uid) === undefined || book.isUnheard(uid)) this.#hold(request, true);
      return;
    }
    if (book.held(uid) !== undefined) {
      this.#letters.push(granted(request));
      return;
    }
    if (book.waits(uid) !== undefined) return;
    const { capacity } = this.#private;
    // Whoever waits longest and has run out of patience is passed by nobody.
    const first = book.longestWaiting;
    const blocked = first !== undefined && this.#now - first.since >= PATIENCE_MS && this.#everFits(first);
    if (!blocked && this.#mayGrant() && capacity !== undefined && fits(amounts, book.load, capacity)) {
      this.#hold(request, false);
      return;
    }
    this.#changes.push({ change: 'Waits', request });
    if (!this.#everFits(request)) this.#tellWhy(request, book.load);
  }

  /** `heard`: the Attempt says it; otherwise it is told. */
  #hold(request: PlaceRequest, heard: boolean): void {
    this.#changes.push({ change: 'Holds', request, heard, at: this.#now });
    if (!heard) this.#letters.push(granted(request));
  }

  #everFits({ amounts }: PlaceRequest): boolean {
    const { capacity } = this.#private;
    return capacity === undefined || fits(amounts, NOTHING, capacity);
  }

  #released(uid: string): void {
    const held = this.#book.held(uid);
    if (this.#book.hasLeft(uid)) return;
    this.#changes.push({ change: 'Leaves', uid });
    this.grant(held === undefined ? this.#book.load : take(this.#book.load, held.amounts), { without: uid });
  }

  #observed(letter: Extract<Letter, { letter: 'NodeObserved' }>): void {
    const { capacity, refusal } = letter;
    this.#private = { capacity, ...(refusal !== undefined && { refusal }) };
    this.#status = {
      ...this.#status,
      ...(letter.addresses !== undefined && { addresses: [...letter.addresses] }),
      capacity: showAmounts(capacity, MAX_PLACES),
      allocatable: showAmounts(capacity, MAX_PLACES),
      ...(letter.version !== undefined && { agentVersion: letter.version }),
      lastHeartbeatTime: rfc3339(this.#now),
    };
    this.show();
    this.#showLoad();
    this.grant(this.#book.load);
    this.#sayAgain();
  }

  /** Phase and condition, from what the engine and the operator say. */
  show(): void {
    const { refusal, capacity } = this.#private;
    const ready = capacity !== undefined && refusal === undefined;
    const cordoned = this.#current.object.spec.unschedulable === true;
    const conditions = setCondition(
      this.#status.conditions,
      {
        type: 'Ready',
        status: ready ? 'True' : 'False',
        reason: ready ? 'EngineReady' : capacity === undefined ? 'EngineUnknown' : 'EngineRefuses',
        message: refusal ?? (ready ? 'work can run here' : 'the engine has not said what it has'),
      },
      this.#now,
    );
    this.#status = {
      ...this.#status,
      conditions: [...conditions],
      phase: !ready ? 'NotReady' : cordoned ? 'Cordoned' : 'Ready',
    };
  }

  #mayGrant(counted = this.#book.count === 'Counted'): boolean {
    return counted && this.#private.refusal === undefined && this.#current.object.spec.unschedulable !== true;
  }

  /** Gives free room to those whose turn it is. `load`: what is in use after the changes so far. */
  grant(load: Load, but: { readonly without?: string; readonly counted?: boolean } = {}): void {
    const { capacity } = this.#private;
    if (capacity === undefined || !this.#mayGrant(but.counted ?? this.#book.count === 'Counted')) return;
    for (const request of planGrants(this.#book, load, capacity, this.#now, but.without)) {
      this.#hold(request, false);
    }
  }

  /** Letters may be lost: a place whose Attempt has not been heard of is granted again, and a refusal said again. */
  #sayAgain(): void {
    for (const { request, at } of this.#book.unheard()) {
      if (this.#now - at >= SUMMARY_MS) this.#letters.push(granted(request));
    }
    const { load } = this.#book;
    let looked = 0;
    let told = 0;
    for (const request of this.#book.waiting()) {
      looked += 1;
      if (looked > LOOKED_AT || told >= TOLD_AT_ONCE) {
        this.#untold = true;
        break;
      }
      if (this.#book.wasTold(request.uid) && this.#everFits(request)) continue;
      if (this.#now - request.since < SUMMARY_MS) {
        this.#untold = true;
        continue;
      }
      told += 1;
      this.#tellWhy(request, load);
    }
  }

  #showLoad(): void {
    const { load, waitingCount } = this.#book;
    this.#status = { ...this.#status, allocated: showAmounts(load, load.places), waiting: waitingCount };
  }

  /** Every few seconds while something changes: what is promised, and why those wait who wait long. */
  summarize(): void {
    this.#changes.push({ change: 'TimerArmed', armed: false });
    this.#showLoad();
    this.#sayAgain();
  }

  #tellWhy(request: PlaceRequest, load: Load): void {
    const { capacity, refusal } = this.#private;
    // It stays in the queue, passed by all, until it has heard that and leaves.
    if (capacity !== undefined && !this.#everFits(request)) {
      this.#letters.push(denied(request, neverFits(request.amounts, capacity), true));
      return;
    }
    this.#changes.push({ change: 'Told', uid: request.uid });
    this.#letters.push(denied(request, this.#whyNot(request, load, capacity, refusal), false));
  }

  #whyNot(
    request: PlaceRequest,
    load: Load,
    capacity: ResourceAmounts | undefined,
    refusal: string | undefined,
  ): string {
    if (refusal !== undefined) return refusal;
    if (capacity === undefined) return 'the engine has not said what it has';
    if (this.#current.object.spec.unschedulable === true) return 'the machine is cordoned';
    if (load.places >= MAX_PLACES) return `all ${MAX_PLACES} places are taken`;
    return `needs ${sayAmounts(request.amounts)}; others are using what is missing`;
  }

  conclude(): NodeDecision {
    this.#armSummary();
    const { object, private: before } = this.#current;
    const unchanged = this.#status === object.status && this.#private === (before ?? this.#private);
    if (this.#effects.length === 0 && unchanged) {
      if (this.#changes.length === 0 && this.#letters.length === 0) return IGNORED;
      return { outcome: 'Volatile', changes: this.#changes, letters: this.#letters };
    }
    return {
      outcome: 'Next',
      status: this.#status,
      effects: this.#effects,
      letters: this.#letters,
      changes: this.#changes,
      ...(this.#private !== before && { private: this.#private }),
    };
  }

  /**
   * A place that comes and goes alone needs no summary; the next heartbeat shows one that stays. The summary is due once
   * after the last change, and again while somebody waits who has not been told why.
   */
  #armSummary(): void {
    const { timerArmed, waitingCount, load } = this.#book;
    if (this.#changes.length === 0) return;
    const fired = this.#changes.some(({ change }) => change === 'TimerArmed');
    if (timerArmed && !fired) return;
    const due = fired
      ? this.#untold
      : waitingCount > 0 ||
        load.places > 1 ||
        (this.#status.allocated?.attempts ?? 0) > 0 ||
        this.#changes.some(({ change }) => change === 'Waits');
    if (!due) return;
    this.#changes.push({ change: 'TimerArmed', armed: true });
    this.#effects.push({ type: 'ArmTimer', timer: 'summary', at: this.#now + SUMMARY_MS });
  }
}

function granted(request: PlaceRequest): LaterEffect {
  const letter: Letter = { letter: 'PlaceGranted', offering: LOCAL_OFFERING, regionClass: LOCAL_REGION };
  return { type: 'Tell', to: request.attempt, uid: request.uid, letter };
}

function denied(request: PlaceRequest, reason: string, final: boolean): LaterEffect {
  return { type: 'Tell', to: request.attempt, uid: request.uid, letter: { letter: 'PlaceDenied', reason, final } };
}

function neverFits(wanted: ResourceAmounts, capacity: ResourceAmounts): string {
  return `needs ${sayAmounts(wanted)}; the machine has ${sayAmounts(capacity)} in all`;
}
