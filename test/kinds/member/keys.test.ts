/** Public keys for SSH of members: how many, of which forms, and that nothing that is written there is a fault of the service. */
import test from 'ava';
import fc from 'fast-check';
import ssh2 from 'ssh2';
import { memberKind } from '../../../src/kinds/member/index.js';
import { readSshKey } from '../../../src/kinds/shapes/ssh-key.js';
import { many, sshKey } from '../rules/samples.js';
import { tries } from '../../support/extent.js';

const rsa = (bits: number): string => ssh2.utils.generateKeyPairSync('rsa', { bits }).public.trim();

const ECDSA =
  'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfU=';

/** Paths of what is wrong with these keys. */
function complaints(sshKeys: readonly string[]): readonly string[] {
  const read = memberKind.schema.spec.safeParse({ email: 'a@example.org', sshKeys });
  return (read.error?.issues ?? []).map(({ path }) => path.join('.'));
}

test('a member has at most 100 keys, each once', (t) => {
  t.deepEqual(complaints(many(100, sshKey)), []);
  t.deepEqual(complaints(many(101, sshKey)), ['sshKeys']);
  t.deepEqual(complaints([sshKey(1), sshKey(1)]), ['sshKeys.1']);
});

test('keys of which nobody can prove that he has them are refused', (t) => {
  t.deepEqual(complaints([ECDSA, rsa(2_048)]), []);
  const offCurve = Buffer.from(ECDSA.split(' ')[1] ?? '', 'base64')
    .fill(1, 90)
    .toString('base64');
  const refused = [
    `ecdsa-sha2-nistp256 ${offCurve}`,
    rsa(1_024),
    sshKey().replace('ssh-ed25519', 'sk-ssh-ed25519@openssh.com'),
    sshKey().replace('ssh-ed25519', 'ssh-ed25519-cert-v01@openssh.com'),
  ];
  for (const key of refused) t.deepEqual(complaints([sshKey(), key]), ['sshKeys.1'], key);
});

test('a key of a curve that does not exist is refused, and ends no process', (t) => {
  // Node asserts that a curve is there when it is asked about such a key.
  const field = (bytes: Uint8Array | string): Buffer => {
    const content = Buffer.from(bytes as string);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    return Buffer.concat([length, content]);
  };
  const type = 'ecdsa-sha2-nistp256';
  for (const point of [
    [],
    [4],
    [0],
    Array(65).fill(0),
    [4, ...Array<number>(64).fill(0)],
    [2, ...Array<number>(32).fill(1)],
  ]) {
    for (const curve of ['', 'nistp256', 'nistp384', 'nistp000']) {
      const blob = Buffer.concat([field(type), field(curve), field(Uint8Array.from(point as number[]))]);
      t.deepEqual(complaints([`${type} ${blob.toString('base64')}`]), ['sshKeys.0'], `${curve} ${point.length}`);
    }
  }
});

const TYPES = ['ssh-ed25519', 'ssh-rsa', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'];
const field = fc.oneof(
  fc.uint8Array({ maxLength: 140 }),
  fc.constantFrom(...TYPES.map((type) => Buffer.from(type.slice(-8)))),
);
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

test('whatever follows the type of a key, it is one or none', (t) => {
  const rest = fc.array(fc.tuple(field, fc.option(fc.nat(2 ** 31))), { maxLength: 4 });
  fc.assert(
    fc.property(fc.constantFrom(...TYPES), rest, fc.uint8Array({ maxLength: 5 }), (type, fields, tail) => {
      const parts = fields.flatMap(([bytes, length]) => [number(length ?? bytes.length), Buffer.from(bytes)]);
      const blob = Buffer.concat([number(type.length), Buffer.from(type), ...parts, tail]);
      readSshKey(`${type} ${blob.toString('base64')}`);
      return complaints([`${type} ${blob.toString('base64')}`]).length <= 1;
    }),
    { numRuns: tries(2_000) },
  );
  t.pass();
});
