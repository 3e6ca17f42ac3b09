/** Both sides of every rule of Connection. */
import test from 'ava';
import { connectionKind } from '../../../src/kinds/connection/index.js';
import { objectOf } from '../decide.js';
import { holdRules, type Change, type Limit } from './table.js';

const type = (name: string, ...changes: Change[]): Change[] => [['spec.type', name], ...changes];

/** A field is for one type and not for another. */
function only(field: string, value: unknown, good: Change[], bad: Change[]): Limit {
  return {
    rule: `${field} is for some types only`,
    within: [...good, [`spec.${field}`, value]],
    beyond: [...bad, [`spec.${field}`, value]],
    field: `spec.${field}`,
  };
}

const gitHost = type('GitHost', ['spec.secret', undefined]);
const store = type('S3', ['spec.s3', { bucket: 'data' }]);
const s3 = (more: object): Change[] => type('S3', ['spec.s3', { bucket: 'data', ...more }]);

holdRules(test, {
  kind: connectionKind,
  least: { type: 'Postgres', secret: 'credential' },
  defaults: [],
  limits: [
    { rule: 'a type is named', within: [], beyond: [['spec.type', undefined]] },
    { rule: 'a type is a known one', within: type('HostedPgB'), beyond: type('MySQL') },
    { rule: 'a database has a credential', within: [], beyond: [['spec.secret', undefined]] },
    {
      rule: 'a hosted database has a credential',
      within: type('HostedPgA'),
      beyond: type('HostedPgA', ['spec.secret', undefined]),
      field: 'spec.secret',
    },
    {
      rule: 'a tracker has a credential',
      within: type('Tracker'),
      beyond: type('Tracker', ['spec.secret', undefined]),
      field: 'spec.secret',
    },
    { rule: 'a git host has no credential', within: gitHost, beyond: type('GitHost'), field: 'spec.secret' },
    {
      rule: 'a store may be trusted by a role',
      within: [...store, ['spec.secret', undefined]],
      beyond: type('S3'),
      field: 'spec.s3',
    },
    { rule: 'a scope is a known one', within: [['spec.scope', 'ReadWrite']], beyond: [['spec.scope', 'Admin']] },
    only('scope', 'Read', type('HostedPgB'), store),
    only('hostedPg', { branch: '' }, type('HostedPgA'), []),
    only('s3', { bucket: 'data' }, type('S3'), []),
    only('tracker', { live: true }, type('Tracker'), []),
    { rule: 'a bucket is named', within: s3({}), beyond: s3({ bucket: undefined }), field: 'spec.s3.bucket' },
    {
      rule: 'a bucket has 3 characters',
      within: s3({ bucket: 'abc' }),
      beyond: s3({ bucket: 'ab' }),
      field: 'spec.s3.bucket',
    },
    {
      rule: 'a bucket has at most 63 characters',
      within: s3({ bucket: 'a'.repeat(63) }),
      beyond: s3({ bucket: 'a'.repeat(64) }),
      field: 'spec.s3.bucket',
    },
    {
      rule: 'a store is reached over https',
      within: s3({ endpoint: 'https://s3.example.org' }),
      beyond: s3({ endpoint: 'http://s3.example.org' }),
      field: 'spec.s3.endpoint',
    },
    {
      rule: 'live is yes or no',
      within: type('Tracker', ['spec.tracker', { live: false }]),
      beyond: type('Tracker', ['spec.tracker', { live: 'no' }]),
      field: 'spec.tracker.live',
    },
    { rule: 'a region is not empty', within: [['spec.region', 'eu']], beyond: [['spec.region', '']] },
  ],
  immutable: [['spec.type', 'Postgres', 'HostedPgA']],
  mutable: [
    ['spec.scope', 'Read', 'Write'],
    ['spec.secret', 'a', 'b'],
    ['spec.region', 'eu', 'us'],
  ],
  raiseOnly: [],
});

test('Connection: its credential is looked for', (t) => {
  t.deepEqual(connectionKind.references?.(objectOf(connectionKind, { type: 'Postgres', secret: 'a' })), [
    { field: 'spec.secret', kind: 'Secret', name: 'a' },
  ]);
  t.deepEqual(connectionKind.references?.(objectOf(connectionKind, { type: 'GitHost' })), []);
});
