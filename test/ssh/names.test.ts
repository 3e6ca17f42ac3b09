/** The user names of the SSH server, the keys that it reads, and what a status says of the endpoints. */
import test from 'ava';
import fc from 'fast-check';
import { connectOf, readSshUser, sshUser } from '../../src/kinds/workspace/connect.js';
import { encodeObject, stampVersion } from '../../src/api/encode.js';
import { keysOf } from '../../http/ssh/keys.js';
import { membersOf } from '../../http/ssh/members.js';
import type { MemberSpec } from '../../src/kinds/member/schema.js';

const label = fc.stringMatching(/^[a-z0-9](?:[-a-z0-9]{0,8}[a-z0-9])?$/);
const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const org = fc.oneof(fc.constant('bootstrap'), label);

test('each Workspace has one user name, and no user name is that of two', (t) => {
  fc.assert(
    fc.property(fc.record({ org, project: label, name }), (where) => {
      t.deepEqual(readSshUser(sshUser(where)), where);
    }),
  );
  t.is(sshUser({ org: 'bootstrap', project: 'default', name: 'my.box' }), 'my.box.default');
  t.is(sshUser({ org: 'o-1', project: 'p', name: 'box' }), 'box.p+o-1');
});

test('what can be the name of none is none', (t) => {
  for (const user of [
    '',
    'root',
    '.',
    'a.',
    '.a',
    'A.b',
    'a.b+',
    'a.b+c+d',
    'a.b+bootstrap',
    'a.b+o.1',
    `${'a'.repeat(300)}.b`,
    'a.b\0',
  ]) {
    t.is(readSshUser(user), undefined, user);
  }
  fc.assert(fc.property(fc.string(), (user) => (readSshUser(user), true)));
});

const line = (text: string): string => `ssh-ed25519 ${text}`;
const memberMeta = { name: 'ada', uid: 'u-1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' };

async function* pagesOf(bodies: readonly Buffer[]): AsyncGenerator<readonly Buffer[]> {
  yield bodies;
}

const member = (spec: Partial<MemberSpec>): MemberSpec => ({ email: 'a@b.c', role: 'Developer', ...spec });

test('a Workspace without keys takes those of the members who may use the project', async (t) => {
  const members = async () => [
    member({ sshKeys: [line('everywhere')] }),
    member({ sshKeys: [line('here')], projects: ['p'] }),
    member({ sshKeys: [line('elsewhere')], projects: ['q'] }),
    member({ sshKeys: [line('looks on')], role: 'Viewer' }),
    member({}),
  ];
  const place = { org: 'o-1', project: 'p' };
  t.deepEqual(await keysOf({}, place, members), [line('everywhere'), line('here')]);
  t.deepEqual(await keysOf({ sshKeys: [] }, place, members), [line('everywhere'), line('here')]);
  t.deepEqual(await keysOf({ sshKeys: [line('own')] }, place, members), [line('own')]);
});

test('a member whose deletion has begun opens nothing any more', async (t) => {
  const bodies = [undefined, '2026-01-02T03:04:05Z'].map((deletionTimestamp) => {
    const metadata = { ...memberMeta, deletionTimestamp };
    const object = { apiVersion: 'v1', kind: 'Member', metadata, spec: member({}), status: {} };
    return stampVersion(encodeObject(object), 1);
  });
  const members = membersOf({ list: async () => ({ items: pagesOf(bodies) }) as never });
  t.is((await members('o-1')).length, 1);
});

test('a status names only the endpoints of its tools', (t) => {
  const where = { org: 'bootstrap', project: 'p', name: 'box', uid: 'u-1' };
  const ssh = { host: '127.0.0.1', port: 2222, hostKey: 'ssh-ed25519 AAAA' };
  t.deepEqual(connectOf(where, ['Jupyter', 'SSH'], { base: 'https://h', ssh }), {
    jupyter: { url: 'https://h/tools/bootstrap/p/box/jupyter/' },
    ssh: { command: 'ssh -p 2222 box.p@127.0.0.1', host: '127.0.0.1:2222', hostKey: 'ssh-ed25519 AAAA' },
  });
  const apart = connectOf(where, ['VSCode'], { base: 'https://h:8443', toolDomain: 'tools.example' });
  t.deepEqual(apart, { vscode: { url: 'https://u-1.tools.example:8443/tools/bootstrap/p/box/vscode/' } });
  t.deepEqual(connectOf(where, ['SSH'], { base: 'https://h' }), {});
  t.is(connectOf(where, ['SSH'], undefined), undefined);
});
