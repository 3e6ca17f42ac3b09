/** A Node whose machine, clock and Attempts a test plays. */
import type { ApiObject } from '../../../src/api/object.js';
import { parseTime } from '../../../src/api/time.js';
import type { Message } from '../../../src/kinds/machine.js';
import { LOCAL_NODE } from '../../../src/kinds/node/local.js';
import { nodeMachine } from '../../../src/kinds/node/machine.js';
import { Placements } from '../../../src/kinds/node/placements.js';
import type { NodePrivate } from '../../../src/kinds/node/readiness.js';
import type { NodeSpec, NodeStatus } from '../../../src/kinds/node/schema.js';

export const MACHINE = { milliCpu: 1_000, memory: 2 ** 30, disk: 2 ** 30 };
export const START = parseTime('2026-01-02T03:04:05Z') ?? 0;
export const JOB = { org: 'o-1', kind: 'Job', project: 'default', name: 'j' };

export class NodeBench {
  now = START;
  book = new Placements();
  status: NodeStatus = { phase: 'NotReady' };
  kept: NodePrivate | undefined;
  timer: number | undefined;
  /** When room gathers no more. */
  gathering: number | undefined;
  /** How much of the machine one org may hold. */
  orgMachinePercent: number | undefined;
  readonly granted = new Set<string>();
  readonly denied: string[] = [];
  /** Those of them that are told for good. */
  readonly refused: string[] = [];

  send(message: Message<NodeSpec, NodeStatus>): void {
    const object = { metadata: {}, spec: {}, status: this.status } as unknown as ApiObject<NodeSpec, NodeStatus>;
    const { now, orgMachinePercent } = this;
    const moment = { now, uid: () => 'book', randomBytes: () => new Uint8Array(), orgMachinePercent };
    const current = { address: LOCAL_NODE, object, private: this.kept };
    const decision = nodeMachine.decide(current, this.book, message, moment);
    if (decision.outcome !== 'Next' && decision.outcome !== 'Volatile') return;
    for (const change of decision.changes ?? []) this.book.apply(change);
    for (const effect of decision.volatile ?? []) {
      if (effect.type !== 'Tell') continue;
      if (effect.message.type === 'PlaceGranted') this.granted.add(effect.to.name);
      if (effect.message.type !== 'PlaceDenied') continue;
      this.denied.push(effect.message.reason);
      if (effect.message.final) this.refused.push(effect.to.name);
    }
    if (decision.outcome === 'Volatile') return;
    this.status = decision.status;
    this.kept = decision.private ?? this.kept;
    const armed = decision.effects.filter((effect) => effect.type === 'ArmTimer' && effect.timer === 'heartbeat');
    for (const effect of armed) if (effect.type === 'ArmTimer') this.timer = effect.at;
    for (const effect of decision.effects)
      if (effect.type === 'ArmTimer' && effect.timer === 'gathering') this.gathering = effect.at;
  }

  observe(shortage?: string): void {
    const from = { address: LOCAL_NODE, uid: '', version: 0 };
    const message = { type: 'NodeObserved', engine: 'e', isolation: 'i', capacity: MACHINE, shortage } as const;
    this.send({ type: 'MessageReceived', from, content: message });
    this.send({ type: 'MessageReceived', from, content: { type: 'PlacesCounted', count: 'book' } });
  }

  wants(name: string, memory = 1, org = JOB.org, held = false): void {
    const from = { address: { ...JOB, org, kind: 'Attempt', name }, uid: name, version: 0 };
    const amounts = { milliCpu: 1, memory, disk: 1 };
    const message = { type: 'PlaceWanted', owner: JOB, ownerUid: 'u', since: START, amounts, held } as const;
    this.send({ type: 'MessageReceived', from, content: message });
  }

  leaves(name: string): void {
    const from = { address: { ...JOB, kind: 'Attempt', name }, uid: name, version: 0 };
    this.send({ type: 'MessageReceived', from, content: { type: 'PlaceReleased' } });
  }

  summary(): void {
    this.now += 5_000;
    this.send({ type: 'TimerFired', timer: 'summary', generation: 1 });
  }

  /** Lets the timer fire when it is due. */
  wait(): void {
    this.now = this.timer ?? this.now;
    this.timer = undefined;
    this.send({ type: 'TimerFired', timer: 'heartbeat', generation: 1 });
  }

  condition(type: string) {
    return this.status.conditions?.find((one) => one.type === type);
  }

  get ready(): string {
    const found = this.condition('Ready');
    return `${this.status.phase} ${found?.status} ${found?.reason}`;
  }
}
