/**
 * Takes what running work reports of itself over the attempt API. Work is named by uid and epoch; a report of an older epoch is
 * ignored, here and again in the Attempt's own decision (I8).
 */
import { decodeObject } from '../../src/api/encode.js';
import type { Address } from '../../src/api/address.js';
import type { MessageRouter } from '../message-router.js';
import { ATTEMPT, parseWorkId, type Attempts } from './attempts.js';

export interface Running {
  /** The work is of the Attempt's present epoch, and that has not ended. */
  isLive(work: string): Promise<boolean>;
  /** Later: it was not taken; report it again. */
  progress(
    work: string,
    progress: { readonly completed: number; readonly total?: number | undefined },
  ): Promise<'Noted' | 'Gone' | 'Later'>;
}

export interface RunningDeps {
  readonly attempts: Pick<Attempts, 'find'>;
  readonly router: Pick<MessageRouter, 'send'>;
  read(address: Address): Promise<Buffer | undefined>;
}

export function openRunning({ attempts, router, read }: RunningDeps): Running {
  async function find(work: string): Promise<{ address: Address; uid: string; epoch: number } | undefined> {
    const { uid, epoch } = parseWorkId(work);
    const attempt = attempts.find(uid);
    if (attempt.found !== 'Live' || attempt.address.kind !== ATTEMPT) return undefined;
    const body = await read(attempt.address);
    if (body === undefined) return undefined;
    const { metadata, spec, status } = decodeObject<{ epoch: number }, { phase?: string }>(body);
    const lives = status.phase === 'Provisioning' || status.phase === 'Running';
    return metadata.uid === uid && spec.epoch === epoch && lives ? { address: attempt.address, uid, epoch } : undefined;
  }

  return {
    isLive: async (work) => (await find(work)) !== undefined,
    async progress(work, { completed, total }) {
      const found = await find(work);
      if (found === undefined) return 'Gone';
      const { address, uid, epoch } = found;
      const delivery = await router.send(address, uid, { type: 'ProgressMade', epoch, completed, total });
      return delivery === 'Done' ? 'Noted' : 'Later';
    },
  };
}
