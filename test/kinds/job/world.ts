/**
 * A small world for the machines of Job, Attempt and Node: their objects, the stored effects and timers between
 * them, an engine that runs work, and crashes. Nothing in it is real but the machines. What happens next is chosen by the
 * numbers of a scenario, so that a property test can shrink it.
 *
 * It is as unkind as the service may be: lanes run in any order among each other, effects are repeated, messages that
 * nothing stores are lost in a crash, the engine says everything again after one, and work may ignore being stopped.
 */
import { addressKey, type Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import { API_GROUP } from '../../../src/brand.js';
import { isLater } from '../../../actors/effects/commit-effects.js';
import type { Effect, LaterEffect } from '../../../src/kinds/effect.js';
import type { Payer } from '../../../src/money/payer.js';
import { tellParent } from '../../../src/kinds/lifecycle.js';
import type { JobSpec } from '../../../src/kinds/job/schema.js';
import type { JobStatus } from '../../../src/kinds/job/status.js';
import type { CollectedOutput, ObjectMessage } from '../../../src/kinds/object-message.js';
import type { Decision, Message, SlotRow } from '../../../src/kinds/machine.js';
import { LOCAL_NODE } from '../../../src/kinds/node/index.js';
import { Placements } from '../../../src/kinds/node/placements.js';
import { asRow, isStartable, jobStatusOf } from './views.js';
import type { ArmedTimer, Entity } from './entity.js';
import { kindOf } from './kinds.js';
import { laneOf, type Task } from './lanes.js';
import { FakeEngine, type Fate, type PendingReport, type Work } from './fake-engine.js';
import type { WorkReport } from '../../../src/kinds/report.js';
import type { ResourceAmounts } from '../../../src/kinds/amounts.js';

export interface WorldRules {
  readonly capacity: ResourceAmounts;
  fate(slot: number, epoch: number): Fate;
  /** What is collected of work that is stopped, or ends well; absent: a Job's standing output, when it ends well. */
  outputs?(epoch: number, owner: Address): readonly CollectedOutput[];
}

/** Between two messages of the engine to its Node. */
const HEARTBEAT_MS = 60_000;

/** Rows of done effects are deleted in batches: so many per lane may still be there. */
const UNFLUSHED = 4;

export const PROJECT = 'default';
const START = Date.UTC(2026, 0, 2);

export class World {
  now = START;
  readonly entities = new Map<string, Entity>();
  readonly engine = new FakeEngine();
  readonly events: { readonly event: string; readonly name: string }[] = [];
  /** Every state that a slot row has had, in order. */
  readonly history: { readonly job: string; readonly row: SlotRow }[] = [];
  readonly #rules: WorldRules;
  readonly #lanes = new Map<string, Task[]>();
  /** Carried out, but their rows not deleted yet: a crash brings them back, oldest first. */
  readonly #done = new Map<string, Task[]>();
  readonly #timers = new Map<string, ArmedTimer>();
  #ids = 0;

  constructor(rules: WorldRules) {
    this.#rules = rules;
    this.create(LOCAL_NODE, {}, {});
    this.observe();
  }

  observe(capacity: ResourceAmounts = this.#rules.capacity): void {
    const message: ObjectMessage = { type: 'NodeObserved', engine: 'fake', isolation: 'none', capacity };
    this.#tell(LOCAL_NODE, undefined, message, LOCAL_NODE, '', 0);
  }

  create(address: Address, spec: unknown, metadata: Partial<ApiObject['metadata']>, payer?: Payer): Entity | undefined {
    const key = addressKey(address);
    if (this.entities.has(key)) return undefined;
    const kind = kindOf(address);
    const uid = `uid-${(this.#ids += 1)}`;
    const bare: ApiObject = {
      apiVersion: `${API_GROUP}/v1`,
      kind: address.kind,
      metadata: {
        name: address.name,
        namespace: address.project,
        uid,
        generation: 1,
        creationTimestamp: new Date(this.now).toISOString(),
        ...metadata,
      },
      spec: kind.schema.spec.parse(spec),
      status: {},
    };
    const object = { ...bare, status: kind.initialStatus(bare) };
    const side = kind.machine.sideState?.open([]);
    const entity: Entity = { address, uid, object, private: undefined, side, rows: new Map(), version: 1 };
    this.entities.set(key, entity);
    this.decide(entity, { type: 'Created', payer });
    return entity;
  }

  job(name = 'job'): Entity | undefined {
    return this.entities.get(addressKey(jobAddress(name)));
  }

  get attempts(): readonly Entity[] {
    return [...this.entities.values()].filter(({ address }) => address.kind === 'Attempt');
  }

  get node(): Entity {
    const node = this.entities.get(addressKey(LOCAL_NODE));
    if (node === undefined) throw new Error('the node is gone');
    return node;
  }

  get places(): Placements {
    const { side } = this.node;
    if (!(side instanceof Placements)) throw new TypeError('the node has no placements');
    return side;
  }

  /** A client's write of some fields of a Job's spec. Answers false when it is refused. */
  update(change: Partial<JobSpec>, name = 'job'): boolean {
    return this.change(jobAddress(name), change);
  }

  /** The same for an object of any kind. */
  change(address: Address, change: object): boolean {
    const entity = this.entities.get(addressKey(address));
    if (entity === undefined) return false;
    const before = entity.object;
    const spec = { ...Object(before.spec), ...change };
    entity.object = { ...before, spec, metadata: { ...before.metadata, generation: before.metadata.generation + 1 } };
    const outcome = this.decide(entity, { type: 'Updated', before });
    if (outcome === 'Refused') entity.object = before;
    return outcome !== 'Refused';
  }

  /** A message from outside of this world. */
  send(to: Address, message: ObjectMessage): void {
    this.#tell(to, undefined, message, LOCAL_NODE, '', 0);
  }

  remove(address: Address): void {
    const entity = this.entities.get(addressKey(address));
    if (entity === undefined || entity.object.metadata.deletionTimestamp !== undefined) return;
    const { object } = entity;
    entity.object = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: new Date(this.now).toISOString() },
    };
    this.decide(entity, { type: 'DeletionRequested' });
  }

  /** What can happen now: each entry is one thing that the world may do next. */
  choices(): (() => void)[] {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.length > 0);
    const reports = this.engine.waiting().map((said) => () => this.#report(said));
    const works = this.engine.running().map((work) => () => this.#goOn(work));
    return [...lanes.map((lane) => () => this.#runLane(lane, false)), ...reports, ...works];
  }

  /** Runs the head of a random lane and leaves it there: a crash came before its row was deleted. */
  repeat(choice: number): void {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.length > 0);
    const lane = lanes[choice % Math.max(1, lanes.length)];
    if (lane !== undefined) this.#runLane(lane, true);
  }

  /** A message that nothing stores did not reach anybody: its reader could not commit just then. */
  lose(choice: number): void {
    const lanes = [...this.#lanes.values()].filter(([task]) => task?.stored === false);
    const lane = lanes[choice % Math.max(1, lanes.length)];
    const [task] = lane ?? [];
    if (lane === undefined || task === undefined) return;
    lane.shift();
    if (lane.length === 0) this.#lanes.delete(laneOf(task));
  }

  /** Fires the next timer, if there is one before the horizon; time goes on to it. */
  tick(horizon = Number.POSITIVE_INFINITY): boolean {
    // The engine of this world always speaks: what comes of silence is `test/kinds/node/heartbeat.test.ts`.
    const [next] = [...this.#timers.values()]
      .filter(({ timer }) => timer !== 'heartbeat')
      .toSorted((a, b) => a.at - b.at);
    if (next === undefined || next.at >= horizon) return false;
    this.now = Math.max(this.now, next.at);
    this.#timers.delete(`${next.uid}/${next.timer}`);
    const entity = this.entities.get(addressKey(next.address));
    if (entity?.uid === next.uid) this.decide(entity, { type: 'TimerFired', timer: next.timer, generation: 0 });
    return true;
  }

  /** The process dies and starts again: what was not stored is gone, and what is unfinished is opened. `lost`: rows of timers that go. */
  crash(lost?: string): void {
    for (const [key, { timer }] of this.#timers) if (timer === lost) this.#timers.delete(key);
    for (const [key, tasks] of this.#done) this.#lanes.set(key, [...tasks, ...(this.#lanes.get(key) ?? [])]);
    this.#done.clear();
    const stored = (lane: readonly Task[]): Task[] => lane.filter((task) => task.stored);
    for (const [key, lane] of this.#lanes) this.#lanes.set(key, stored(lane));
    this.engine.sayAgain();
    const all = this.#all();
    for (const entity of all) {
      const keeper = kindOf(entity.address).machine.sideState;
      entity.side = keeper?.open(keeper.stored ? [...entity.rows.values()] : []);
    }
    for (const entity of all) this.#activate(entity);
    this.observe();
  }

  /** Lets everything come to rest, in order, as long as anything can happen before `timers` more timers have fired. */
  settle(timers = 2_000, horizon = Number.POSITIVE_INFINITY): void {
    let left = timers;
    for (let steps = 0; steps < 200_000; steps += 1) {
      const [first] = this.choices();
      if (first !== undefined) {
        first();
        continue;
      }
      // The engine's heartbeat: whoever has lost a message is told again.
      this.now += HEARTBEAT_MS;
      this.observe();
      if (this.choices().length > 0) continue;
      left -= 1;
      if (left < 0 || !this.tick(horizon)) return;
    }
    throw new Error('the world does not come to rest');
  }

  /** The machine of an object decides one message. */
  decide(entity: Entity, message: Message): Decision<unknown, unknown, unknown>['outcome'] {
    const { machine } = kindOf(entity.address);
    const current = { address: entity.address, object: entity.object, private: entity.private };
    const moment = {
      now: this.now,
      uid: () => `uid-${(this.#ids += 1)}`,
      randomBytes: (length: number) => new Uint8Array(length),
    };
    const before = entity.object;
    const decision = machine.decide(current, entity.side, message, moment);
    switch (decision.outcome) {
      case 'Volatile':
        for (const change of decision.changes) machine.sideState?.apply(entity.side, change);
        for (const effect of decision.volatile) this.#store(entity, effect, false);
        break;
      case 'Next':
        entity.version += 1;
        this.#take(entity, decision);
        break;
      default:
    }
    this.#tellParent(entity, message, before);
    if (decision.outcome !== 'Refused') this.#maybeGone(entity);
    return decision.outcome;
  }

  /** As `actors/resource/draft.ts` does it. */
  #tellParent(entity: Entity, message: Message, before: ApiObject): void {
    const asked = message.type === 'MessageReceived' && message.content.type === 'ChildAsked';
    const child = { address: entity.address, object: entity.object, kept: entity.private };
    const told = tellParent(child, asked ? { version: entity.version } : { before }, kindOf(entity.address).asChild);
    if (told !== undefined) this.#store(entity, told, !asked);
  }

  #take(entity: Entity, decision: Extract<Decision<unknown, unknown, unknown>, { outcome: 'Next' }>): void {
    const { machine } = kindOf(entity.address);
    const { finalizers = entity.object.metadata.finalizers } = decision;
    entity.object = {
      ...entity.object,
      spec: decision.spec ?? entity.object.spec,
      status: JSON.parse(JSON.stringify(decision.status)),
      metadata: { ...entity.object.metadata, finalizers },
    };
    if (decision.private !== undefined) entity.private = JSON.parse(JSON.stringify(decision.private));
    for (const change of decision.changes ?? []) {
      if (machine.sideState?.stored === true) {
        const row = asRow(change);
        entity.rows.set(row.index, row);
        this.history.push({ job: entity.uid, row });
      }
      machine.sideState?.apply(entity.side, change);
    }
    for (const effect of decision.effects) this.#carry(entity, effect);
    for (const message of decision.volatile ?? []) this.#store(entity, message, false);
  }

  #carry(entity: Entity, effect: Effect): void {
    if (isLater(effect)) {
      this.#store(entity, effect, true);
      return;
    }
    switch (effect.type) {
      case 'ArmTimer': {
        const { timer, at } = effect;
        this.#timers.set(`${entity.uid}/${timer}`, { uid: entity.uid, address: entity.address, timer, at });
        return;
      }
      case 'CancelTimer':
        this.#timers.delete(`${entity.uid}/${effect.timer}`);
        return;
      case 'Emit':
        this.events.push({ event: effect.event, name: entity.address.name });
        return;
      case 'DeleteSelf':
        entity.object = {
          ...entity.object,
          metadata: { ...entity.object.metadata, deletionTimestamp: new Date(this.now).toISOString() },
        };
        return;
      case 'ReleaseBlobs':
        return;
      default:
        throw new Error(`nobody asked for ${effect.type}`);
    }
  }

  #maybeGone(entity: Entity): void {
    const { deletionTimestamp, finalizers = [], ownerReferences = [] } = entity.object.metadata;
    if (deletionTimestamp === undefined || finalizers.length > 0 || !this.#isHere(entity)) return;
    this.entities.delete(addressKey(entity.address));
    for (const key of this.#timers.keys()) if (key.startsWith(`${entity.uid}/`)) this.#timers.delete(key);
    this.#store(entity, { type: 'CollectChildren', uid: entity.uid, orphan: false, answer: false }, true);
    for (const owner of ownerReferences) {
      const to = { org: entity.address.org, kind: owner.kind, project: entity.address.project, name: owner.name };
      const message: ObjectMessage = { type: 'ChildGone', uid: entity.uid, kind: entity.address.kind };
      this.#store(entity, { type: 'Tell', to, uid: owner.uid, message }, true);
    }
  }

  #all(): readonly Entity[] {
    return [...this.entities.values()];
  }

  #isHere(entity: Entity): boolean {
    return this.entities.get(addressKey(entity.address)) === entity;
  }

  #store(from: Entity, effect: LaterEffect, stored: boolean): void {
    const task = { from, effect, stored, version: stored ? from.version : 0 };
    const key = laneOf(task);
    const lane = this.#lanes.get(key) ?? [];
    lane.push(task);
    this.#lanes.set(key, lane);
  }

  #runLane(lane: Task[], keep: boolean): void {
    const task = lane[0];
    if (task === undefined) return;
    if (!keep && lane.length === 1) this.#lanes.delete(laneOf(task));
    if (!keep) {
      lane.shift();
      this.#noteDone(task);
    }
    this.#carryOut(task);
  }

  #noteDone(task: Task): void {
    if (!task.stored) return;
    const key = laneOf(task);
    const done = [...(this.#done.get(key) ?? []), task].slice(-UNFLUSHED);
    this.#done.set(key, done);
  }

  #carryOut(task: Task): void {
    const { from, effect } = task;
    const { org, project } = from.address;
    switch (effect.type) {
      case 'Tell':
        if (!this.#tell(effect.to, effect.uid, effect.message, from.address, from.uid, task.version)) {
          this.#failed(task, 'NotFound');
        }
        return;
      case 'CreateChild':
        this.#createChild(task, effect);
        return;
      case 'PatchChild':
        this.#patchChild(task, { org, project, kind: effect.kind, name: effect.name }, effect);
        return;
      case 'DeleteChild':
        this.remove({ org, project, kind: effect.kind, name: effect.name });
        return;
      case 'CollectChildren':
        for (const child of this.#all()) {
          if (child.object.metadata.ownerReferences?.some(({ uid }) => uid === effect.uid)) this.remove(child.address);
        }
        return;
      case 'CountPlaces':
        // One activation after another, each with its messages before the next: then the count is complete.
        for (const attempt of this.attempts) {
          this.#activate(attempt);
          for (const lane of this.#lanesOf(attempt, LOCAL_NODE)) while (lane.length > 0) this.#runLane(lane, false);
        }
        this.#tell(LOCAL_NODE, undefined, { type: 'PlacesCounted', count: effect.count }, LOCAL_NODE, '', 0);
        return;
      case 'StartWork':
        this.#startWork(from, effect);
        return;
      case 'StopWork':
        this.engine.stop(`${from.uid}.${effect.epoch}`, this.now);
        return;
      case 'RemoveWork':
        this.engine.remove(`${from.uid}.${effect.epoch}`);
        this.#deliver(from, { report: 'Removed', epoch: effect.epoch, time: this.now });
        return;
      default:
        throw new Error(`nobody carries out ${effect.type}`);
    }
  }

  #lanesOf(from: Entity, to: Address): Task[][] {
    return [...this.#lanes]
      .filter(([key]) => key.startsWith(`${from.uid}>`) && key.endsWith(addressKey(to)))
      .map(([, lane]) => lane);
  }

  #activate(entity: Entity): void {
    if (!this.#isHere(entity)) return;
    const { machine } = kindOf(entity.address);
    if (machine.isTerminal?.(entity.object.status) !== true) this.decide(entity, { type: 'Activated' });
  }

  #createChild(task: Task, effect: Extract<LaterEffect, { type: 'CreateChild' }>): void {
    const { from } = task;
    if (!this.#isHere(from)) return; // nobody is left to own it
    if (effect.slot !== undefined && kindOf(from.address).awaitsChild?.(from.rows.get(effect.slot)) === false) return;
    const { org, project } = from.address;
    const address = { org, project, kind: effect.kind, name: effect.name };
    const there = this.entities.get(addressKey(address));
    if (there !== undefined) {
      const owned = there.object.metadata.ownerReferences?.some(({ uid }) => uid === from.uid) === true;
      if (!owned) this.#failed(task, 'AlreadyExists');
      return;
    }
    const { apiVersion } = from.object;
    const owner = { apiVersion, kind: from.address.kind, name: from.address.name, uid: from.uid, controller: true };
    const metadata = { labels: effect.labels, annotations: effect.annotations, ownerReferences: [owner] };
    this.create(address, effect.spec, metadata, effect.payer);
  }

  #patchChild(task: Task, address: Address, { uid, spec }: Extract<LaterEffect, { type: 'PatchChild' }>): void {
    const there = this.entities.get(addressKey(address));
    if (there === undefined || (uid !== undefined && there.uid !== uid)) return;
    if (!this.change(address, spec)) this.#failed(task, 'Invalid');
  }

  #failed({ from, effect }: Task, reason: string): void {
    if (this.#isHere(from)) this.decide(from, { type: 'EffectFailed', effect, reason, message: reason });
  }

  #tell(
    to: Address,
    uid: string | undefined,
    message: ObjectMessage,
    from: Address,
    fromUid: string,
    version: number,
  ): boolean {
    const entity = this.entities.get(addressKey(to));
    if (entity === undefined) return false;
    if (uid !== undefined && uid !== entity.uid) return true; // another incarnation: nobody reads it
    this.decide(entity, { type: 'MessageReceived', from: { address: from, uid: fromUid, version }, content: message });
    return true;
  }

  #startWork(from: Entity, { slot, epoch, owner, ownerUid }: Extract<LaterEffect, { type: 'StartWork' }>): void {
    if (!this.#isHere(from) || !isStartable(from.object)) return;
    if (this.entities.get(addressKey(owner))?.uid !== ownerUid) {
      const gone = { reason: 'OwnerGone', message: '' };
      this.#deliver(from, { report: 'StartFailed', epoch, time: this.now, ...gone });
      return;
    }
    const fate = this.#rules.fate(slot, epoch);
    const id = `${from.uid}.${epoch}`;
    const outputs = this.#rules.outputs?.(epoch, owner);
    this.engine.start({ id, attempt: from.address, uid: from.uid, epoch, fate, outputs }, this.now);
  }

  #goOn(work: Work): void {
    this.now += 1;
    this.engine.goOn(work, this.now);
  }

  #report(said: PendingReport): void {
    const first = this.engine.take(said);
    if (first === undefined) return;
    const attempt = this.entities.get(addressKey(first.work.attempt));
    if (attempt?.uid === first.work.uid) this.#deliver(attempt, first.report);
  }

  #deliver(attempt: Entity, report: WorkReport): void {
    if (this.#isHere(attempt)) this.decide(attempt, { type: 'Reported', report });
  }
}

export function jobAddress(name = 'job', org = 'bootstrap'): Address {
  return { org, kind: 'Job', project: PROJECT, name };
}

export function jobStatus(world: World, name = 'job'): JobStatus {
  const job = world.job(name);
  return job === undefined ? {} : jobStatusOf(job.object);
}
