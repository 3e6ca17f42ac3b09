/** What goes into Jobs and comes out of them: programs from blobs, inputs, outputs. */
import test from 'ava';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, listAt, numberAt, path, textAt, valueAt } from '../e2e/client.js';
import { JOBS, openJobs, outcomeOf, messageOf, phaseOf, sh, attemptLines, type Jobs } from './jobs.js';

let jobs: Jobs;
test.before(async () => {
  jobs = await openJobs();
});
test.after.always(async () => {
  await jobs.close();
});

async function bytesOf(route: string): Promise<{ status: number; bytes: Buffer; headers: Headers }> {
  const { url, key } = jobs.client();
  const response = await fetch(new URL(route, url), { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const hex = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** What tar makes of these files, packed by `pack` (such as `--zstd`). */
function archive(files: Readonly<Record<string, string>>, ...pack: readonly string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-archive-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text, { mode: 0o755 });
    const made = spawnSync('tar', ['-C', directory, ...pack, '-cf', '-', '.']);
    if (made.status !== 0) throw new Error(made.stderr.toString());
    return made.stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function unpacked(bytes: Buffer): string {
  const listed = spawnSync('tar', ['--zstd', '-tf', '-'], { input: bytes });
  return listed.status === 0 ? listed.stdout.toString() : listed.stderr.toString();
}

async function upload(bytes: Buffer): Promise<string> {
  const answer = await jobs.client().ask('POST', path('blobs', 'default'), {
    raw: bytes,
    contentType: 'application/octet-stream',
    headers: { 'x-content-sha256': hex(bytes) },
  });
  if (answer.status !== 201 && answer.status !== 200) throw new Error(answer.text);
  return textAt(answer.body, 'digest');
}

test('a file and a directory are collected; the file comes as it is, the directory as tar.zst', async (t) => {
  const job = await jobs.run('gives', {
    command: sh(
      'head -c 100000 /dev/zero | tr "\\0" x > /workspace/big; mkdir -p /workspace/tree/sub; echo a > /workspace/tree/a; echo b > /workspace/tree/sub/b; echo kept > /svc/outputs/kept',
    ),
    outputs: [
      { name: 'big', path: '/workspace/big' },
      { name: 'tree', path: '/workspace/tree' },
    ],
  });
  t.is(outcomeOf(job), 'Succeeded Completed', messageOf(job));
  t.deepEqual(
    listAt(job, 'status', 'outputs').map((output) => textAt(output, 'name')),
    ['big', 'tree', 'outputs'],
  );
  const list = await jobs.client().get(`${JOBS}/gives/outputs`);
  t.deepEqual(
    listAt(list.body, 'items').map((output) => [textAt(output, 'name'), numberAt(output, 'index')]),
    [
      ['big', 0],
      ['tree', 0],
      ['outputs', 0],
    ],
  );

  const big = await bytesOf(`${JOBS}/gives/outputs/big`);
  t.is(big.status, 200);
  t.is(big.bytes.toString(), 'x'.repeat(100_000));
  const listed = listAt(list.body, 'items')[0];
  t.is(textAt(listed, 'sha256').replace(/^sha256:/, ''), hex(big.bytes));
  t.is(numberAt(listed, 'size'), 100_000);
  t.is(big.headers.get('etag'), `"${hex(big.bytes)}"`);

  const tree = await bytesOf(`${JOBS}/gives/outputs/tree`);
  t.regex(tree.headers.get('content-disposition') ?? '', /tree\.tar\.zst/);
  t.regex(unpacked(tree.bytes), /^\.\/\n\.\/a\n\.\/sub\/\n\.\/sub\/b\n$/);
  t.regex(unpacked((await bytesOf(`${JOBS}/gives/outputs/outputs`)).bytes), /\.\/kept/);
});

test('outputs of an index are asked for by index, and without one the answer says so', async (t) => {
  await jobs.run('gives-many', {
    command: sh('echo $SVC_INDEX > /workspace/n'),
    completions: 3,
    parallelism: 3,
    outputs: [{ name: 'n', path: '/workspace/n' }],
  });
  const got = await Promise.all([0, 1, 2].map((index) => bytesOf(`${JOBS}/gives-many/outputs/n?index=${index}`)));
  t.deepEqual(
    got.map(({ bytes }) => bytes.toString()),
    ['0\n', '1\n', '2\n'],
  );
  const vague = await jobs.client().get(`${JOBS}/gives-many/outputs/n`);
  t.is(textAt(vague.body, 'reason'), 'OutputIndexRequired', vague.text);
  const beyond = await jobs.client().get(`${JOBS}/gives-many/outputs/n?index=3`);
  t.is(beyond.status, 404);

  const list = (query: string): Promise<Answer> => jobs.client().get(`${JOBS}/gives-many/outputs${query}`);
  const indexesOf = ({ body }: Answer): readonly number[] =>
    listAt(body, 'items').map((output) => numberAt(output, 'index'));
  t.deepEqual(indexesOf(await list('')), [0, 1, 2]);
  t.deepEqual(indexesOf(await list('?index=1')), [1]);
  for (const [query, status] of [
    ['?index=3', 404],
    ['?index=-1', 400],
    ['?index=x', 400],
  ] as const) {
    t.is((await list(query)).status, status, query);
  }
});

test('an output that is missing, or leads outside, fails no Job; asking for it is OutputNotFound', async (t) => {
  const job = await jobs.run('gives-less', {
    command: sh('ln -s /etc/passwd /workspace/sly; ln -s /workspace /workspace/round'),
    outputs: [
      { name: 'missing', path: '/workspace/not-there' },
      { name: 'sly', path: '/workspace/sly' },
    ],
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  for (const name of ['missing', 'sly']) {
    const answer = await jobs.client().get(`${JOBS}/gives-less/outputs/${name}`);
    t.is(answer.status, 404, name);
    t.is(textAt(answer.body, 'reason'), 'OutputNotFound', answer.text);
  }
});

for (const [kind, pack] of [
  ['tar', []],
  ['tar.gz', ['-z']],
  ['tar.zst', ['--zstd']],
] as const) {
  test(`source from a blob (${kind}) is unpacked into the working directory and runs`, async (t) => {
    const blob = await upload(
      archive({ 'main.sh': `#!/bin/sh\necho I am ${kind}\ncat data\n`, data: 'and data\n' }, ...pack),
    );
    const name = `source-${kind.replaceAll('.', '-')}`;
    const job = await jobs.run(name, { source: { blob }, command: ['./main.sh'], backoffLimit: 0 });
    t.is(outcomeOf(job), 'Succeeded Completed', messageOf(job));
    t.is(await jobs.log(name), `I am ${kind}\nand data\n`);
  });
}

test('work can write beside its source, and a workingDir of its own gets it', async (t) => {
  const blob = await upload(archive({ 'main.sh': '#!/bin/sh\necho made > made && cat made && pwd\n' }));
  const job = await jobs.run('source-writes', {
    source: { blob },
    workingDir: '/workspace/app',
    command: ['./main.sh'],
    backoffLimit: 0,
  });
  t.is(outcomeOf(job), 'Succeeded Completed', messageOf(job));
  t.is(await jobs.log('source-writes'), 'made\n/workspace/app\n');
});

test('a source blob that nobody has stored, or that is no archive, fails the Attempt with its digest', async (t) => {
  const absent = `sha256:${'0'.repeat(64)}`;
  const plain = await upload(Buffer.from('#!/bin/sh\necho alone\n'));
  const [first, second] = await Promise.all(
    [absent, plain].map((blob, each) => jobs.run(`source-bad-${each}`, { source: { blob }, command: ['true'] })),
  );
  t.is(outcomeOf(first), 'Failed InvalidSource');
  t.is(outcomeOf(second), 'Failed InvalidSource');
  for (const name of ['source-bad-0', 'source-bad-1']) t.is((await jobs.attempts(name)).length, 1, 'no other try');
  t.regex(messageOf(first), /blob sha256:0{64} does not exist/);
  t.regex(messageOf(second), new RegExp(`InvalidSource.*${plain}`));
});

test("another Job's file and directory outputs are read-only inputs", async (t) => {
  await jobs.run('giver', {
    command: sh('echo from $SVC_INDEX > /workspace/f; mkdir /workspace/d; echo deep > /workspace/d/x'),
    completions: 2,
    parallelism: 2,
    outputs: [
      { name: 'file', path: '/workspace/f' },
      { name: 'dir', path: '/workspace/d' },
    ],
  });
  const job = await jobs.run('taker', {
    inputs: [
      { name: 'one', output: { job: 'giver', name: 'file', index: 1 } },
      { name: 'tree', output: { job: 'giver', name: 'dir' } },
    ],
    command: sh(
      'cat /svc/inputs/one; cat /svc/inputs/tree/x; for f in /svc/inputs/one /svc/inputs/tree/x /svc/inputs/tree/new; do if (echo x > $f) 2>/dev/null; then echo wrote $f; fi; done',
    ),
    backoffLimit: 0,
  });
  t.is(outcomeOf(job), 'Succeeded Completed', messageOf(job));
  t.is(await jobs.log('taker'), 'from 1\ndeep\n');
});

test('an input from an output that is not there fails the Attempt as OutputNotFound, and names it', async (t) => {
  await jobs.run('giver-of-nothing', { command: ['true'] });
  const job = await jobs.run('taker-of-nothing', {
    inputs: [{ name: 'x', output: { job: 'giver-of-nothing', name: 'wanted' } }],
    command: ['true'],
  });
  t.is(outcomeOf(job), 'Failed OutputNotFound');
  t.regex(messageOf(job), /OutputNotFound.*giver-of-nothing.*wanted/);
  t.is((await jobs.attempts('taker-of-nothing')).length, 1, 'a Job that has ended writes no more outputs');
});

test('an input from an output of a Job that still runs is tried again, until that Job has ended', async (t) => {
  await jobs.post('slow-giver', { command: ['sleep', '600'] });
  await jobs.once('slow-giver', 'runs', (job) => numberAt(job, 'status', 'active') === 1);
  await jobs.post('early-taker', {
    inputs: [{ name: 'x', output: { job: 'slow-giver', name: 'outputs' } }],
    command: ['true'],
  });
  const refused = await jobs.once('early-taker', 'says what it waits for', (job) =>
    /OutputNotReady/.test(messageOf(job)),
  );
  t.regex(messageOf(refused), /OutputNotReady.*slow-giver/);
  t.not(phaseOf(refused), 'Failed');
  const cancelled = await jobs.client().merge(`${JOBS}/slow-giver`, { spec: { state: 'Cancelled' } });
  t.is(cancelled.status, 200);
  t.is(outcomeOf(await jobs.ended('early-taker')), 'Failed OutputNotFound');
});

for (const [what, url] of [
  ['a loopback address', 'https://127.0.0.1/x'],
  ['a loopback name', 'https://localhost/x'],
  ['a loopback address in disguise', 'https://[::ffff:127.0.0.1]/x'],
  ['a private address', 'https://10.0.0.1/x'],
  ['the address of machine metadata', 'https://169.254.169.254/latest/meta-data'],
] as const) {
  test(`an input from ${what} fails the Attempt, with a reason that says why`, async (t) => {
    const name = `from-${what.replaceAll(' ', '-')}`;
    const job = await jobs.run(name, {
      inputs: [{ name: 'x', url: { url } }],
      command: ['echo', 'ran'],
      backoffLimit: 0,
    });
    t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
    const [attempt] = await jobs.attempts(name);
    t.is(attempt?.phase, 'Failed');
    t.regex(messageOf(job), /address/i);
    t.is(valueAt(attempt?.body, 'status', 'timings', 'commandStartedTime'), undefined);
    t.is(attemptLines(await jobs.attempts(name)).length, 1);
  });
}
