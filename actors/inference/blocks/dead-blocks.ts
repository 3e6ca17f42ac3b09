/**
 * Releases the blocks of epochs before this one, before the first request draws: their processes can post nothing any more. Of streams that were
 * under way what they had used a few seconds before is charged; all else that was used and not posted is lost, in the client's favour. It is at
 * most what they held, and that is reported.
 *
 * I10: GROUP in one member of a commit. What cannot be released now rejects: the process that begins to lead does not serve requests then.
 */
import { isBlock } from '../../../src/money/draw.js';
import { sumUSD } from '../../../src/money/usd.js';
import type { Committer } from '../../../storage/commit/request.js';
import type { BlockHold } from '../../../storage/inference/blocks.js';

const GROUP = 100;

export interface DeadBlockDeps {
  read(): Promise<ReadonlyMap<string, readonly BlockHold[]>>;
  readonly ledger: Committer['ledger'];
  onProblem(message: string): void;
}

export async function releaseDeadBlocks({ read, ledger, onProblem }: DeadBlockDeps): Promise<void> {
  for (const [org, all] of await read()) {
    const blocks = all.filter(({ key }) => isBlock(key));
    for (let from = 0; from < blocks.length; from += GROUP) {
      const group = blocks.slice(from, from + GROUP);
      const answer = await ledger(
        org,
        group.map(({ key }) => ({ op: 'Release', key, abandoned: true }) as const),
      );
      if (answer.outcome !== 'Committed') throw new Error(`blocks of ${org} cannot be released: ${answer.outcome}`);
    }
    const most = sumUSD(blocks.map(({ amountUSD }) => amountUSD));
    if (most.gt(0))
      onProblem(
        `${blocks.length} blocks of ${org} were left by a process that ended: at most ${most.toFixed()} USD of requests are not charged`,
      );
  }
}
