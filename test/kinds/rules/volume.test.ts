/** Both sides of every rule of Volume. */
import test from 'ava';
import type { ApiObject } from '../../../src/api/object.js';
import { connectionKind } from '../../../src/kinds/connection/index.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import { objectOf } from '../decide.js';
import { MAX_COST } from './shared.js';
import { holdRules, type Limit } from './table.js';

function source(rule: string, good: object, bad: object, field: string): Limit {
  return { rule, within: [['spec.source', good]], beyond: [['spec.source', bad]], field: `spec.source${field}` };
}

const query = { connection: 'db', sql: 'select 1' };
const git = { repo: 'https://git.example.org/a/b' };
const hub = { repo: 'owner/name' };
const s3 = { connection: 'store', uri: 's3://bucket/prefix' };
const url = { url: 'https://example.org/a.zip' };

holdRules(test, {
  kind: volumeKind,
  least: {},
  defaults: [['spec.accessMode', 'ReadWriteOnce']],
  limits: [
    ...MAX_COST,
    {
      rule: 'a mode that is known',
      within: [['spec.accessMode', 'ReadWriteMany']],
      beyond: [['spec.accessMode', 'ReadWriteAll']],
    },
    {
      rule: 'a mode of many readers',
      within: [['spec.accessMode', 'ReadOnlyMany']],
      beyond: [['spec.accessMode', 'readonlymany']],
    },
    {
      rule: 'commits every minute at most',
      within: [['spec.commitInterval', '1m']],
      beyond: [['spec.commitInterval', '59s']],
    },
    {
      rule: 'commits every hour at least',
      within: [['spec.commitInterval', '1h']],
      beyond: [['spec.commitInterval', '61m']],
    },
    {
      rule: 'keeps a revision',
      within: [['spec.revisionHistoryLimit', 1]],
      beyond: [['spec.revisionHistoryLimit', 0]],
    },
    {
      rule: 'keeps 100 revisions',
      within: [['spec.revisionHistoryLimit', 100]],
      beyond: [['spec.revisionHistoryLimit', 101]],
    },
    { rule: 'revisions have some size', within: [['spec.size', '1']], beyond: [['spec.size', '0']] },
    { rule: 'a size is in bytes', within: [['spec.size', '10Gi']], beyond: [['spec.size', '10 GB']] },
    { rule: 'unused for a time', within: [['spec.ttlAfterUnused', '0s']], beyond: [['spec.ttlAfterUnused', '1d']] },
    source('a source is one', { upload: {} }, {}, ''),
    source('a source is one and not two', { upload: {} }, { upload: {}, url }, '.url'),
    source(
      'a query has a connection',
      { connectionQuery: query },
      { connectionQuery: { sql: 'a' } },
      '.connectionQuery.connection',
    ),
    source(
      'a query has a text',
      { connectionQuery: query },
      { connectionQuery: { connection: 'a', sql: '' } },
      '.connectionQuery.sql',
    ),
    source(
      'a query gives a known format',
      { connectionQuery: { ...query, format: 'CSV' } },
      { connectionQuery: { ...query, format: 'JSON' } },
      '.connectionQuery.format',
    ),
    source('a repository is https', { git }, { git: { repo: 'git@example.org:a/b' } }, '.git.repo'),
    source(
      'a ref is no option',
      { git: { ...git, ref: 'v1.0' } },
      { git: { ...git, ref: '--upload-pack=x' } },
      '.git.ref',
    ),
    source('lfs is yes or no', { git: { ...git, lfs: true } }, { git: { ...git, lfs: 'yes' } }, '.git.lfs'),
    source('the hub has owner/name', { hub }, { hub: { repo: 'name' } }, '.hub.repo'),
    source(
      'files are globs',
      { hub: { ...hub, files: ['*.json'] } },
      { hub: { ...hub, files: [''] } },
      '.hub.files[0]',
    ),
    source(
      'a revision is a commit or a tag',
      { hub: { ...hub, revision: 'a'.repeat(40) } },
      { hub: { ...hub, revision: 'a b' } },
      '.hub.revision',
    ),
    source('S3 has an address', { s3 }, { s3: { ...s3, uri: 'https://bucket/prefix' } }, '.s3.uri'),
    source('S3 has a bucket', { s3: { ...s3, uri: 's3://bucket' } }, { s3: { ...s3, uri: 's3:///prefix' } }, '.s3.uri'),
    source(
      'S3 has a bucket by its name',
      { s3: { ...s3, uri: 's3://my.bucket/a b' } },
      { s3: { ...s3, uri: 's3://my*bucket/a' } },
      '.s3.uri',
    ),
    source('S3 has a connection', { s3 }, { s3: { uri: 's3://bucket/prefix' } }, '.s3.connection'),
    source('a file of the web comes over https', { url }, { url: { url: 'http://example.org/a.zip' } }, '.url.url'),
    source(
      'an archive is unpacked or not',
      { url: { ...url, extract: 'None' } },
      { url: { ...url, extract: 'Zip' } },
      '.url.extract',
    ),
    source(
      'a sum is hexadecimal',
      { url: { ...url, sha256: 'a'.repeat(64) } },
      { url: { ...url, sha256: 'a' } },
      '.url.sha256',
    ),
  ],
  immutable: [['spec.accessMode', 'ReadWriteOnce', 'ReadWriteMany']],
  mutable: [
    ['spec.commitInterval', '1m', '2m'],
    ['spec.revisionHistoryLimit', 1, 2],
    ['spec.size', '2Gi', '1Gi'],
    ['spec.source', { url }, { upload: {} }],
    ['spec.ttlAfterUnused', '1h', '2h'],
  ],
  raiseOnly: [['spec.maxCostUSD', '9.50', '10.00']],
});

