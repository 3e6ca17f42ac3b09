/** The description of routes for data: files, archives and revisions; checkpoints. Pure. Source: decisions, "Routes not shown". */
import { BOOLEAN, BYTES, INTEGER, list, query } from '../../openapi/route.js';
import { CHECKSUM, RAW, record, described, TAR } from './bodies.js';
import type { DescribeSubresource } from './declared.js';

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

export const files: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'GET',
    path: 'files',
    verb: 'read',
    id: `readFileOf${kind}`,
    summary: 'Read a file of a revision, or list a directory',
    parameters: [
      AT,
      query('revision', 'The revision; the newest by default.'),
      query('list', 'The entries of a directory instead of bytes.', BOOLEAN),
    ],
    answer: { type: 'application/octet-stream', schema: BYTES, description: 'The bytes.' },
  },
  {
    tag: kind,
    method: 'PUT',
    path: 'files',
    verb: 'write',
    id: `writeFileOf${kind}`,
    summary: 'Write a file: a new revision',
    parameters: [AT, CHECKSUM],
    body: RAW,
    answer: { schema: REVISION, description: 'Committed.' },
  },
  {
    tag: kind,
    method: 'DELETE',
    path: 'files',
    verb: 'write',
    id: `deleteFileOf${kind}`,
    summary: 'Delete a file or directory: a new revision',
    parameters: [AT],
    answer: { schema: REVISION, description: 'Committed.' },
  },
];

export const archive: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'POST',
    path: 'archive',
    verb: 'write',
    id: `uploadArchiveOf${kind}`,
    summary: 'Upload a tar as one revision',
    body: TAR,
    answer: { status: 201, schema: REVISION, description: 'Committed.' },
  },
];

export const revisions: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'GET',
    path: 'revisions',
    verb: 'read',
    id: `listRevisionsOf${kind}`,
    summary: `List the revisions of a ${kind}`,
    answer: { schema: list(REVISION), description: 'Newest first.' },
  },
];

export const checkpoints: DescribeSubresource = (kind) => [
  {
    tag: kind,
    method: 'GET',
    path: 'checkpoints',
    verb: 'read',
    id: `listCheckpointsOf${kind}`,
    summary: `List the checkpoints of a ${kind}`,
    answer: { schema: list(CHECKPOINT), description: 'Newest first.' },
  },
  {
    tag: kind,
    method: 'POST',
    path: 'checkpoints',
    verb: 'write',
    id: `takeCheckpointOf${kind}`,
    summary: 'Take a checkpoint now',
    answer: { status: 202, schema: CHECKPOINT, description: 'Asked for.' },
  },
];
