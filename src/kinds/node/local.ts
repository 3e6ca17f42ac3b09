/** The Node that stands for the machine on which the service itself runs work: its address, and whose turns it takes. */
import type { Address } from '../../api/address.js';

/** The org of the operator: Nodes are its objects, whoever's work they run. */
const OPERATOR_ORG = 'bootstrap';

export const LOCAL_NODE: Address = { org: OPERATOR_ORG, kind: 'Node', project: '', name: 'local' };

/** Not an org's id: it has a slash. */
const NODES = 'nodes/';

/**
 * With whom an object takes turns where orgs do: with those of its org. The Nodes take turns of their own, since every org waits for
 * what they grant: it must not stand behind the thousands that the operator's own org may have.
 */
export function turnsOf({ org, kind }: Pick<Address, 'org' | 'kind'>): string {
  return kind === LOCAL_NODE.kind ? NODES : org;
}
