/** Owns the description of routes for data: files of Volumes, checkpoints of Jobs. Source: decisions, "Routes not shown". */
import { BOOLEAN, BYTES, INTEGER, list, query } from '../../openapi/route.js';
import { CHECKSUM, RAW, record, described, TAR } from './bodies.js';
import type { BelowRoute } from './declared.js';

const VOLUME = { plural: 'volumes', tag: 'Volume' } as const;
const CHECKPOINTS = { plural: 'jobs', path: 'checkpoints', tag: 'Job' } as const;
const TIME = { type: 'string', format: 'date-time' };

const REVISION = record({
  revision: described('Names it.'),
  time: described('When it was committed.', TIME),
  bytes: described('Logical bytes.', INTEGER),
  files: described('Files.', INTEGER),
});

const CHECKPOINT = record({
  seq: described('Number of the checkpoint.', INTEGER),
  index: described('Index of the Job.', INTEGER),
  time: described('When it was saved.', TIME),
  bytes: described('Bytes.', INTEGER),
});

const AT = query('path', 'Path in the Volume.');

export const DATA_ROUTES: readonly BelowRoute[] = [
  {
    ...VOLUME,
    method: 'GET',
    path: 'files',
    verb: 'read',
    id: 'readFileOfVolume',
    summary: 'Read a file of a revision, or list a directory',
    parameters: [
      AT,
      query('revision', 'The revision; the newest by default.'),
      query('list', 'The entries of a directory instead of bytes.', BOOLEAN),
    ],
    answer: { type: 'application/octet-stream', schema: BYTES, description: 'The bytes.' },
  },
  {
    ...VOLUME,
    method: 'PUT',
    path: 'files',
    verb: 'write',
    id: 'writeFileOfVolume',
    summary: 'Write a file: a new revision',
    parameters: [AT, CHECKSUM],
    body: RAW,
    answer: { schema: REVISION, description: 'Committed.' },
  },
  {
    ...VOLUME,
    method: 'DELETE',
    path: 'files',
    verb: 'write',
    id: 'deleteFileOfVolume',
    summary: 'Delete a file or directory: a new revision',
    parameters: [AT],
    answer: { schema: REVISION, description: 'Committed.' },
  },
  {
    ...VOLUME,
    method: 'POST',
    path: 'archive',
    verb: 'write',
    id: 'uploadArchiveOfVolume',
    summary: 'Upload a tar as one revision',
    body: TAR,
    answer: { status: 201, schema: REVISION, description: 'Committed.' },
  },
  {
    ...VOLUME,
    method: 'GET',
    path: 'revisions',
    verb: 'read',
    id: 'listRevisionsOfVolume',
    summary: 'List the revisions of a Volume',
    answer: { schema: list(REVISION), description: 'Newest first.' },
  },
  {
    ...CHECKPOINTS,
    method: 'GET',
    verb: 'read',
    id: 'listCheckpointsOfJob',
    summary: 'List the checkpoints of a Job',
    answer: { schema: list(CHECKPOINT), description: 'Newest first.' },
  },
  {
    ...CHECKPOINTS,
    method: 'POST',
    verb: 'write',
    id: 'takeCheckpointOfJob',
    summary: 'Take a checkpoint now',
    answer: { status: 202, schema: CHECKPOINT, description: 'Asked for.' },
  },
];
