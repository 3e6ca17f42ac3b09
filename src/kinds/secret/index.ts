/** The declaration of Secret: versioned key/value data that can be written and mounted, and never read. */
import type { ApiObject } from '../../api/object.js';
import { countColumn, dateColumn, EVERY_OPERATION, integerColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { secretMachine } from './machine.js';
import { KEPT_VALUE, secretSpec, secretStatus, type SecretSpec, type SecretStatus } from './schema.js';

type This = ApiObject<SecretSpec, SecretStatus>;

export const secretKind: KindDefinition = {
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  shortNames: [],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Versioned, envelope-encrypted key/value data. Values are write-only: a write that carries values makes a new version, and only the names of the keys can be read.',
  schema: {
    spec: secretSpec,
    status: secretStatus,
    immutable: ['spec.type'],
    raiseOnly: [],
  },
  columns: [
    textColumn('Type', 'Opaque, or credentials of a registry.', ({ spec }: This) => spec.type),
    countColumn('Keys', 'Keys of the current version.', ({ status }: This) => status.keys?.length),
    integerColumn('Version', 'The current version.', ({ status }: This) => status.version),
    wide(dateColumn('Last Used', 'When it was last mounted.', ({ status }: This) => status.lastUsedTime)),
  ],
  selectableFields: { 'spec.type': (object: This) => object.spec.type },
  initialStatus: () => ({}),
  patchBase(object: This): This {
    const keys = object.status.keys ?? [];
    if (keys.length === 0) return object;
    const data = Object.fromEntries(keys.map((key) => [key, KEPT_VALUE]));
    return { ...object, spec: { ...object.spec, data } };
  },
  machine: secretMachine,
};
