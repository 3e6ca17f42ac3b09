/** Owns the declaration of CreditGrant: credits that the org was given; customers read it only. */
import type { ApiObject } from '../../api/object.js';
import { READ_ONLY } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
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
    {
      name: 'Amount',
      type: 'string',
      description: 'Credits that were given, in USD.',
      cell: (object: This) => object.spec.amountUSD,
    },
    {
      name: 'Remaining',
      type: 'string',
      description: 'Credits of it that are left, in USD.',
      cell: (object: This) => object.status.remainingUSD ?? '',
    },
    {
      name: 'Source',
      type: 'string',
      description: 'Bootstrap, Promo, TopUp or Refund.',
      cell: (object: This) => object.spec.source,
    },
    {
      name: 'Phase',
      type: 'string',
      description: 'Active, Used or Expired.',
      cell: (object: This) => object.status.phase ?? '',
    },
    {
      name: 'Expires',
      type: 'string',
      priority: 1,
      description: 'When what is left of it expires.',
      cell: (object: This) => object.spec.expirationTime ?? '',
    },
  ],
  selectableFields: { 'spec.source': (object: This) => object.spec.source },
  initialStatus: (object: This): CreditGrantStatus => ({ phase: 'Active', remainingUSD: object.spec.amountUSD }),
  unbuilt: true,
  machine: plainMachine<CreditGrantSpec, CreditGrantStatus>(),
};
