/** The address of the Node that stands for the machine on which the service itself runs work. */
import type { Address } from '../../api/address.js';

/** The org of the operator: Nodes are its objects, whoever's work they run. */
const OPERATOR_ORG = 'bootstrap';

export const LOCAL_NODE: Address = { org: OPERATOR_ORG, kind: 'Node', project: '', name: 'local' };
