/** The declaration of Offering: the read-only catalog of capacity, the same for every org. */
import { formatDuration } from '../../api/duration.js';
import type { ApiObject } from '../../api/object.js';
import { parseBytes, parseMilliCpu } from '../../api/quantity.js';
import { rfc3339 } from '../../api/time.js';
import { READ_ONLY, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import type { Machine } from '../machine.js';
import type { PriceBook } from '../../money/price-book.js';
import { rateOf } from '../../money/pricing.js';
import { showUSD } from '../../money/usd.js';
import { next, plain } from '../plain-machine.js';
import { LOCAL_REGION, LOCAL_STARTUP } from './local.js';
import { offeringSpec, offeringStatus, type OfferingSpec, type OfferingStatus } from './schema.js';

const offeringMachine: Machine<OfferingSpec, OfferingStatus, undefined, undefined, never> = {
  decide(current, _side, message, { now, prices }) {
    if (message.type !== 'Created' && message.type !== 'Updated') return plain(current, message);
    const { metadata, spec, status } = current.object;
    const startup = spec.regionClass === LOCAL_REGION ? LOCAL_START : undefined;
    return next({ ...status, ...pricesOf(metadata.name, spec, prices), startup, observedTime: rfc3339(now) });
  },
};

const LOCAL_START = { p50: formatDuration(LOCAL_STARTUP.cold.p50), p90: formatDuration(LOCAL_STARTUP.cold.p90) };

/** The whole of it: a host's CPU and memory. Without a price it shows none. */
function pricesOf(name: string, { host = {} }: OfferingSpec, prices: PriceBook | undefined): OfferingStatus {
  if (prices === undefined || !Object.hasOwn(prices.offerings, name)) {
    return { listPriceUSDPerHour: undefined, priceUSDPerHour: undefined };
  }
  const milliCpu = parseMilliCpu(host.cpu ?? '') ?? 0;
  const rate = showUSD(rateOf(prices, name, { milliCpu, memory: parseBytes(host.memory ?? '') ?? 0 }));
  return { listPriceUSDPerHour: rate, priceUSDPerHour: { from: rate, typical: rate } };
}

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
