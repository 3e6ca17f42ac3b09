/**
 * Keeps boxes that are ready before they are asked for: work that only wants to be entered, with nothing of its own inside, gets one
 * instead of waiting for its place, its group, its mounts and its agent.
 *
 * S1 A warm box is used once, by one piece of work, and was never another's: its place is taken and given back like any other.
 * S2 A warm box is like what its work would have made itself: both are made by the same hands, from orders of the same shape.
 * S3 Warm boxes never keep work from starting: they are made only while nothing else is being made, and give way when places are few.
 *    While the runner relays much, or others wait for the processor, they are made slowly, since all of them take it for seconds.
 *
 * S4 There are as many of a shape as its use is worth: none before it is ordered a second time, then PER_START for each start of the last
 *    hour or so, up to an equal share of what there may be. A crowd after some use finds all of them ready.
 *
 * Bounds (I10): `most` in all, of the SHAPES shapes that were ordered last; a shape that nobody ordered for FORGET_MS goes.
 */
import { LRUCache } from 'lru-cache';
import { Agent } from '../agent/agent.js';
import type { Listening } from '../../engines/compute/shared/egress/proxy-listener.js';
import type { Group } from '../limits/groups.js';
import type { WireOrder } from '../protocol/messages.js';
import { prepareBox } from './box.js';
import type { WarmBox, WarmBoxes, WorkDeps } from './deps.js';
import { CpuPressure } from './cpu-pressure.js';
import type { ScratchSlot } from './scratch.js';

const SHAPES = 4;
const FORGET_MS = 60 * 60_000;
/** A crowd comes at once, so twice as many as there were starts. */
const PER_START = 2;
const LEAST_STARTS = 2;
/** Use is counted in two windows of this length, the present and the one before. */
const WINDOW_MS = FORGET_MS / 2;
/** For each processor: a box that a zygote makes is one process and a third of the work of others, which are three processes. */
const PER_PROCESSOR = { zygote: 64, other: 8 };
/** What all warm boxes together may take of the machine's memory, and what one takes (bytes). */
const MEMORY_SHARE = 1 / 100;
const MEMORY_EACH = 1.5 * 1024 * 1024;
/** After the last start, so that a crowd is served first (ms). */
const QUIET_MS = 15;
/** A third of one processor, while the runner is spoken to. */
const PAUSE = 2;
/** From so much on it is a transfer and not the talk of commands (bytes per ms). */
const MUCH_RELAYED = 20_000;
/** A program waits for the processor in so much of the time: more than the making of warm boxes and what belongs to it cause. */
const WANTED = 0.75;
/** Between two warm boxes beside a transfer, and beside who wants the processor (ms): in the end they are all there, however long it takes. */
const BESIDE_TRANSFER_MS = 2_000;
const BESIDE_OTHERS_MS = 500;
/** Between two looks whether it is over (ms). */
const LOOK_MS = 100;

interface Shape {
  /** As orders of this shape, without what names one of them. */
  readonly spec: WireOrder;
  readonly ready: WarmBox[];
  /** Starts of the present window, which began at `since`, and of the one before. */
  use: { readonly since: number; readonly now: number; readonly before: number };
}

export interface Machine {
  /** Bytes. */
  readonly memory: number;
  readonly processors: number;
  /** Its boxes are made by a zygote. */
  readonly zygote: boolean;
}

/** Of `wanted` so many, for what the machine has. */
export function warmBoxesWithin({ memory, processors, zygote }: Machine, wanted: number): number {
  const perProcessor = zygote ? PER_PROCESSOR.zygote : PER_PROCESSOR.other;
  return Math.min(wanted, Math.floor((memory * MEMORY_SHARE) / MEMORY_EACH), perProcessor * processors);
}

/** S4. */
export function used(use: Shape['use'], at: number): Shape['use'] {
  const age = at - use.since;
  if (age < WINDOW_MS) return { ...use, now: use.now + 1 };
  return { since: at, now: 1, before: age < 2 * WINDOW_MS ? use.now : 0 };
}

