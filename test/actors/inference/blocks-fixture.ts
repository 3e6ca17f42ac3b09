/** What the tests of blocks share: payers, blocks on a given ledger, and what was told of them. */
import { RefusalError, type Refusal } from '../../../src/api/refusal.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { sumUSD, USD } from '../../../src/money/usd.js';
import type { BlockPayer, Blocks, Reservation } from '../../../actors/inference/blocks.js';
import { openBlocks, type BlockDeps } from '../../../actors/inference/blocks/open.js';
import type { Use } from '../../../actors/inference/blocks/state.js';

export const NO_TOKENS = { input: 0, output: 0 };
export const TOKENS = { input: 3, output: 2 };
export const usd = (text: string): USD => new USD(text);

export function payerOf(uid: string, more: { readonly org?: string; readonly project?: string } = {}): BlockPayer {
  const { org = 'o-1', project = 'default' } = more;
  const owner = { uid, kind: 'InferenceEndpoint', project, name: uid };
  return { org, id: uid, owner, payer: { project, labels: {}, costs: [owner] }, endpoint: uid };
}

export interface TestBlocks {
  readonly blocks: Blocks;
  readonly posted: { readonly endpoint: string | undefined; readonly use: Use; readonly costUSD: USD }[];
  readonly funding: (readonly [payer: string, by: HoldRefusal['by'] | undefined])[];
  readonly gone: string[];
  readonly problems: string[];
  refusals(): number;
  postedUSD(): string;
  stop(): void;
}

export function openTestBlocks(ledger: BlockDeps['ledger'], more: Partial<BlockDeps> = {}): TestBlocks {
  const stopping = new AbortController();
  const told: Pick<TestBlocks, 'posted' | 'funding' | 'gone' | 'problems'> = {
    ...{ posted: [], funding: [], gone: [], problems: [] },
  };
  let refusals = 0;
  const blocks = openBlocks({
    ...{ ledger, now: () => performance.now(), epoch: 1, stopping: stopping.signal },
    onPosted: (_, endpoint, use, costUSD) => told.posted.push({ endpoint, use, costUSD }),
    onFunding: ({ id }, refusal) => told.funding.push([id, refusal?.by]),
    onRefused: (_, __, times) => (refusals += times),
    onGone: ({ id }) => told.gone.push(id),
    onProblem: (message) => told.problems.push(message),
    ...more,
  });
  return {
    ...{ blocks, ...told },
    refusals: () => refusals,
    postedUSD: () => sumUSD(told.posted.map(({ costUSD }) => costUSD)).toFixed(),
    stop: () => stopping.abort(),
  };
}

export type Drawing = { readonly reservation: Reservation } | { readonly refusal: Refusal };

export async function drawing(blocks: Blocks, payer: BlockPayer, amount: string): Promise<Drawing> {
  try {
    return { reservation: await blocks.draw(payer, usd(amount)) };
  } catch (error) {
    if (error instanceof RefusalError) return { refusal: error.refusal };
    throw error;
  }
}

/** Throws when it is refused. */
export async function drawn(blocks: Blocks, payer: BlockPayer, amount: string): Promise<Reservation> {
  return blocks.draw(payer, usd(amount));
}
