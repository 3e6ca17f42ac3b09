/** Interface: blocks, the holds that requests to models draw on; `blocks/open.ts` opens them. */
import type { CostOwner, Payer } from '../../src/money/payer.js';
import type { USD } from '../../src/money/usd.js';

/** Who pays for requests: one block serves all that name the same. */
export interface BlockPayer {
  readonly org: string;
  /** Names the payer within its org: the uid of an InferenceEndpoint, or the project of the shared base. */
  readonly id: string;
  /** The object that holds: an InferenceEndpoint, or the Namespace of the project. */
  readonly owner: CostOwner;
  readonly payer: Payer;
  /** uid of the InferenceEndpoint whose use is counted. */
  readonly endpoint?: string | undefined;
}

/** What a request has drawn. One owner, one end. */
export interface Reservation {
  /** Of a stream that goes on: what it has cost so far, by an estimate. It is charged when this process ends before the stream does. */
  progress(costUSD: USD): void;
  /**
   * The request is over. What is more than was drawn is the service's. Answers what it is charged (USD). A request without tokens counts as
   * an error. Harmless twice.
   */
  settle(costUSD: USD, tokens: { readonly input: number; readonly output: number }): USD;
}

export interface Blocks {
  /** Draws the largest cost of a request; a promise when the ledger is asked first. Rejects with (or throws) a `RefusalError`: 402, or 503. */
  draw(payer: BlockPayer, amountUSD: USD): Reservation | Promise<Reservation>;
  /** A request that draws nothing: it was refused (an error), or is free. */
  count(payer: Pick<BlockPayer, 'org' | 'endpoint'>, how: 'Failed' | 'Done'): void;
  /** An earlier process has told this payer's InferenceEndpoint that its requests are refused for lack of money. The endpoint gets a message when they fit again. */
  refusedBefore(payer: BlockPayer): void;
  /** Requests that run now through an InferenceEndpoint. */
  running(endpoint: string): number;
  /** For metrics. */
  figures(): BlockFigures;
  /** Posts what is left and gives all holds back. */
  close(): Promise<void>;
}

export interface BlockFigures {
  readonly blocks: number;
  /** Requests that wait for the ledger. */
  readonly waiting: number;
  /** Of all orgs: used, and not known to be posted. */
  readonly unpostedUSD: USD;
}
