/** What a path names. An address can only ever be made of DNS names, however they are written. */
import test from 'ava';
import * as fc from 'fast-check';
import { KINDS } from '../../src/kinds/index.js';
import { isName, openTargets } from '../../http/target.js';
import { tries } from '../support/extent.js';

const targets = openTargets('svc.dev', KINDS, new Set(['v1/blobs', 'core/events']));
const named = (path: string): string => {
  const target = targets.resolve(path);
  return target === undefined ? 'nothing' : target.at;
};

test('each shape of path is told apart', (t) => {
  const base = '/apis/svc.dev/v1';
  t.is(named('/api'), 'discovery');
  t.is(named('/apis/svc.dev/v1'), 'discovery');
  t.is(named(`${base}/jobs`), 'collection');
  t.is(named(`${base}/jobs/`), 'collection');
  t.is(named(`${base}/jobs/x`), 'nothing');
  t.is(named(`${base}/namespaces/p/jobs`), 'collection');
  t.is(named(`${base}/namespaces/p/jobs/x`), 'object');
  t.is(named(`${base}/namespaces/p/jobs/x/logs`), 'below');
  t.is(named(`${base}/members/x`), 'object');
  t.is(named(`${base}/namespaces/p/members/x`), 'nothing');
  t.is(named('/api/v1/namespaces/p'), 'object');
  t.is(named('/api/v1/namespaces/p/status'), 'below');
  t.is(named('/api/v1/namespaces/p/events'), 'extra');
  t.is(named('/api/v1/jobs'), 'nothing');
  t.is(named(`${base}/namespaces/p/blobs/sha256:00`), 'extra');
  t.is(named('/apis/svc.dev/v1beta1/jobs'), 'nothing');
});

test('what stands behind a port is kept as it was sent, and is no part of the address', (t) => {
  const port = '/apis/svc.dev/v1/namespaces/p/sandboxes/x/ports/80';
  for (const behind of ['', '/', '/a', '/a/', '/%2e%2e//b/%00', `/${'deep/'.repeat(40)}`, '/ports/81/']) {
    const target = targets.resolve(port + behind);
    t.like(target, { at: 'below', name: 'x', below: 'ports', rest: ['80'], behind }, behind);
  }
  t.is(named('/apis/svc.dev/v1/namespaces/p/sandboxes/x//ports/80/'), 'nothing');
  t.is(named('/apis/svc.dev/v1/namespaces/p/sandboxes/%2e%2e/ports/80/'), 'nothing');
  t.is(named('/apis/svc.dev/v1/sandboxes/x/ports/80/'), 'nothing');
});

test('no path, however encoded, reaches an address of anything but DNS names', (t) => {
  const piece = fc.oneof(
    fc.constantFrom('a', 'a.b', 'A', '..', '%2f', '%2e%2e', '%00', 'a%2Fb', 'a b', '%', '', 'jobs', 'namespaces', 'é'),
    fc.string({ maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
      const target = targets.resolve(`/apis/svc.dev/v1/namespaces/${pieces.join('/')}`);
      if (target === undefined || target.at === 'discovery') return true;
      const { project } = target;
      const name = 'name' in target && target.at !== 'extra' ? target.name : 'a';
      return (project === undefined || project === '' || isName(project)) && isName(name);
    }),
    { numRuns: tries(2000) },
  );
  t.is(targets.resolve('/apis/svc.dev/v1/namespaces/p/jobs/a%2Fb'), undefined);
  t.is(targets.resolve(`/apis/svc.dev/v1/namespaces/p/jobs/${'a'.repeat(254)}`), undefined);
});
