/** The declaration of Offering: the read-only catalog of capacity, the same for every org. */
import type { ApiObject } from '../../api/object.js';
import { READ_ONLY, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import type { Machine } from '../machine.js';
import { plain } from '../plain-machine.js';
import { LOCAL_REGION } from './local.js';
import { offeringSpec, offeringStatus, type OfferingSpec, type OfferingStatus } from './schema.js';

const offeringMachine: Machine<OfferingSpec, OfferingStatus, undefined, undefined, never> = {
  decide: (current, _side, message) => plain(current, message),
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
    textColumn('Category', 'GPU or CPU.', ({ spec }: This) => spec.category),
    textColumn('CPU', 'Cores of the host.', ({ spec }: This) => spec.host?.cpu),
    textColumn('Memory', 'Memory of the host.', ({ spec }: This) => spec.host?.memory),
    wide(
      textColumn('Accelerator', 'Accelerator and how many of it.', ({ spec }: This) => {
        const { accelerator, count } = spec;
        return accelerator?.id === undefined ? '' : `${accelerator.id}:${count ?? 1}`;
      }),
    ),
    textColumn('Availability', 'Available, Limited or Unavailable.', ({ status }: This) => status.availability),
    textColumn('USD/h', 'List price per hour.', ({ status }: This) => status.listPriceUSDPerHour),
    wide(textColumn('Region', 'Region class.', ({ spec }: This) => spec.regionClass)),
  ],
  selectableFields: {
    'spec.category': (object: This) => object.spec.category,
    'spec.regionClass': (object: This) => object.spec.regionClass,
    'status.availability': (object: This) => object.status.availability,
  },
  initialStatus: ({ metadata, spec }: This) => availability(spec, metadata.creationTimestamp),
  machine: offeringMachine,
};
