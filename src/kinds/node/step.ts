/**
 * One decision of a Node while it is made: the placements as they are, and what this decision changes, sends and shows.
 */
import { parseTime } from '../../api/time.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { ObjectMessage, MessageSender } from '../object-message.js';
import type { Current, Decision, DecisionContext } from '../machine.js';
import { everFits, hasRoomFor, isWithinCap, showAmounts, take, type Capacity, type Load } from './amounts.js';
import { denied, granted, neverFits, whyNot } from './messages.js';
import type { Placements, PlaceRequest, PlacementChange, WaitCause } from './placements.js';
import type { NodeSpec, NodeStatus } from './schema.js';
import { LONGEST_MS as LONGEST_GATHERING_MS } from './gathering.js';
import { isBehind, planGrants } from './round-robin.js';
import { observedStatus, readinessOf, sayNotHeard, type NodePrivate } from './readiness.js';

export type This = Current<NodeSpec, NodeStatus, NodePrivate>;
export type NodeDecision = Decision<NodeStatus, NodePrivate, PlacementChange>;

export const IGNORED: NodeDecision = { outcome: 'Ignored' };

/** Between two summaries; also how long an Attempt waits before it is told why. */
export const SUMMARY_MS = 5_000;
/** When the count is not answered by then, it is asked for again: nobody may wait for ever for a lost answer. */
const COUNT_MS = 15_000;
/** The engine is asked once a minute. When it has not answered for so long, nothing new is started there. */
export const SILENT_MS = 3 * 60_000;
/** And for so long: an operator has to look. What ran there ends by its engine's word alone, since it may still run. */
export const LOST_MS = 10 * 60_000;
/** Waiting Attempts that are told why, and looked at, per summary. */
const TOLD_AT_ONCE = 64;
const LOOKED_AT = 1_000;

export class Step {
  readonly #current: This;
  readonly #placements: Placements;
  readonly #now: number;
  readonly #orgPercent: number | undefined;
  readonly #changes: PlacementChange[] = [];
  readonly #volatile: LaterEffect[] = [];
  readonly #effects: Effect[] = [];
  #status: NodeStatus;
  #private: NodePrivate;
  /** Somebody waits who will be told why at a later summary. */
  #untold = false;
  /** When to look whether the machine was heard of. */
  #listenAt: number | undefined;

  constructor(
    current: This,
    placements: Placements,
    { now, orgMachinePercent }: Pick<DecisionContext, 'now' | 'orgMachinePercent'>,
  ) {
    this.#current = current;
    this.#placements = placements;
    this.#now = now;
    this.#orgPercent = orgMachinePercent;
    this.#status = current.object.status;
    this.#private = current.private ?? {};
  }

