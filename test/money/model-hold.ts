/** A hold as the plain ledger keeps it. */
import type { Segment } from '../../src/money/hold.js';
import type { MoneyOperation } from '../../src/money/operation.js';

export type Place = Extract<MoneyOperation, { op: 'Place' }>;
export type Budget = Extract<MoneyOperation, { op: 'SetBudget' }>['budget'] & { readonly made: number };

export interface ModelHold {
  readonly place: Place;
  readonly placedAt: number;
  parts: Map<string, bigint>;
  billing: { segment: Segment; since: number; rate: bigint } | undefined;
  accrued: bigint;
  billedMs: bigint;
  settled: bigint;
  charges: { segment: Segment; month: string; amount: bigint; counters: string[]; paid: boolean }[];
  /** How often the mode had changed when its money was taken. */
  fundedIn: number;
  /** Of its last renewal. */
  refused: boolean;
  /** The last draw. */
  drawn: number;
}
