/** Commands in a Sandbox from outside: what they see, what they leave behind, and when none can run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text as readAll } from 'node:stream/consumers';
import test from 'ava';
import { listAt, objectOf, numberAt, path, textAt, type Answer } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { SANDBOXES, shareSandboxes, type Sandboxes } from './sandboxes.js';

let boxes: Sandboxes;

test.before(async (t) => {
  t.timeout(120_000);
  boxes = await shareSandboxes();
});

test.after.always(() => boxes?.service.close());

function exec(name: string, script: string, more: object = {}, query = ''): Promise<Answer> {
  return boxes.client().post(`${SANDBOXES}/${name}/exec${query}`, { command: ['sh', '-c', script], ...more });
}

test('a command sees the Sandbox’s environment, Secrets and files, and its answer is its own', async (t) => {
  const secret = objectOf('Secret', 'mounted', { stringData: { TOKEN: 'for-the-sandbox-only' } });
  t.is((await boxes.client().post(path('secrets', 'default'), secret)).status, 201);
  await boxes.post('seen', { secrets: ['mounted'], env: [{ name: 'GREETING', value: 'hello' }] });
  await boxes.phase('seen', 'Running');
  const answer = await exec(
    'seen',
    'echo "$GREETING $TOKEN $MORE"; pwd; cat; cat /run/secrets/TOKEN; echo err >&2; exit 3',
    {
      env: { MORE: 'more' },
      stdin: 'typed\n',
    },
  );
  t.is(answer.status, 200, answer.text);
  t.is(textAt(answer.body, 'stdout'), 'hello for-the-sandbox-only more\n/workspace\ntyped\nfor-the-sandbox-only');
  t.is(textAt(answer.body, 'stderr'), 'err\n');
  t.is(numberAt(answer.body, 'exitCode'), 3);
});

test('what a command writes to /workspace is there at the next epoch, and a command of an earlier epoch is told so', async (t) => {
  await boxes.post('kept');
  await boxes.phase('kept', 'Running', 1);
  t.is((await exec('kept', 'echo precious > /workspace/file')).status, 200);
  await boxes.patch('kept', { spec: { state: 'Stopped' } });
  await boxes.phase('kept', 'Stopped');
  const stopped = await exec('kept', 'true');
  t.is(stopped.status, 409);
  t.is(textAt(stopped.body, 'reason'), 'SandboxNotRunning');
  await boxes.patch('kept', { spec: { state: 'Running' } });
  await boxes.phase('kept', 'Running', 2);
  t.is(textAt((await exec('kept', 'cat /workspace/file')).body, 'stdout'), 'precious\n');
  const late = await exec('kept', 'true', {}, '?epoch=1');
  t.is(late.status, 409, late.text);
  t.regex(textAt(late.body, 'message'), /epoch 1 is over; the Sandbox is at epoch 2/);
  const early = await exec('kept', 'true', {}, '?epoch=7');
  t.is(early.status, 409, early.text);
  t.regex(textAt(early.body, 'message'), /epoch 7 does not exist; the Sandbox runs at epoch 2/);
  t.regex(textAt(early.body, 'fix'), /epoch 2/);
});

test('a command that is sent with the Sandbox itself waits for its start, but not for what will never run', async (t) => {
  await boxes.post('eager');
  const first = await exec('eager', 'echo at once', {}, '?wait=30s');
  t.is(first.status, 200, first.text);
  t.is(textAt(first.body, 'stdout'), 'at once\n');
  // More than the machine has.
  await boxes.post('huge', { resources: { ...SMALL, memory: '900Gi' } });
  const never = await exec('huge', 'true', {}, '?wait=60s');
  t.is(textAt(never.body, 'reason'), 'SandboxFailed', never.text);
  t.is((await exec('huge', 'true', {}, '?wait=5h')).status, 400);
});

test('the example of an agent does its work, finds it again after a stop, and leaves no Sandbox behind', async (t) => {
  const { url, key } = boxes.client();
  const agent = spawn(process.execPath, ['ops/examples/agent-sandbox/agent.mjs'], { env: { URL: url, KEY: key } });
  const said = Promise.all([readAll(agent.stdout), readAll(agent.stderr)]);
  const [code] = (await once(agent, 'exit')) as [number];
  const [out, err] = await said;
  t.is(code, 0, err);
  t.is(out.match(/^\[exit code \d+\]$/gm)?.join(' '), '[exit code 1] [exit code 0] [exit code 0]', out);
  t.true(out.includes('result: passed') && out.endsWith('$ cat result\npassed\n[exit code 0]\n'), out);
  await boxes.gone('agent');
});

test('a Sandbox in which a command runs is busy, and idle after it', async (t) => {
  await boxes.post('busy');
  await boxes.phase('busy', 'Running');
  const running = exec('busy', 'while ! [ -e /tmp/go ]; do sleep 0.1; done');
  await boxes.once('busy', 'is busy', (box) => textAt(box, 'status', 'activity') === 'Busy');
  t.is((await exec('busy', 'touch /tmp/go')).status, 200);
  t.is((await running).status, 200);
  await boxes.once('busy', 'is idle', (box) => textAt(box, 'status', 'activity') === 'Idle');
});

test('a command that takes too long is ended, and a program that is not there is told of', async (t) => {
  await boxes.post('limits');
  await boxes.phase('limits', 'Running');
  const long = await exec('limits', 'sleep 600', { timeout: '1s' });
  t.is(long.status, 200, long.text);
  t.regex(long.text, /"timedOut":true/);
  const missing = await boxes.client().post(`${SANDBOXES}/limits/exec`, { command: ['/no/such/program'] });
  t.is(missing.status, 422, missing.text);
  t.regex(missing.text, /CommandNotFound/);
  for (const route of ['exec', 'processes']) {
    const nowhere = await boxes
      .client()
      .post(`${SANDBOXES}/limits/${route}`, { command: ['true'], workingDir: '/no/such/place' });
    t.is(nowhere.status, 422, nowhere.text);
    t.is(textAt(listAt(nowhere.body, 'details', 'causes')[0], 'field'), 'workingDir');
  }
  // Longer than a frame of the engine, and than the kernel takes.
  for (const length of [5_000, 70_000, 400_000]) {
    for (const name of ['x'.repeat(length), `/${'y/'.repeat(length / 2)}`]) {
      for (const below of ['exec', 'processes']) {
        const refused = await boxes.client().post(`${SANDBOXES}/limits/${below}`, { command: [name] });
        t.is(refused.status, 422, `${below} ${length} ${refused.text.slice(0, 1_000)}`);
        t.regex(refused.text, /Command(NotFound|NotExecutable)/);
        t.regex(refused.text, new RegExp(`${Buffer.byteLength(name)} bytes`));
        t.true(refused.text.length < 4_000, below);
      }
    }
  }
  const words = await boxes.client().post(`${SANDBOXES}/limits/exec`, { command: ['true', 'z'.repeat(400_000)] });
  t.is(words.status, 422, words.text);
  t.regex(words.text, /too long/);
  const nobody = await boxes.client().post(`${SANDBOXES}/nothing/exec`, { command: ['true'] });
  t.is(nobody.status, 404);
});

test('of long commands a list of many processes has the beginnings, and other requests are answered meanwhile', async (t) => {
  await boxes.post('wordy', { resources: { cpu: '500m', memory: '256Mi', disk: '16Mi' } });
  await boxes.phase('wordy', 'Running');
  const processes = `${SANDBOXES}/wordy/processes`;
  // Together more than the runner may say in one message.
  const words = Array.from({ length: 15 }, () => 'x'.repeat(120_000));
  for (let i = 0; i < 20; i += 1) {
    const started = await boxes.client().post(processes, { command: ['true', ...words] });
    t.is(started.status, 201, started.text.slice(0, 1_000));
  }
  const listed = await boxes.client().get(processes);
  t.is(listed.status, 200, listed.text.slice(0, 1_000));
  const items = listAt(listed.body, 'items');
  t.is(items.length, 20);
  for (const item of items) t.regex(listAt(item, 'command').join(' '), /^true x{4000,4100}…$/);
});

test('a command that is asked for wrongly is refused with every field that is wrong, and no value of its environment', async (t) => {
  const asked = { command: [], comand: ['true'], env: { TOKEN: 271828, '1st': 'hush' }, stdin: 314159, timeout: '0s' };
  const refused = await boxes.client().post(`${SANDBOXES}/nothing/exec`, asked);
  t.is(refused.status, 422, refused.text);
  const fields = listAt(refused.body, 'details', 'causes').map((cause) => textAt(cause, 'field'));
  t.deepEqual(fields.toSorted(), ['comand', 'command', 'env.1st', 'env.TOKEN', 'stdin', 'timeout']);
  t.regex(textAt(refused.body, 'message'), /^the request is not valid: .*unknown field "comand"/);
  t.notRegex(refused.text, /271828|314159|hush/);
});

test('a command neither takes a variable of the service nor a field twice', async (t) => {
  for (const route of ['exec', 'processes']) {
    const taken = await boxes
      .client()
      .post(`${SANDBOXES}/nothing/${route}`, { command: ['true'], env: { SVC_TOKEN: 'x' } });
    t.is(taken.status, 422, taken.text);
    t.is(textAt(listAt(taken.body, 'details', 'causes')[0], 'field'), 'env.SVC_TOKEN');
    const twice = await fetch(`${boxes.client().url}${SANDBOXES}/nothing/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${boxes.client().key}`, 'content-type': 'application/json' },
      body: '{"command":["true"],"command":["false"]}',
    });
    t.is(twice.status, 422);
    t.regex(await twice.text(), /duplicate field/);
  }
});

test('a Sandbox that is not up yet says so, and takes the command in a moment', async (t) => {
  await boxes.post('soon');
  let answer = await exec('soon', 'echo up');
  for (let tries = 0; tries < 600 && answer.status === 409; tries += 1) {
    t.is(textAt(answer.body, 'reason'), 'SandboxStarting');
    answer = await exec('soon', 'echo up');
  }
  t.is(textAt(answer.body, 'stdout'), 'up\n', answer.text);
});

test('the log of a Sandbox is its main program’s, of each epoch that is kept, and follows until that ends', async (t) => {
  const logs = (query = ''): Promise<Answer> => boxes.client().get(`${SANDBOXES}/talks/logs${query}`);
  await boxes.post('talks', { command: ['sh', '-c', 'echo main $SVC_EPOCH; exec sleep infinity'] });
  const followed = logs('?follow=true');
  await boxes.phase('talks', 'Running', 1);
  // It runs before it has said anything.
  await until('it has spoken', async () => (await logs()).text === 'main 1\n');
  await boxes.patch('talks', { spec: { state: 'Stopped' } });
  t.is((await followed).text, 'main 1\n');
  await boxes.phase('talks', 'Stopped');
  await boxes.patch('talks', { spec: { state: 'Running' } });
  await boxes.phase('talks', 'Running', 2);
  t.is((await logs('?epoch=1')).text, 'main 1\n');
  t.is((await logs('?follow=true&epoch=1')).text, 'main 1\n');
  t.is((await logs('?epoch=3')).status, 404);
  t.is((await logs('?container=nobody')).status, 400);
  t.is((await boxes.client().get(`${SANDBOXES}/nobody/logs`)).status, 404);
});
