/** Collected outputs of Jobs, read from their stored slots. */
import type { Outputs } from '../../http/deps.js';
import type { Objects } from '../../storage/store.js';
import { jobOutputs, locateOutput, type LocatedOutputEntry } from '../kinds/job/slots.js';

export function openOutputs(objects: Pick<Objects, 'slot' | 'slots'>): Outputs {
  return {
    async *list(owner, uid, index) {
      if (index === undefined) yield jobOutputs(await objects.slots(owner.org, uid));
      else {
        const slot = await objects.slot(owner.org, uid, index);
        if (slot !== undefined) yield jobOutputs([slot]);
      }
    },
    find: (owner, uid, name, index) => findOutput(objects, owner.org, uid, name, index),
  };
}

export async function findOutput(
  objects: Pick<Objects, 'slot'>,
  org: string,
  uid: string,
  name: string,
  index: number,
): Promise<LocatedOutputEntry | undefined> {
  const slot = await objects.slot(org, uid, index);
  const found = locateOutput(slot ? [slot] : [], name, index);
  return found.outcome === 'Found' ? found.output : undefined;
}