/** S4. */
export function worth({ now, before }: Shape['use']): number {
  const starts = now + before;
  return starts < LEAST_STARTS ? 0 : starts * PER_START;
}

export class WarmPool implements WarmBoxes {
  private readonly deps: WorkDeps;
  private readonly most: number;
  private readonly shapes: LRUCache<string, Shape>;
  private made = 0;
  /** What was relayed until the last look, and when that was. */
  private relayed = { bytes: 0, at: 0 };
  /** When the last one was made, and how long that took (ms). */
  private last = { at: 0, took: 0 };
  private readonly pressure = new CpuPressure();
  private timer: NodeJS.Timeout | undefined;
  private making: Promise<void> | undefined;
  private closed = false;
  private readonly ending = new Set<Promise<void>>();

  constructor(deps: WorkDeps, most: number) {
    this.deps = deps;
    this.most = most;
    this.shapes = new LRUCache({
      max: SHAPES,
      ttl: FORGET_MS,
      ttlAutopurge: true,
      updateAgeOnGet: true,
      dispose: ({ ready }) => {
        for (const warmBox of ready.splice(0)) void this.end(warmBox);
      },
    });
  }

  /** Remembers the shape. */
  take(spec: WireOrder): WarmBox | undefined {
    const shape = this.shape(spec);
    // S1.
    const warmBox = shape?.ready.shift();
    if (shape !== undefined) {
      shape.use = used(shape.use, this.deps.now());
      for (const needless of shape.ready.splice(this.share(shape))) void this.end(needless);
    }
    this.later();
    return warmBox;
  }

  private shape(spec: WireOrder): Shape | undefined {
    const key = this.most === 0 || this.closed ? undefined : shapeOf(spec);
    if (key === undefined) return undefined;
    const known = this.shapes.get(key);
    if (known !== undefined) return known;
    const shape: Shape = { spec, ready: [], use: { since: this.deps.now(), now: 0, before: 0 } };
    this.shapes.set(key, shape);
    return shape;
  }

  /** Whenever something was started. */
  private later(afterMs = QUIET_MS): void {
    clearTimeout(this.timer);
    if (this.closed || this.shapes.size === 0) return;
    this.timer = setTimeout(() => {
      // S3.
      if (!this.deps.boxSemaphore.idle) return this.later();
      this.making ??= this.fill().finally(() => (this.making = undefined));
    }, afterMs);
  }

  /** S3. */
  async giveWay(): Promise<boolean> {
    for (const { ready } of this.shapes.values()) {
      const warmBox = ready.pop();
      if (warmBox === undefined) continue;
      await this.end(warmBox);
      return true;
    }
    return false;
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.shapes.clear();
    await this.making;
    await Promise.all(this.ending);
  }

  /** One by one: the machine is others' as well. */
  private async fill(): Promise<void> {
    const shape = this.scarce();
    if (shape === undefined) return;
    // S3.
    const rest = this.rest();
    if (rest > 0) return this.later(Math.min(rest, LOOK_MS));
    if (!(await this.hasRoom())) return;
    const began = this.deps.now();
    const warmBox = await this.make(shape.spec).catch((error: unknown) => {
      this.deps.report(`a warm box was not made: ${(error as Error).message}`);
    });
    if (warmBox === undefined) return;
    // The shape may have been forgotten meanwhile.
    if (this.closed || ![...this.shapes.values()].includes(shape)) return this.end(warmBox);
    this.keep(shape, warmBox);
    const at = this.deps.now();
    this.last = { at, took: at - began };
    this.later(0);
  }

  /** How long the next one has to wait still (ms). */
  private rest(): number {
    const [before, at] = [this.relayed, this.deps.now()];
    this.relayed = { bytes: this.deps.relayed(), at };
    const rate = (this.relayed.bytes - before.bytes) / Math.max(1, at - before.at);
    const wanted = this.pressure.since(at) > WANTED;
    const transfer = rate > MUCH_RELAYED || this.deps.transferring();
    const pause = transfer ? BESIDE_TRANSFER_MS : wanted ? BESIDE_OTHERS_MS : rate > 0 ? PAUSE * this.last.took : 0;
    return this.last.at + pause - at;
  }