test('Volume: what it names is looked for, each by the path of its field', (t) => {
  const named = (from: object) =>
    volumeKind
      .references?.(objectOf(volumeKind, { source: from }))
      .map(({ field, kind, name }) => ({ field, kind, name }));
  t.deepEqual(named({ connectionQuery: query }), [
    { field: 'spec.source.connectionQuery.connection', kind: 'Connection', name: 'db' },
  ]);
  t.deepEqual(named({ hub: { ...hub, secret: 'token' } }), [
    { field: 'spec.source.hub.secret', kind: 'Secret', name: 'token' },
  ]);
  t.deepEqual(named({ s3 }), [{ field: 'spec.source.s3.connection', kind: 'Connection', name: 'store' }]);
  t.deepEqual(named({ upload: {} }), []);
});

test('Volume: its Connections must lead to what it is filled from', (t) => {
  const database = objectOf(connectionKind, { type: 'HostedPgA', secret: 'a' });
  const store = objectOf(connectionKind, { type: 'S3', s3: { bucket: 'data' } });
  const objection = (from: object, found: ApiObject): string | undefined =>
    volumeKind.references?.(objectOf(volumeKind, { source: from }))[0]?.objection?.(found);
  t.is(objection({ connectionQuery: query }, database), undefined);
  t.regex(objection({ connectionQuery: query }, store) ?? '', /is of type S3 and leads to no database/);
  t.is(objection({ s3 }, store), undefined);
  t.regex(objection({ s3 }, database) ?? '', /leads to no object storage/);
});

for (const [path, spec] of [
  ['spec.accessMode', { accessMode: 'ReadOnlyMany' }],
  ['spec.commitInterval', { commitInterval: '1m' }],
  ['spec.maxCostUSD', { maxCostUSD: '1.00' }],
  ['spec.source.upload', { source: { upload: {} } }],
  ['spec.source.url', { source: { url } }],
] as const) {
  test(`Volume: ${path} is named as not built yet`, (t) => {
    t.deepEqual(volumeKind.unsupported?.(volumeKind.schema.spec.parse(spec), 'Catalog'), [path]);
  });
}

test('Volume: everything that this service carries out is supported', (t) => {
  const spec = { accessMode: 'ReadWriteOnce', revisionHistoryLimit: 3, size: '1Gi', ttlAfterUnused: '1h' };
  t.deepEqual(volumeKind.unsupported?.(volumeKind.schema.spec.parse(spec), 'Catalog'), []);
});
