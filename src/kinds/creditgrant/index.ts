/** The declaration of CreditGrant: credits that the org was given; customers read it only. */
import type { ApiObject } from '../../api/object.js';
import { READ_ONLY, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { creditGrantMachine } from './machine.js';
import { creditGrantSpec, creditGrantStatus, type CreditGrantSpec, type CreditGrantStatus } from './schema.js';

type This = ApiObject<CreditGrantSpec, CreditGrantStatus>;

export const creditGrantKind: KindDefinition = {
  kind: 'CreditGrant',
  plural: 'creditgrants',
  singular: 'creditgrant',
  shortNames: [],
  categories: ['billing'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: READ_ONLY,
  description: 'Credits that the org was given, and what is left of them.',
  schema: { spec: creditGrantSpec, status: creditGrantStatus, immutable: ['spec'], raiseOnly: [] },
  columns: [
    textColumn('Amount', 'Credits that were given, in USD.', ({ spec }: This) => spec.amountUSD),
    textColumn('Remaining', 'Credits of it that are left, in USD.', ({ status }: This) => status.remainingUSD),
    textColumn('Source', 'Bootstrap, Promo, TopUp or Refund.', ({ spec }: This) => spec.source),
    textColumn('Phase', 'Active, Used or Expired.', ({ status }: This) => status.phase),
    wide(textColumn('Expires', 'When what is left of it expires.', ({ spec }: This) => spec.expirationTime)),
  ],
  selectableFields: { 'spec.source': (object: This) => object.spec.source },
  // Its machine says Active with the credits, which its TopUp hears.
  initialStatus: (): CreditGrantStatus => ({}),
  asChild: { parents: ['TopUp'], facts: () => ({}), madeFor: () => undefined },
  machine: creditGrantMachine,
};
