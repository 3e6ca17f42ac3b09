/** Which registry a name means, whose login is for it, and where a daemon is not sent. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { PrivateImages } from '../../src/engines/compute/docker/private-images.js';
import { loginFor, refusalOfRegistry, registryNamed, registryOf } from '../../src/engines/compute/docker/registry.js';

test('the registry of an image is what the daemon takes for it', (t) => {
  for (const [reference, registry] of [
    ['debian', 'docker.io'],
    ['library/debian:12', 'docker.io'],
    ['docker.io/library/debian:12', 'docker.io'],
    ['index.docker.io/library/debian', 'docker.io'],
    ['ghcr.io/team/tools@sha256:0', 'ghcr.io'],
    ['GHCR.io/team/tools', 'ghcr.io'],
    ['localhost/tools', 'localhost'],
    ['team:5000/tools:1', 'team:5000'],
    ['team/tools:1', 'docker.io'],
  ] as const) {
    t.is(registryOf(reference), registry, reference);
  }
  t.is(registryNamed('https://index.docker.io/v1/'), 'docker.io');
  t.is(registryNamed('http://Registry.example:5000/v2/'), 'registry.example:5000');
});

test('a login is for its own registry alone, and one that names none for the image that it comes with', (t) => {
  const hub = { registry: 'https://index.docker.io/v1/', username: 'a', password: '1' };
  const own = { registry: 'registry.example:5000', username: 'b', password: '2' };
  const any = { username: 'c', password: '3' };
  t.is(loginFor('debian', [own, hub]), hub);
  t.is(loginFor('registry.example:5000/x', [any, hub, own]), own);
  t.is(loginFor('registry.example/x', [hub, own]), undefined, 'another port is another registry');
  t.is(loginFor('registry.example/x', [hub, own, any]), any);
});

test('a daemon is not sent to special addresses, by whatever name, but where the operator has said so', async (t) => {
  const known: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['93.184.216.34'],
    'inner.example': ['10.1.2.3'],
    'both.example': ['93.184.216.34', '127.0.0.1'],
  };
  const rules = {
    lookup: (host: string) => Promise.resolve(known[host] ?? []),
    trusted: new Set(['inner.example:5000', 'unknown.example']),
  };
  for (const [reference, why] of [
    ['debian', undefined],
    ['public.example/x', undefined],
    ['93.184.216.34:5000/x', undefined],
    ['inner.example:5000/x', undefined],
    ['unknown.example/x', undefined],
    ['inner.example/x', /private address/],
    ['both.example/x', /loopback address/],
    ['169.254.169.254/x', /link-local|metadata/],
    ['127.0.0.1:8080/x', /loopback address/],
    ['nowhere.example/x', /the name nowhere\.example is not resolved/],
  ] as const) {
    const refusal = await refusalOfRegistry(reference, rules);
    if (why === undefined) t.is(refusal, undefined, reference);
    else t.regex(refusal?.message ?? '', why, reference);
    // Nobody knows what a registry has whose name was not resolved: it is asked again.
    if (refusal !== undefined) t.is(refusal.passing, reference.startsWith('nowhere'), reference);
  }
  const silent = { ...rules, lookup: () => Promise.reject(new Error('queryA ETIMEOUT')) };
  t.regex((await refusalOfRegistry('nowhere.example/x', silent))?.message ?? '', /ETIMEOUT/);
});

test('what a login has brought is for who has shown one, also after a crash in the middle of a pull', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-images-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'private-images.json');
  const mine = { username: 'a', password: 'hush-1' };
  const other = { ...mine, password: 'hush-2' };
  const images = await PrivateImages.load(file);
  t.true(images.mayHave('sha256:1', ['r/x:1'], undefined), 'what was always here is everybody’s');
  await images.begin('r/x:1');
  t.false(images.mayHave('sha256:1', ['r/x:1'], undefined), 'while it comes nobody knows its id');
  await images.begin('r/x:1');
  await images.end('r/x:1', undefined);
  t.false(images.mayHave('sha256:1', ['r/x:1'], undefined), 'another one is still pulling it');
  t.false((await PrivateImages.load(file)).mayHave('sha256:1', ['r/x:1'], mine), 'nor after a crash');
  await images.end('r/x:1', 'sha256:1');
  images.show('sha256:1', mine);
  t.true(images.mayHave('sha256:1', [], mine));
  for (const login of [other, undefined]) t.false(images.mayHave('sha256:1', [], login));
  const again = await PrivateImages.load(file);
  t.false(again.mayHave('sha256:1', [], mine), 'the registry is asked again');
  t.true(again.mayHave('sha256:2', ['r/x:1'], undefined));
  t.notRegex(await readFile(file, 'utf8'), /hush/);
});
