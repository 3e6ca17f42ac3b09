/** Owns the declaration of Offering: the read-only catalog of capacity, the same for every org. */
import type { ApiObject } from '../../api/object.js';
import { READ_ONLY } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import type { Machine } from '../machine.js';
import { plain } from '../plain-machine.js';
import { LOCAL_REGION } from './local.js';
import { offeringSpec, offeringStatus, type OfferingSpec, type OfferingStatus } from './schema.js';

const offeringMachine: Machine<OfferingSpec, OfferingStatus, undefined, undefined, never> = {
  decide: (current, _book, message) => plain(current, message),
};

type This = ApiObject<OfferingSpec, OfferingStatus>;

/** Only this machine's own capacity can be had: no engine has any of the other classes. */
const availability = ({ regionClass }: OfferingSpec, time: string): OfferingStatus => {
  const here = regionClass === LOCAL_REGION;
  return {
    availability: here ? 'Available' : 'Unavailable',
    ...(here ? undefined : { availableNow: 0 }),
    conditions: [
      {
        type: 'Available',
        status: here ? 'True' : 'False',
        lastTransitionTime: time,
        reason: here ? 'Ready' : 'NoCapacity',
        message: here ? 'this machine runs work' : 'no engine of this deployment has this class',
      },
    ],
  };
};

export const offeringKind: KindDefinition = {
  kind: 'Offering',
  plural: 'offerings',
  singular: 'offering',
  shortNames: ['off'],
  categories: ['catalog'],
  scope: 'org',
  group: 'api',
  version: 'v1',
  operations: READ_ONLY,
  catalog: true,
  description: 'A class of capacity with its live price and availability; read-only and the same for every org.',
  schema: { spec: offeringSpec, status: offeringStatus, immutable: [], raiseOnly: [] },
  columns: [
    {
      name: 'Category',
      type: 'string',
      description: 'GPU or CPU.',
      cell: (object: This) => object.spec.category ?? '',
    },
    {
      name: 'CPU',
      type: 'string',
      description: 'Cores of the host.',
      cell: (object: This) => object.spec.host?.cpu ?? '',
    },
    {
      name: 'Memory',
      type: 'string',
      description: 'Memory of the host.',
      cell: (object: This) => object.spec.host?.memory ?? '',
    },
    {
      name: 'Accelerator',
      type: 'string',
      priority: 1,
      description: 'Accelerator and how many of it.',
      cell: (object: This) => {
        const { accelerator, count } = object.spec;
        return accelerator?.id === undefined ? '' : `${accelerator.id}:${count ?? 1}`;
      },
    },
    {
      name: 'Availability',
      type: 'string',
      description: 'Available, Limited or Unavailable.',
      cell: (object: This) => object.status.availability ?? '',
    },
    {
      name: 'USD/h',
      type: 'string',
      description: 'List price per hour.',
      cell: (object: This) => object.status.listPriceUSDPerHour ?? '',
    },
    {
      name: 'Region',
      type: 'string',
      priority: 1,
      description: 'Region class.',
      cell: (object: This) => object.spec.regionClass ?? '',
    },
  ],
  selectableFields: {
    'spec.category': (object: This) => object.spec.category,
    'spec.regionClass': (object: This) => object.spec.regionClass,
    'status.availability': (object: This) => object.status.availability,
  },
  initialStatus: ({ metadata, spec }: This) => availability(spec, metadata.creationTimestamp),
  machine: offeringMachine,
};
