/**
 * Says of new work that no machine can ever run it. It is a warning, as in Kubernetes, and no refusal: the machine may have more
 * when the work's turn comes, and the work itself then says what is lacking.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { ResourceAmounts } from '../../src/kinds/amounts.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { hasRoomFor, NOTHING, readAmounts } from '../../src/kinds/node/amounts.js';
import { neverFits } from '../../src/kinds/node/messages.js';
import { LOCAL_NODE } from '../../src/kinds/node/local.js';
import type { NodeStatus } from '../../src/kinds/node/schema.js';

/** Resolves to the warnings for a create. Never rejects: work is not refused because the Node cannot be read now. */
export type CapacityWarnings = (kind: KindDefinition, object: ApiObject) => Promise<readonly string[]>;

export function openCapacityWarnings(read: (address: Address) => Promise<Buffer | undefined>): CapacityWarnings {
  /** The Node as it was last read: it changes once a minute, and objects are created by the thousand. */
  let known: { readonly body: Buffer; readonly capacity: ResourceAmounts | undefined } | undefined;

  async function capacity(): Promise<ResourceAmounts | undefined> {
    const body = await read(LOCAL_NODE).catch(() => undefined);
    if (body === undefined) return undefined;
    if (known?.body !== body) {
      const { status } = decodeObject<unknown, NodeStatus>(body);
      known = { body, capacity: status.capacity && readAmounts(status.capacity) };
    }
    return known.capacity;
  }

  return async (kind, object) => {
    const wanted = kind.asks?.(object);
    const most = wanted && (await capacity());
    if (wanted === undefined || most === undefined || hasRoomFor(wanted, NOTHING, most)) return [];
    return [`${kind.kind} "${object.metadata.name}" cannot run: it ${neverFits(wanted, most)}`];
  };
}
