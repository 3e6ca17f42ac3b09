/** The declaration of Attempt: one run of one piece of work, read-only for customers. */
import type { ApiObject } from '../../api/object.js';
import { parseTime, rfc3339Millis } from '../../api/time.js';
import { integerColumn, READ_ONLY, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { attemptMachine } from './machine.js';
import { attemptSpec, attemptStatus, type AttemptSpec, type AttemptStatus } from './schema.js';
import { mayStart, WORK_FINALIZER, type AttemptPrivate } from './state.js';

type This = ApiObject<AttemptSpec, AttemptStatus>;

export { mayStart, WORK_FINALIZER };

export const attemptKind: KindDefinition = {
  kind: 'Attempt',
  plural: 'attempts',
  singular: 'attempt',
  shortNames: ['att'],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: READ_ONLY,
  description:
    'One run of one piece of work: a slot of its owner at an epoch. A replacement is a new Attempt at the next epoch of the same slot.',
  schema: { spec: attemptSpec, status: attemptStatus, immutable: ['spec'], raiseOnly: [] },
  columns: [
    textColumn('Phase', 'Phase of the Attempt.', ({ status }: This) => status.phase),
    integerColumn('Slot', 'Position in the owner, such as the index of a Job.', ({ spec }: This) => spec.slot),
    integerColumn('Epoch', 'Increases with every replacement.', ({ spec }: This) => spec.epoch),
    textColumn('Reason', 'Why it is in this phase.', ({ status }: This) => status.reason),
    wide(integerColumn('Exit', 'Exit code of the program.', ({ status }: This) => status.exitCode)),
    wide(
      textColumn('Owner', 'What it runs for.', ({ metadata }: This) => {
        const owner = metadata.ownerReferences?.[0];
        return owner === undefined ? '' : `${owner.kind}/${owner.name}`;
      }),
    ),
  ],
  selectableFields: {
    'spec.slot': (attempt: This) => String(attempt.spec.slot),
    'spec.epoch': (attempt: This) => String(attempt.spec.epoch),
    'status.reason': (attempt: This) => attempt.status.reason,
  },
  initialStatus: ({ metadata }) => ({
    phase: 'Queued',
    progress: { stage: 'Placing' },
    timings: { queuedTime: rfc3339Millis(parseTime(metadata.creationTimestamp) ?? 0) },
  }),
  // Until its owner has taken what it wants of them, or the Attempt goes.
  blobs: (_attempt, kept?: AttemptPrivate) => [
    ...new Set((kept?.outputs ?? []).flatMap(({ sha256 }) => (sha256 === '' ? [] : sha256))),
  ],
  subresources: ['logs'],
  machine: attemptMachine,
};