  /** `count` is the name of the placements: an answer to earlier ones, which other messages were put into, does not end this count. */
  beginCount(count: string): void {
    this.#changes.push({ change: 'Counting', count, at: this.#now });
    // A process that has just begun has heard nothing yet, however long the one before it is gone.
    if (this.#placements.since === undefined) this.#listenAt = this.#now + SILENT_MS;
    this.#effects.push({ type: 'CountPlaces', count }, { type: 'ArmTimer', timer: 'count', at: this.#now + COUNT_MS });
  }

  countAgain(): void {
    const { count, name } = this.#placements;
    if (count === 'Counting' && name !== undefined) this.beginCount(name);
  }

  endCount(count: string | undefined): void {
    if (this.#placements.count !== 'Counting' || count !== this.#placements.name) return;
    this.#changes.push({ change: 'Counted' });
    this.#effects.push({ type: 'CancelTimer', timer: 'count' });
    this.grant(this.#placements.load, { counted: true });
  }

  takeMessage(from: MessageSender, message: ObjectMessage): void {
    switch (message.type) {
      case 'PlaceWanted':
        this.#wanted({ ...message, uid: from.uid, attempt: from.address }, message.held);
        return;
      case 'PlaceReleased':
        this.#released(from.uid);
        return;
      case 'PlacesCounted':
        this.endCount(message.count);
        return;
      case 'NodeObserved':
        this.#observed(message);
        return;
      default:
    }
  }

  #wanted({ uid, attempt, owner, since, amounts }: PlaceRequest, held: boolean): void {
    const request: PlaceRequest = { uid, attempt, owner, since, amounts };
    const placements = this.#placements;
    if (placements.hasLeft(uid)) return; // overtaken by its own release
    if (held) {
      if (placements.held(uid) === undefined || placements.isUnheard(uid)) this.#hold(request, true);
      return;
    }
    if (placements.held(uid) !== undefined) {
      this.#volatile.push(granted(request));
      return;
    }
    if (placements.waits(uid) !== undefined) return;
    const capacity = this.#capacity;
    if (capacity !== undefined && this.#mayGrant() && hasRoomFor(amounts, placements.load, capacity)) {
      const mayHold = this.#causeOf(request) === 'Room';
      if (mayHold && !isBehind(placements, request, capacity, this.#now)) return this.#hold(request, false);
    }
    this.#changes.push({ change: 'Waits', request });
    if (!this.#everFits(request)) this.#tellWhy(request, placements.load);
  }

  /** `heard`: the Attempt says it; otherwise it is told. */
  #hold(request: PlaceRequest, heard: boolean): void {
    this.#changes.push({ change: 'Holds', request, heard, at: this.#now });
    if (!heard) this.#volatile.push(granted(request));
  }

  /** What the engine has said, with what one org may hold of it. */
  get #capacity(): Capacity | undefined {
    const { capacity } = this.#private;
    return capacity && { ...capacity, orgPercent: this.#orgPercent };
  }

  #everFits({ amounts }: PlaceRequest): boolean {
    const capacity = this.#capacity;
    return capacity === undefined || everFits(amounts, capacity);
  }

  /** What a request waits for that does not fit, or would wait for. */
  #causeOf({ amounts, attempt }: PlaceRequest): WaitCause {
    const capacity = this.#capacity;
    const mayHold = capacity === undefined || isWithinCap(amounts, this.#placements.loadOf(attempt.org), capacity);
    return mayHold ? 'Room' : 'OrgCap';
  }

  #released(uid: string): void {
    const held = this.#placements.held(uid);
    if (this.#placements.hasLeft(uid)) return;
    this.#changes.push({ change: 'Leaves', uid });
    this.grant(held === undefined ? this.#placements.load : take(this.#placements.load, held.amounts), {
      without: uid,
    });
  }

  #observed(message: Extract<ObjectMessage, { type: 'NodeObserved' }>): void {
    const { capacity, refusal, shortage } = message;
    const turned = (shortage === undefined) !== (this.#private.shortage === undefined);
    this.#private = {
      capacity,
      ...(refusal !== undefined && { refusal }),
      ...(shortage !== undefined && { shortage }),
    };
    this.#status = observedStatus(this.#status, message, this.#now);
    this.#listenAt = this.#now + SILENT_MS;
    this.show();
    this.#showLoad();
    this.grant(this.#placements.load);
    if (turned) this.#changes.push({ change: 'Untold' });
    this.#sayAgain(turned);
  }

  /** Judges how long the machine has said nothing. */
  listen(): void {
    const heard = Math.max(parseTime(this.#status.lastHeartbeatTime ?? '') ?? 0, this.#placements.since ?? this.#now);
    const silent = this.#now - heard;
    if (silent < SILENT_MS) {
      this.#listenAt = heard + SILENT_MS;
      return;
    }
    const silence = silent < LOST_MS ? 'Silent' : 'Lost';
    if (silence === 'Silent') this.#listenAt = heard + LOST_MS;
    this.#private = { ...this.#private, silence };
    this.show();
  }

  /** Phase and conditions, from what the engine and the operator say. */
  show(): void {
    this.#status = {
      ...this.#status,
      ...readinessOf(this.#status, this.#private, this.#isCordoned, this.#now),
    };
  }

  get #isCordoned(): boolean {
    return this.#current.object.spec.unschedulable === true;
  }

  #mayGrant(counted = this.#placements.count === 'Counted'): boolean {
    const { refusal, silence, shortage } = this.#private;
    const able = refusal === undefined && silence === undefined && shortage === undefined;
    return counted && able && !this.#isCordoned;
  }

  /** Gives free room to those whose turn it is. `load`: what is in use after the changes so far. */
  grant(load: Load, but: { readonly without?: string; readonly counted?: boolean } = {}): void {
    const capacity = this.#capacity;
    if (capacity === undefined || !this.#mayGrant(but.counted ?? this.#placements.count === 'Counted')) return;
    const { grants, gathers } = planGrants(this.#placements, load, capacity, this.#now, but.without);
    for (const request of grants) this.#hold(request, false);
    if (gathers === undefined) return;
    this.#changes.push({ change: 'Gathers', uid: gathers.uid, org: gathers.attempt.org, at: this.#now });
    this.#effects.push({ type: 'ArmTimer', timer: 'gathering', at: this.#now + LONGEST_GATHERING_MS });
  }

  /** What waited behind a large request has its turn again. */
  endGathering(): void {
    this.#changes.push({ change: 'Gathered' });
    this.grant(this.#placements.load);
  }

  /** Messages may be lost: a place whose Attempt has not been heard of is granted again, and a refusal said again. `anew`: to all. */
  #sayAgain(anew = false): void {
    for (const { request, at } of this.#placements.unheard()) {
      if (this.#now - at >= SUMMARY_MS) this.#volatile.push(granted(request));
    }
    const { load } = this.#placements;
    let looked = 0;
    let told = 0;
    for (const request of this.#placements.waiting()) {
      looked += 1;
      if (looked > LOOKED_AT || told >= TOLD_AT_ONCE) {
        this.#untold = true;
        break;
      }
      const toldOf = this.#placements.notifiedOf(request.uid);
      if (!anew && toldOf === this.#causeOf(request) && this.#everFits(request)) continue;
      // Requests whose cause changes often do not keep others from being told for the first time.
      const waitsItsTurn = !anew && toldOf !== undefined && told >= TOLD_AT_ONCE / 2;
      if (waitsItsTurn || this.#now - request.since < SUMMARY_MS) {
        this.#untold = true;
        continue;
      }
      told += 1;
      this.#tellWhy(request, load);
    }
  }

  #showLoad(): void {
    const { load, waitingCount } = this.#placements;
    this.#status = { ...this.#status, allocated: showAmounts(load, load.places), waiting: waitingCount };
  }

  /** Every few seconds while something changes: what is promised, and why those wait who wait long. */
  summarize(): void {
    this.#changes.push({ change: 'TimerArmed', armed: false });
    this.#showLoad();
    this.#sayAgain();
  }

  #tellWhy(request: PlaceRequest, load: Load): void {
    const capacity = this.#capacity;
    // It stays in the queue, passed by all, until it has heard that and leaves.
    if (capacity !== undefined && !this.#everFits(request)) {
      this.#volatile.push(denied(request, neverFits(request.amounts, capacity), true));
      return;
    }
    this.#changes.push({ change: 'RequesterNotified', uid: request.uid, cause: this.#causeOf(request) });
    this.#volatile.push(denied(request, this.#whyNot(request, load), false));
  }

  #whyNot(request: PlaceRequest, load: Load): string {
    const { refusal, silence, shortage } = this.#private;
    const node = {
      capacity: this.#capacity,
      refusal: silence === undefined ? refusal : sayNotHeard(this.#status),
      shortage,
      cordoned: this.#isCordoned,
    };
    return whyNot(request, load, this.#placements.loadOf(request.attempt.org), node);
  }

  toDecision(): NodeDecision {
    this.#armSummary();
    if (this.#listenAt !== undefined) {
      this.#effects.push({ type: 'ArmTimer', timer: 'heartbeat', at: this.#listenAt });
    }
    const { object, private: before } = this.#current;
    const unchanged = this.#status === object.status && this.#private === (before ?? this.#private);
    if (this.#effects.length === 0 && unchanged) {
      if (this.#changes.length === 0 && this.#volatile.length === 0) return IGNORED;
      return { outcome: 'Volatile', changes: this.#changes, volatile: this.#volatile };
    }
    return {
      outcome: 'Next',
      status: this.#status,
      effects: this.#effects,
      volatile: this.#volatile,
      changes: this.#changes,
      ...(this.#private !== before && { private: this.#private }),
    };
  }

  /**
   * A place that comes and goes alone needs no summary; the next heartbeat shows one that stays. The summary is due once
   * after the last change, and again while somebody waits who has not been told why.
   */
  #armSummary(): void {
    const { timerArmed, waitingCount, load } = this.#placements;
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
