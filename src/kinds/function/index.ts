/** The declaration of Function: deployed Python that warm workers serve. */
import type { ApiObject } from '../../api/object.js';
import { countColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import { pinned } from '../image/catalog.js';
import type { KindDefinition, Reference } from '../kind.js';
import { singlePart } from '../priced-work.js';
import { plainMachine } from '../plain-machine.js';
import { plaintextSecretCheckOf } from '../shapes/program.js';
import {
  allNamed,
  envSecrets,
  image,
  imageRef,
  named,
  secretMounts,
  sidecars,
  volumeMounts,
} from '../shapes/references.js';
import { limitsOf } from '../shapes/resources.js';
import { functionSpec, type FunctionSpec, functionStatus, type FunctionStatus } from './schema.js';

type This = ApiObject<FunctionSpec, FunctionStatus>;

export const functionKind: KindDefinition = {
  kind: 'Function',
  plural: 'functions',
  singular: 'function',
  shortNames: ['fn'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  unbuilt: true,
  runsWork: true,
  description:
    'Deployed Python that a pool of warm workers serves. A change of code, image or resources rolls the workers; calls in flight finish on the old ones.',
  schema: { spec: functionSpec, status: functionStatus, immutable: [], raiseOnly: ['spec.maxCostUSD'] },
  columns: [
    phaseColumn('Function'),
    textColumn('State', 'Running or Stopped, as asked for.', ({ spec }: This) => spec.state),
    countColumn('Workers', 'Workers that can take calls.', ({ status }: This) => status.workers?.ready),
    countColumn('Queued', 'Calls that wait for a worker.', ({ status }: This) => status.queue?.queued),
    countColumn('Running', 'Calls that run.', ({ status }: This) => status.queue?.running),
    wide(
      textColumn('Code', 'What is called.', ({ spec: { code } }: This) =>
        [code?.module, code?.qualname ?? code?.cls?.name].filter(Boolean).join('.'),
      ),
    ),
    wide(
      textColumn('Version', 'Version of the App that it was deployed with.', ({ status }: This) => status.appVersion),
    ),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.imageRef': (object: This) => object.spec.imageRef,
    'status.appVersion': (object: This) => object.status.appVersion,
    'status.reason': (object: This) => object.status.reason,
  },
  initialStatus: (object: This): FunctionStatus => ({
    phase: 'Pending',
    ...(object.spec.image === undefined ? {} : { image: pinned(object.spec.image) }),
  }),
  blobs: ({ spec: { code } }: This) => (code?.blob === undefined ? [] : [code.blob]),
  references: functionReferences,
  plaintextSecretCheck: (object: This) => plaintextSecretCheckOf(object.spec),
  pricedWork: ({ spec }: This) => singlePart(limitsOf(spec.resources), spec.placement),
  unservedSubresources: ['calls', 'logs'],
  machine: plainMachine<FunctionSpec, FunctionStatus>(),
};

export function functionReferences({ spec }: ApiObject<FunctionSpec>): readonly Reference[] {
  return [
    ...allNamed('Connection', 'spec.connections', spec.connections),
    ...envSecrets('spec.env', spec.env),
    ...image('spec.image', spec.image),
    ...allNamed('Secret', 'spec.imagePullSecrets', spec.imagePullSecrets),
    ...imageRef('spec.imageRef', spec.imageRef),
    ...named('Pool', 'spec.placement.pool', spec.placement?.pool),
    ...secretMounts('spec.secrets', spec.secrets),
    ...named('ServiceAccount', 'spec.serviceAccountName', spec.serviceAccountName),
    ...sidecars('spec.sidecars', spec.sidecars),
    ...volumeMounts('spec.volumes', spec.volumes),
  ];
}
