/** Links to tools and the visits that come of them: good once, at one place, for a time, and not to be made up. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { toolAddressOf } from '../../http/tools/tool-address.js';
import {
  openBrowserSessions,
  SESSION_SECONDS,
  type BrowserSession,
  type BrowserSessions,
} from '../../http/tools/browser-sessions.js';

const VISIT: BrowserSession = {
  owner: { org: 'acme', kind: 'Workspace', project: 'default', name: 'desk' },
  uid: '0b0e5b5e-0000-4000-8000-000000000001',
  epoch: 3,
  tool: 'jupyter',
  program: 'jupyter-lab',
  credential: 'a'.repeat(64),
};
const PLACE = toolAddressOf(VISIT, undefined);

function open(key: Uint8Array = randomBytes(32), now = { ms: 1_000 }): BrowserSessions {
  return openBrowserSessions({
    placeOf: (session) => toolAddressOf(session, undefined),
    key,
    randomBytes,
    clock: () => now.ms,
  });
}

function begun(browserSessions: BrowserSessions): string {
  const value = browserSessions.begin(browserSessions.invite(VISIT), PLACE);
  if (value === undefined) throw new Error('the link is not taken');
  return value;
}

test('a link is good once, at its own place, and never as a visit', (t) => {
  const browserSessions = open();
  const link = browserSessions.invite(VISIT);
  t.is(browserSessions.find(link, PLACE), undefined);
  t.is(browserSessions.begin(link, PLACE.replace('jupyter', 'vscode')), undefined);
  t.deepEqual(browserSessions.find(browserSessions.begin(link, PLACE) ?? '', PLACE), VISIT);
  t.is(browserSessions.begin(link, PLACE), undefined);
  t.is(open().begin(browserSessions.invite(VISIT), PLACE), undefined, 'nor after a restart');
});

test('a visit outlasts the process, and neither its time, its place nor its key', (t) => {
  const [key, now] = [randomBytes(32), { ms: 1_000 }];
  const value = begun(open(key, now));
  const after = open(key, now);
  t.deepEqual(after.find(value, PLACE), VISIT);
  t.is(after.find(value, PLACE.replace('desk', 'desks')), undefined);
  t.is(open(randomBytes(32), now).find(value, PLACE), undefined);
  now.ms += SESSION_SECONDS * 1_000 - 1;
  t.deepEqual(after.find(value, PLACE), VISIT);
  now.ms += 1;
  t.is(after.find(value, PLACE), undefined);
});

test('nothing of a visit can be read or changed, and what was made up is no visit and no error', (t) => {
  const browserSessions = open();
  const value = begun(browserSessions);
  t.notRegex(Buffer.from(value, 'base64url').toString('latin1'), /acme|desk|aaaa/);
  const bytes = Buffer.from(value, 'base64url');
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ change;
      return browserSessions.find(changed.toString('base64url'), PLACE) === undefined;
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => browserSessions.find(text, PLACE) === undefined));
  for (let cut = 0; cut < bytes.length; cut++) {
    t.is(browserSessions.find(bytes.subarray(0, cut).toString('base64url'), PLACE), undefined);
  }
  t.is(browserSessions.find('A'.repeat(1_000_000), PLACE), undefined);
});
