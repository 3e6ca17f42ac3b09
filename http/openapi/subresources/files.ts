/** The description of the files inside what runs. Pure. Source: decisions, "Routes not shown", Files. */
import { CHECKSUM, RAW, record, described, TAR } from '../../routes/declared/bodies.js';
import { EPOCH, WAIT } from '../../routes/declared/interactive.js';
import { NAME, NAMESPACE } from '../parameters.js';
import { BOOLEAN, BYTES, INTEGER, query, route, TEXT } from '../route.js';
import type { Node } from '../schema.js';

const AT: Node = { name: 'path', in: 'query', required: true, description: 'Absolute path inside.', schema: TEXT };
const RANGE: Node = { name: 'Range', in: 'header', description: 'One range of bytes: 206 with those.', schema: TEXT };
const SAME: Node = {
  name: 'If-None-Match',
  in: 'header',
  description: 'ETag of what is held already: 304 when it is the same.',
  schema: TEXT,
};

const CONDITIONS: readonly Node[] = [
  {
    name: 'If-Match',
    in: 'header',
    description:
      'ETag that the file has; another one is 412. Of several writers with the same ETag one gets 200. Programs inside, and archives that are being unpacked, can still write in between.',
    schema: TEXT,
  },
  { name: 'If-None-Match', in: 'header', description: 'ETag that the file has not; `*`: there is none.', schema: TEXT },
];

const TIME: Node = { type: 'string', format: 'date-time' };

const ENTRY = record(
  {
    name: described('Name in the directory.'),
    path: described('Path.'),
    type: described('File, Directory, Link or Other.'),
    size: described('Bytes.', INTEGER),
    mode: described('Permissions, in octal.'),
    modifiedTime: described('When it was changed.', TIME),
    target: described('Where a link leads.'),
  },
  ['name', 'path', 'type', 'size', 'mode', 'modifiedTime'],
);

const WRITTEN = record(
  {
    path: described('Path, as it was asked for.'),
    type: described('File.'),
    size: described('Bytes.', INTEGER),
    sha256: described('SHA-256 of the bytes: the ETag of a read.'),
    mode: described('Permissions, in octal.'),
    modifiedTime: described('When it was written.', TIME),
  },
  ['path', 'type', 'size', 'sha256', 'mode', 'modifiedTime'],
);

export function describeFiles(object: string, kind: string): Record<string, Node> {
  const place = [NAMESPACE as unknown as Node, NAME as unknown as Node, AT];
  const when = [EPOCH, WAIT];
  const read = (id: string, summary: string): Node =>
    route({
      id: `${id}Of${kind}`,
      tag: kind,
      summary,
      parameters: [
        ...place,
        query(
          'list',
          'The entries of a directory as JSON {items, truncated} (at most 10,000) instead of bytes.',
          BOOLEAN,
        ),
        ...when,
        RANGE,
        SAME,
      ],
      answer: {
        type: 'application/octet-stream',
        schema: BYTES,
        description: 'The bytes; their ETag is their SHA-256.',
      },
    });
  return {
    [`${object}/files`]: {
      get: withEntries(read('readFile', 'Read a file, or list a directory')),
      head: read('statFile', 'Ask what a file is like'),
      put: route({
        id: `writeFileOf${kind}`,
        tag: kind,
        summary: 'Write a file; directories on the way are made',
        parameters: [
          ...place,
          query('mode', 'Permissions, in octal; those of the file that is replaced, or 0644, by default.'),
          CHECKSUM,
          ...CONDITIONS,
          ...when,
        ],
        body: RAW,
        answer: { schema: WRITTEN, description: 'Written, as a whole: nobody sees half of it.' },
      }),
      delete: route({
        id: `deleteFileOf${kind}`,
        tag: kind,
        summary: 'Delete a file, or a directory with all that is in it',
        parameters: [...place, ...CONDITIONS, ...when],
        answer: { schema: record({ path: described('Path.') }, ['path']), description: 'Deleted.' },
      }),
    },
    [`${object}/files/archive`]: {
      get: route({
        id: `packArchiveOf${kind}`,
        tag: kind,
        summary: 'Read a directory as a tar',
        parameters: [...place, ...when],
        answer: {
          type: 'application/x-tar',
          schema: BYTES,
          description:
            'The tar. A file that grows meanwhile is in it as long as it was; when one becomes shorter, the answer breaks off.',
        },
      }),
      post: route({
        id: `unpackArchiveOf${kind}`,
        tag: kind,
        summary: 'Unpack a tar into a directory, which is made when it is missing',
        parameters: [...place, ...when],
        body: TAR,
        answer: {
          schema: record({ path: described('Path.'), files: described('Files unpacked.', INTEGER) }, ['path', 'files']),
          description: 'Unpacked, to the end of the archive: one without its last blocks of zeros is 422.',
        },
      }),
    },
  };
}

/** With `list=true` the answer is JSON. */
function withEntries(operation: Node): Node {
  const responses = operation['responses'] as Record<string, { content: Record<string, unknown> }>;
  const found = responses['200'];
  if (found) {
    const items = { type: 'array', items: ENTRY };
    const schema = { type: 'object', required: ['items', 'truncated'], properties: { items, truncated: BOOLEAN } };
    found.content['application/json'] = { schema };
  }
  return operation;
}