  /** The shape of which one is to be made next. */
  private scarce(): Shape | undefined {
    return [...this.shapes.values()].find((shape) => shape.ready.length < this.share(shape));
  }

  /** S4. Shapes that are not worth any leave theirs to the others. */
  private share({ use }: Shape): number {
    const shapes = [...this.shapes.values()].filter((shape) => worth(shape.use) > 0).length;
    return Math.min(worth(use), Math.max(1, Math.floor(this.most / Math.max(1, shapes))));
  }

  /** A shape that has more than its share gives one up for another. */
  private async hasRoom(): Promise<boolean> {
    const shapes = [...this.shapes.values()];
    if (shapes.reduce((sum, { ready }) => sum + ready.length, 0) < this.most) return true;
    const warmBox = shapes.find((shape) => shape.ready.length > this.share(shape))?.ready.pop();
    if (warmBox === undefined) return false;
    await this.end(warmBox);
    return true;
  }

  private keep(shape: Shape, warmBox: WarmBox): void {
    shape.ready.push(warmBox);
    void warmBox.agent.holder.exited.then(() => {
      const at = shape.ready.indexOf(warmBox);
      // Another work's by now, or one that ended by itself.
      if (at < 0) return;
      shape.ready.splice(at, 1);
      void this.end(warmBox);
    });
  }

  private async make(like: WireOrder): Promise<WarmBox | undefined> {
    const { deps } = this;
    if (deps.agent === undefined) return undefined;
    const slot = deps.scratch.take();
    if (slot === undefined) return undefined;
    const order = { ...like, id: `spare-${this.made++}` };
    let group: Group | undefined;
    let agent: Agent | undefined;
    try {
      group = await deps.groups.create(order.id, order.limits);
      const prepared = await prepareBox(order, undefined, slot, group, deps, new AbortController().signal);
      if (prepared.kind === 'failed') throw new Error(prepared.message);
      agent = await Agent.launch(prepared.box, group, deps.agent, () => undefined);
      const boxPid = await agent.holder.boxPid;
      if (!(await agent.holder.ready) || boxPid === undefined) throw new Error((await agent.holder.exited).error);
      const outward = order.network !== undefined && order.network.egress !== 'Deny';
      const listener = outward ? await deps.outward.endpoints.open(boxPid) : undefined;
      return { slot, group, agent, boxPid, listener };
    } catch (error) {
      await this.clear({ slot, group, agent, listener: undefined });
      throw error;
    }
  }

  /** Never rejects. */
  private end(warmBox: WarmBox): Promise<void> {
    const cleared = this.clear(warmBox)
      .catch((error: unknown) => this.deps.report(`a warm box does not end: ${(error as Error).message}`))
      .finally(() => this.ending.delete(cleared));
    this.ending.add(cleared);
    return cleared;
  }

  /** In the order in which work takes its own apart. */
  private async clear({ slot, group, agent, listener }: ToClear): Promise<void> {
    listener?.close();
    agent?.holder.kill();
    await group?.destroy();
    await agent?.holder.gone();
    agent?.close();
    await agent?.holder.drained;
    agent?.holder.release();
    await this.deps.scratch.giveBack(slot);
  }
}

interface ToClear {
  readonly slot: ScratchSlot;
  readonly group: Group | undefined;
  readonly agent: Agent | undefined;
  readonly listener: Listening | undefined;
}

/** S2. All that a box is made from. Undefined for work that brings something of its own or that runs a program of its own. */
function shapeOf(spec: WireOrder): string | undefined {
  const { main, init, sidecars, secretFiles, inputs, outputs } = spec;
  const bare = main === undefined && init === undefined && sidecars.length === 0 && inputs.length === 0;
  if (!bare || Object.keys(secretFiles).length > 0 || spec.rootfs === 'missing') return undefined;
  const { id: _id, labels: _labels, ...shape } = spec;
  return JSON.stringify([shape, outputs]);
}
