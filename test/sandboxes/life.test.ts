/** The life of Sandboxes on a running service: start, stop, what is kept, and what ends them. */
import test from 'ava';
import { listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { sh } from '../jobs/jobs.js';
import { condition, NOTES, SANDBOXES, shareSandboxes, type Sandboxes } from './sandboxes.js';

let boxes: Sandboxes;
test.before(async () => {
  boxes = await shareSandboxes();
});
test.after.always(() => boxes?.service.close());

test('A Sandbox runs, stops with its files saved, starts again with them at the next epoch, and leaves nothing', async (t) => {
  await boxes.post('keeps', { command: NOTES });
  const running = await boxes.phase('keeps', 'Running', 1);
  t.is(condition(running, 'Ready'), 'True Running');
  t.is(condition(running, 'Scheduled'), 'True Placed');
  t.is(textAt(running, 'status', 'activity'), 'Idle');
  t.is(textAt(running, 'status', 'image', 'user'), 'root');
  t.is(
    Date.parse(textAt(running, 'status', 'expirationTime')) -
      Date.parse(textAt(running, 'metadata', 'creationTimestamp')),
    24 * 3_600_000,
  );
  await boxes.said('keeps', 1, '1\n');

  await boxes.patch('keeps', { spec: { state: 'Stopped' } });
  const stopped = await boxes.phase('keeps', 'Stopped');
  t.is(condition(stopped, 'StateSaved'), 'True Saved');
  t.is(condition(stopped, 'Ready'), 'False Requested');
  t.is(textAt(stopped, 'status', 'stopReason'), 'Requested');
  t.regex(textAt(stopped, 'status', 'message'), /^Stopped by \S+$/);
  t.is(textAt(stopped, 'status', 'snapshot', 'reason'), 'Stop');
  t.deepEqual(valueAt(stopped, 'metadata', 'finalizers'), undefined);
  const [first] = await boxes.attempts('keeps');
  t.is(textAt(first, 'status', 'phase'), 'Cancelled');
  t.not(textAt(first, 'status', 'timings', 'deletionProvenTime'), '', 'Stopped says that nothing runs any more');

  await boxes.patch('keeps', { spec: { state: 'Running' } });
  await boxes.phase('keeps', 'Running', 2);
  t.is(await boxes.said('keeps', 2, '1\n2\n'), '1\n2\n');

  t.is((await boxes.client().remove(`${SANDBOXES}/keeps`)).status, 200);
  await boxes.gone('keeps');
  const events = await boxes.client().get(`${path('events', 'default')}?limit=500&object=Sandbox%2Fkeeps`);
  const told = listAt(events.body, 'items')
    .filter((event) => textAt(event, 'regarding', 'name') === 'keeps' || JSON.stringify(event).includes('"keeps"'))
    .map((event) => textAt(event, 'reason'));
  t.true(told.includes('Started') && told.includes('Stopped'), events.text.slice(0, 2_000));
});

test('What stands in /workspace comes back as it was: modes, links, empty directories and times', async (t) => {
  const make =
    'cd /workspace; echo run > tool; chmod 750 tool; echo own > .own; chmod 600 .own; ln -s tool link; mkdir -p a/empty; ' +
    'touch -d 2020-01-02T03:04:05Z a; chmod 1777 a/empty; ln tool hard; mkfifo pipe';
  const list = 'cd /workspace; find . ! -name . -printf "%p %y %m %U %l\\n" | sort; stat -c %Y a';
  const script = `if [ $SVC_EPOCH = 1 ]; then ${make}; fi; ${list}; exec sleep infinity`;
  await boxes.post('exact', { command: sh(script) });
  await boxes.phase('exact', 'Running', 1);
  const log = async (epoch: number): Promise<string> => {
    const name = textAt((await boxes.attempts('exact'))[epoch - 1], 'metadata', 'name');
    return until('it is listed', async () => {
      const { text } = await boxes.client().get(`${path('attempts', 'default', name)}/logs`);
      return /^\d+\n$/m.test(text) && text;
    });
  };
  const first = await log(1);
  t.regex(first, /\.\/tool f 750 0/);
  await boxes.patch('exact', { spec: { state: 'Stopped' } });
  t.is(condition(await boxes.phase('exact', 'Stopped'), 'StateSaved'), 'True Saved');
  await boxes.patch('exact', { spec: { state: 'Running' } });
  await boxes.phase('exact', 'Running', 2);
  t.is(await log(2), first);
});

for (const policy of ['Foreground', 'Background', 'Orphan'] as const) {
  test(`Deleted (${policy}) while it runs, it ends its work and leaves nothing`, async (t) => {
    const name = `goes-${policy.toLowerCase()}`;
    await boxes.post(name, { command: NOTES });
    await boxes.phase(name, 'Running', 1);
    const answer = await boxes.client().remove(`${SANDBOXES}/${name}`, { propagationPolicy: policy });
    t.is(answer.status, 200, answer.text);
    await boxes.gone(name);
  });
}

test('Without a command it idles, and an Ephemeral one begins anew each time', async (t) => {
  await boxes.post('idles');
  await boxes.phase('idles', 'Running');
  await boxes.post('forgets', { command: NOTES, continuity: { mode: 'Ephemeral' } });
  await boxes.phase('forgets', 'Running', 1);
  await boxes.said('forgets', 1, '1\n');
  await boxes.patch('forgets', { spec: { state: 'Stopped' } });
  const stopped = await boxes.phase('forgets', 'Stopped');
  t.is(valueAt(stopped, 'status', 'snapshot'), undefined);
  await boxes.patch('forgets', { spec: { state: 'Running' } });
  await boxes.phase('forgets', 'Running', 2);
  t.is(await boxes.said('forgets', 2, '2\n'), '2\n');
  await boxes.client().remove(`${SANDBOXES}/idles`);
  await boxes.gone('idles');
});

test('One made Stopped runs nothing until it is started, and a request starts it again at the next epoch', async (t) => {
  await boxes.post('later', { state: 'Stopped' });
  await boxes.phase('later', 'Stopped');
  t.deepEqual(await boxes.attempts('later'), []);
  await boxes.patch('later', { spec: { state: 'Running' } });
  await boxes.phase('later', 'Running', 1);
  await boxes.patch('later', { metadata: { annotations: { 'svc.dev/request-restart': 'a' } } });
  const again = await boxes.phase('later', 'Running', 2);
  t.is(textAt(again, 'status', 'handledRequests', 'svc.dev/request-restart'), 'a');
});

test('Its command decides over its end: done is Stopped with the files saved, a failure is Failed, and no start is StartupFailed', async (t) => {
  await boxes.post('done', { command: sh('echo it > /workspace/it') });
  const done = await boxes.phase('done', 'Stopped');
  t.is(textAt(done, 'status', 'stopReason'), 'CommandExited');
  t.is(textAt(done, 'spec', 'state'), 'Stopped');
  t.is(condition(done, 'StateSaved'), 'True Saved');
  await boxes.post('breaks', { command: sh('exit 3') });
  t.is(textAt(await boxes.phase('breaks', 'Failed'), 'status', 'message'), 'exit code 3');
  await boxes.post('lacks', { command: ['/no/such/program'] });
  t.is(textAt(await boxes.phase('lacks', 'Failed'), 'status', 'reason'), 'StartupFailed');
  await boxes.patch('lacks', { spec: { command: ['sleep', 'infinity'] } });
  await boxes.phase('lacks', 'Running', 2);
});

test('A Sandbox is deleted when maxLifetime has passed, and stops when it was idle for idleTimeout', async (t) => {
  await boxes.post('short', { lifecycle: { maxLifetime: '1m', idleTimeout: '0s' } });
  await boxes.post('dozes', { lifecycle: { idleTimeout: '1m' }, command: NOTES });
  await boxes.phase('short', 'Running');
  await boxes.phase('dozes', 'Running');
  await boxes.once('short', 'is deleted', (box) => textAt(box, 'kind') !== 'Sandbox').catch(() => undefined);
  await boxes.gone('short');
  const dozing = await boxes.phase('dozes', 'Stopped');
  t.is(textAt(dozing, 'status', 'stopReason'), 'IdleTimeout');
  t.is(textAt(dozing, 'spec', 'state'), 'Stopped');
  await boxes.patch('dozes', { spec: { state: 'Running' } });
  await boxes.phase('dozes', 'Running', 2);
  t.is(await boxes.said('dozes', 2, '1\n2\n'), '1\n2\n');
});

test('Each start pins the newest versions of the Secrets that are mounted', async (t) => {
  const secrets = path('secrets', 'default');
  const secret = (value: string): object => ({ data: { WORD: Buffer.from(value).toString('base64') } });
  const made = await boxes.client().post(secrets, objectOf('Secret', 'words', secret('one')));
  t.is(made.status, 201, made.text);
  await boxes.post('mounts', { secrets: ['words'], command: sh('echo $WORD; exec sleep infinity') });
  const first = await boxes.phase('mounts', 'Running', 1);
  t.is(numberAt(first, 'status', 'secretVersions', 'words'), 1);
  t.regex(textAt(first, 'status', 'secretVersionIDs', 'words'), /\.1$/);
  await boxes.said('mounts', 1, 'one\n');
  const changed = await boxes.client().merge(`${secrets}/words`, { spec: secret('two') });
  t.is(changed.status, 200, changed.text);
  await boxes.patch('mounts', { spec: { state: 'Stopped' } });
  await boxes.phase('mounts', 'Stopped');
  await boxes.patch('mounts', { spec: { state: 'Running' } });
  t.is(numberAt(await boxes.phase('mounts', 'Running', 2), 'status', 'secretVersions', 'words'), 2);
  await boxes.said('mounts', 2, 'two\n');
});

test('What is not carried out yet is refused by its name', async (t) => {
  for (const [field, spec] of [
    ['spec.image', { image: 'python:3.12' }],
    ['spec.args', { image: 'svc/agent-tools', args: ['x'] }],
  ] as const) {
    const answer = await boxes.client().post(SANDBOXES, objectOf('Sandbox', 'not-yet', spec));
    t.is(answer.status, 501, field);
    t.true(answer.text.includes(field), answer.text);
  }
});
