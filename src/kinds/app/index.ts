/** The declaration of App: a group of Functions that is deployed as one. */
import type { ApiObject } from '../../api/object.js';
import { countColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { allNamed } from '../shapes/references.js';
import { appSpec, appStatus, type AppSpec, type AppStatus } from './schema.js';

type This = ApiObject<AppSpec, AppStatus>;

export const appKind: KindDefinition = {
  kind: 'App',
  plural: 'apps',
  singular: 'app',
  shortNames: [],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  unbuilt: true,
  description: 'A group of Functions that is deployed as one version, with the schedules on which they are called.',
  schema: { spec: appSpec, status: appStatus, immutable: [], raiseOnly: [] },
  columns: [
    phaseColumn('App'),
    textColumn('Version', 'Version that is deployed.', ({ status }: This) => status.version),
    countColumn('Functions', 'How many Functions it has.', ({ spec }: This) => spec.functions?.length),
    countColumn('Schedules', 'How many schedules it has.', ({ spec }: This) => spec.schedules?.length),
    wide(textColumn('Description', 'Description for people.', ({ spec }: This) => spec.description)),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.version': (object: This) => object.spec.version,
    'status.version': (object: This) => object.status.version,
  },
  initialStatus: (): AppStatus => ({ phase: 'Pending' }),
  // Schedules name only what `functions` names.
  references: ({ spec }: This) => allNamed('Function', 'spec.functions', spec.functions, 'FunctionNotFound'),
  machine: plainMachine<AppSpec, AppStatus>(),
};
