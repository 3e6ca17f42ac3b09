/**
 * Says of new work that no machine can ever run it: none is large enough, or one org may not hold so much of it. It is a warning, as in Kubernetes, and no refusal: the machine may have more
 * when the work's turn comes, and the work itself then says what is lacking.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { everFits, readAmounts, type Capacity } from '../../src/kinds/node/amounts.js';
import { neverFits } from '../../src/kinds/node/messages.js';
import { LOCAL_NODE } from '../../src/kinds/node/local.js';
import type { NodeStatus } from '../../src/kinds/node/schema.js';

/** Resolves to the warnings for a create. Never rejects: work is not refused because the Node cannot be read now. */
export type CapacityWarnings = (kind: KindDefinition, object: ApiObject) => Promise<readonly string[]>;

/** `orgPercent`: how much of a machine the work of one org may hold at once. */
export function openCapacityWarnings(
  read: (address: Address) => Promise<Buffer | undefined>,
  orgPercent: number,
): CapacityWarnings {
  /** The Node as it was last read: it changes once a minute, and objects are created by the thousand. */
  let known: { readonly body: Buffer; readonly capacity: Capacity | undefined } | undefined;

  async function capacity(): Promise<Capacity | undefined> {
    const body = await read(LOCAL_NODE).catch(() => undefined);
    if (body === undefined) return undefined;
    if (known?.body !== body) {
      const { status } = decodeObject<unknown, NodeStatus>(body);
      const amounts = status.capacity && readAmounts(status.capacity);
      known = { body, capacity: amounts && { ...amounts, orgPercent } };
    }
    return known.capacity;
  }

  return async (kind, object) => {
    const wanted = kind.asks?.(object);
    const most = wanted && (await capacity());
    if (wanted === undefined || most === undefined || everFits(wanted, most)) return [];
    return [`${kind.kind} "${object.metadata.name}" cannot run: it ${neverFits(wanted, most)}`];
  };
}
