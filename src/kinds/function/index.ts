/** Owns the declaration of Function: deployed Python that warm workers serve. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, phaseColumn, reasonColumn } from '../declare.js';
import { estimateWork } from '../estimate.js';
import { pinned } from '../image/catalog.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { plaintextSecretCheckOf } from '../shapes/plaintext-secrets.js';
import { functionReferences } from './references.js';
import { functionSpec, functionStatus, type FunctionSpec, type FunctionStatus } from './schema.js';

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
    {
      name: 'State',
      type: 'string',
      description: 'Running or Stopped, as asked for.',
      cell: (object: This) => object.spec.state,
    },
    {
      name: 'Workers',
      type: 'integer',
      description: 'Workers that can take calls.',
      cell: (object: This) => object.status.workers?.ready ?? 0,
    },
    {
      name: 'Queued',
      type: 'integer',
      description: 'Calls that wait for a worker.',
      cell: (object: This) => object.status.queue?.queued ?? 0,
    },
    {
      name: 'Running',
      type: 'integer',
      description: 'Calls that run.',
      cell: (object: This) => object.status.queue?.running ?? 0,
    },
    {
      name: 'Code',
      type: 'string',
      priority: 1,
      description: 'What is called.',
      cell: ({ spec: { code } }: This) => [code?.module, code?.qualname ?? code?.cls?.name].filter(Boolean).join('.'),
    },
    {
      name: 'Version',
      type: 'string',
      priority: 1,
      description: 'Version of the App that it was deployed with.',
      cell: (object: This) => object.status.appVersion ?? '',
    },
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
    estimate: estimateWork(object),
  }),
  blobs: ({ spec: { code } }: This) => (code?.blob === undefined ? [] : [code.blob]),
  references: functionReferences,
  plainSight: (object: This) => plaintextSecretCheckOf(object.spec),
  unservedSubresources: ['calls', 'logs'],
  machine: plainMachine<FunctionSpec, FunctionStatus>(),
};
