/** Small kinds with which the actors are tested: one that counts messages, one that crashes when asked. */
import { z } from 'zod';
import type { ApiObject } from '../../src/api/object.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { cost } from '../../src/kinds/shapes/status.js';
import type { Decision, Machine, SlotRow } from '../../src/kinds/machine.js';

interface CounterStatus {
  readonly told: number;
  readonly timers: number;
  readonly phase?: string | undefined;
}

type Made = Decision<CounterStatus, undefined, SlotRow>;

const next = (status: CounterStatus, effects: LaterEffect[] = [], changes: SlotRow[] = []): Made => ({
  outcome: 'Next',
  status,
  effects,
  changes,
});

/** Counts what it is told; its spec says whom it tells at birth, and when it crashes. */
const counter: Machine = {
  sideState: {
    stored: true,
    open: (rows) => new Map(rows.map((row) => [row.index, row])),
    apply: (book, change) => void (book as Map<number, SlotRow>).set((change as SlotRow).index, change as SlotRow),
  },
  decide(current, book, message, context): Made {
    const { spec, status } = current.object as ApiObject<
      { tell?: string; crashOn?: string; wakeIn?: number; slots?: number },
      CounterStatus
    >;
    if (spec.crashOn === message.type) throw new TypeError('told to crash');
    switch (message.type) {
      case 'Created': {
        const messages: LaterEffect[] = spec.tell
          ? [
              {
                type: 'Tell',
                to: { ...current.address, name: spec.tell },
                message: { type: 'ChildGone', uid: '', kind: '' },
              },
            ]
          : [];
        const slots = Array.from({ length: spec.slots ?? 0 }, (_, index) => ({
          index,
          epoch: 1,
          phase: 'A',
          failures: 0,
        }));
        const made = next({ told: 0, timers: 0 }, messages, slots);
        if (made.outcome !== 'Next' || spec.wakeIn === undefined) return made;
        return {
          ...made,
          effects: [...made.effects, { type: 'ArmTimer', timer: 'wake', at: context.now + spec.wakeIn }],
        };
      }
      case 'MessageReceived':
        return next({ ...status, told: status.told + 1, phase: String((book as Map<number, SlotRow>).size) });
      case 'TimerFired':
        return next({ ...status, timers: status.timers + 1 });
      case 'Updated':
        return next(status);
      default:
        return { outcome: 'Ignored' };
    }
  },
  isTerminal: () => false,
};

export const COUNTER: KindDefinition = {
  kind: 'Counter',
  plural: 'counters',
  singular: 'counter',
  shortNames: [],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: new Set(['list', 'create', 'read', 'replace', 'patch', 'delete', 'readStatus']),
  description: 'Counts what it is told.',
  schema: {
    spec: z.object({
      tell: z.string().optional(),
      crashOn: z.string().optional(),
      wakeIn: z.number().optional(),
      slots: z.number().optional(),
      note: z.string().optional(),
    }),
    status: z.object({ told: z.number(), timers: z.number(), phase: z.string().optional() }),
    immutable: [],
    raiseOnly: [],
  },
  columns: [],
  selectableFields: {},
  initialStatus: () => ({ told: 0, timers: 0 }),
  machine: counter,
};

/** A kind that costs: it has ended when its spec says so, and its status lists what the ledger says to it otherwise. */
export function toldKind(kind: string): KindDefinition {
  type Status = { readonly phase?: string; readonly messages?: readonly string[] };
  const decide: Machine['decide'] = (current, _side, message) => {
    const { spec, status } = current.object as ApiObject<{ done?: boolean }, Status>;
    switch (message.type) {
      case 'Created':
      case 'Updated':
        return { outcome: 'Next', status: { ...status, phase: spec.done === true ? 'Done' : 'Running' }, effects: [] };
      case 'MessageReceived': {
        const messages = [...(status.messages ?? []), JSON.stringify(message.content)];
        return { outcome: 'Next', status: { ...status, messages }, effects: [] };
      }
      default:
        return { outcome: 'Ignored' };
    }
  };
  return {
    ...COUNTER,
    ...{ kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() },
    scope: kind === 'Budget' ? 'org' : 'project',
    description: 'Lists what it is told.',
    schema: {
      spec: z.object({ done: z.boolean().optional(), maxCostUSD: z.string().optional() }),
      status: z.object({
        phase: z.string().optional(),
        messages: z.array(z.string()).optional(),
        ...(kind === 'Budget' ? {} : { cost: cost.optional() }),
      }),
      immutable: [],
      raiseOnly: [],
    },
    initialStatus: () => ({}),
    machine: { decide, isTerminal: (status) => (status as Status).phase === 'Done' },
  };
}
