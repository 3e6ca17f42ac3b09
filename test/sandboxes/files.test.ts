/** Files of a Sandbox from outside: what goes in comes out, what breaks off leaves nothing, and no path leads out. */
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import test from 'ava';
import { Client as Database } from 'pg';
import * as tar from 'tar-stream';
import { listAt, numberAt, objectOf, path, textAt, valueAt, type Answer } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { archiveOf, brokenDownload, parsed } from './files-support.js';
import { condition, SANDBOXES, shareSandboxes, type Sandboxes } from './sandboxes.js';

const BOX = 'files';
/** Of the disk inside, bytes. */
const DISK = 64 * 1024 * 1024;

let boxes: Sandboxes;

test.before(async (t) => {
  t.timeout(120_000);
  boxes = await shareSandboxes();
  await boxes.post(BOX, { resources: { cpu: '1', memory: '256Mi', disk: '64Mi' } });
  await boxes.phase(BOX, 'Running');
});

test.after.always(() => boxes?.service.close());

interface Ask {
  readonly method?: string;
  readonly below?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly box?: string;
}

async function ask(at: string | undefined, asked: Ask = {}): Promise<Answer & { readonly bytes: Buffer }> {
  const query = new URLSearchParams({ ...(at === undefined ? {} : { path: at }), ...asked.query });
  const { url, key } = boxes.client();
  const response = await fetch(`${url}${SANDBOXES}/${asked.box ?? BOX}/${asked.below ?? 'files'}?${query.toString()}`, {
    method: asked.method ?? 'GET',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream', ...asked.headers },
    ...(asked.body === undefined ? {} : { body: asked.body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.length > 100_000 ? '' : bytes.toString();
  return { status: response.status, headers: response.headers, bytes, text, body: parsed(text) };
}

const put = (at: string, body: Uint8Array | string, more: Ask = {}): ReturnType<typeof ask> =>
  ask(at, { ...more, method: 'PUT', body });

async function inside(script: string, box = BOX): Promise<string> {
  const answer = await boxes.client().post(`${SANDBOXES}/${box}/exec`, { command: ['sh', '-c', script] });
  if (answer.status !== 200) throw new Error(answer.text);
  return textAt(answer.body, 'stdout');
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

test('20 MB come back as they went in, by ranges too, and are known by their hash', async (t) => {
  const bytes = randomBytes(20 * 1024 * 1024);
  const hash = sha256(bytes);
  const at = '/workspace/deep/er/big';
  const written = await put(at, bytes, { headers: { 'x-content-sha256': hash }, query: { mode: '750' } });
  t.is(written.status, 200, written.text);
  t.is(textAt(written.body, 'sha256'), hash);
  t.is(numberAt(written.body, 'size'), bytes.length);
  t.is(textAt(written.body, 'mode'), '0750');
  t.is(await inside(`sha256sum < ${at}; stat -c %a ${at}; ls -A /workspace/deep/er`), `${hash}  -\n750\nbig\n`);

  const read = await ask(at);
  t.is(read.status, 200);
  t.true(read.bytes.equals(bytes));
  t.is(read.headers.get('etag'), `"${hash}"`);
  t.is(read.headers.get('content-length'), String(bytes.length));
  const head = await ask(at, { method: 'HEAD' });
  t.is(head.headers.get('content-length'), String(bytes.length));
  t.is((await ask(at, { headers: { 'if-none-match': `"${hash}"` } })).status, 304);

  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=1000000-1999999', 1_000_000, 2_000_000],
    ['bytes=20971000-', 20_971_000, bytes.length],
    ['bytes=-7', bytes.length - 7, bytes.length],
  ] as const) {
    const part = await ask(at, { headers: { range } });
    t.is(part.status, 206, range);
    t.is(part.headers.get('content-range'), `bytes ${from}-${to - 1}/${bytes.length}`);
    t.true(part.bytes.equals(bytes.subarray(from, to)), range);
  }
  const beyond = await ask(at, { headers: { range: `bytes=${bytes.length}-` } });
  t.is(beyond.status, 416);
  t.is(beyond.headers.get('content-range'), `bytes */${bytes.length}`);

  // What changes it inside changes what is told of it, though neither its name nor its size are others.
  await inside(`printf X | dd of=${at} conv=notrunc bs=1 2>/dev/null`);
  const changed = Buffer.concat([Buffer.from('X'), bytes.subarray(1)]);
  t.is((await ask(at, { method: 'HEAD' })).headers.get('etag'), `"${sha256(changed)}"`);
  t.true((await ask(at)).bytes.equals(changed));
  t.is((await ask(at, { method: 'DELETE' })).status, 200);
  t.is((await ask(at)).status, 404);
});

test('a small file is written over as a whole, keeps its mode, and an empty one is a file', async (t) => {
  const at = '/workspace/small';
  t.is((await put(at, 'first', { query: { mode: '0600' } })).status, 200);
  t.is(textAt((await put(at, 'second')).body, 'mode'), '0600');
  t.is((await ask(at)).text, 'second');
  t.is((await ask(at, { headers: { range: 'bytes=1-3' } })).text, 'eco');
  t.is(textAt((await put('/workspace/empty', '')).body, 'mode'), '0644');
  const empty = await ask('/workspace/empty');
  t.is(empty.status, 200);
  t.is(empty.headers.get('content-length'), '0');
  // The kernel tells no size of these.
  t.regex((await ask('/proc/self/status')).text, /^Name:/);
});

test('bytes with another hash than promised leave the old file as it was', async (t) => {
  for (const size of [10, 1_000_000]) {
    const at = `/workspace/summed/${size}`;
    t.is((await put(at, 'old')).status, 200);
    const refused = await put(at, randomBytes(size), { headers: { 'x-content-sha256': sha256('other') } });
    t.is(refused.status, 422, refused.text);
    t.is(textAt(refused.body, 'reason'), 'SHA256Mismatch');
    t.is((await ask(at)).text, 'old');
  }
  t.is(await inside('ls -A /workspace/summed'), '10\n1000000\n');
});

test('a write and a delete whose conditions do not hold change nothing, and say so as 412', async (t) => {
  const tagOf = (text: string | Uint8Array): string => `"${sha256(text)}"`;
  for (const size of [10, 1_000_000]) {
    const at = `/workspace/conditions/${size}`;
    const first = randomBytes(size);
    const none = { headers: { 'if-none-match': '*' } };
    t.is((await put(at, first, { headers: { 'if-match': '*' } })).status, 412, 'there is nothing to match');
    t.is((await put(at, first, none)).status, 200);
    const second = await put(at, randomBytes(size), none);
    t.is(second.status, 412, second.text);
    t.is(textAt(second.body, 'reason'), 'PreconditionFailed');
    for (const wrong of [tagOf('other'), 'W/' + tagOf(first), sha256(first), '"x"']) {
      t.is((await put(at, 'lost', { headers: { 'if-match': wrong } })).status, 412, wrong);
      t.is((await ask(at, { method: 'DELETE', headers: { 'if-match': wrong } })).status, 412, wrong);
    }
    t.is((await put(at, 'lost', { headers: { 'if-none-match': `"x", W/${tagOf(first)}` } })).status, 412);
    t.is((await ask(at, { method: 'HEAD' })).headers.get('etag'), tagOf(first), 'it is as it was');
    t.is((await put(at, 'next', { headers: { 'if-match': `"x", ${tagOf(first)}` } })).status, 200);
    t.is((await ask(at, { method: 'DELETE', headers: { 'if-none-match': tagOf('next') } })).status, 412);
    t.is((await ask(at)).text, 'next');
    t.is((await ask(at, { method: 'DELETE', headers: { 'if-match': tagOf('next') } })).status, 200);
  }
  t.is(await inside('ls -A /workspace/conditions'), '');
  await inside('ln -s /workspace/nowhere /workspace/conditions/dangling');
  const dangling = { headers: { 'if-none-match': '*' } };
  t.is((await put('/workspace/conditions/dangling', 'x', dangling)).status, 200, 'the file that it leads to is new');
  const directory = await put('/workspace/conditions', 'x');
  t.regex(textAt(directory.body, 'fix'), /^Add the name of the file/);
});

test('of changes with the same valid If-Match one is answered 200, by whatever name they reach the file', async (t) => {
  const at = '/workspace/raced/file';
  t.is((await put(at, 'first')).status, 200);
  await inside('cd /workspace/raced; ln -s file linked; ln -s . here; ln file other');
  const names = [at, '/workspace/raced/../raced/file', '/workspace/raced/linked', '/workspace/raced/here/file'];
  for (let round = 0; round < 4; round += 1) {
    const base = `base ${round}`;
    t.is((await put(at, base)).status, 200);
    const headers = { 'if-match': `"${sha256(base)}"` };
    const answers = await Promise.all([
      ...names.map((name, index) => put(name, index === 1 ? randomBytes(400_000) : `${index}`, { headers })),
      ask(at, { method: 'DELETE', headers }),
    ]);
    t.deepEqual(
      answers.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 412, 412, 412, 412],
      `${round}`,
    );
  }
});

test('an upload that is cut leaves nothing, neither the file nor a part of it', async (t) => {
  await inside('mkdir -p /workspace/cut');
  const { url, key } = boxes.client();
  await new Promise<void>((resolve) => {
    const upload = request(`${url}${SANDBOXES}/${BOX}/files?path=/workspace/cut/file`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-length': 8_000_000 },
    });
    upload.on('error', () => resolve());
    upload.write(randomBytes(3_000_000), () => {
      void until('the upload has begun', async () => {
        if ((await inside('ls -A /workspace/cut')) === '') throw new Error('nothing is there yet');
        return true;
      }).then(() => upload.destroy());
    });
  });
  await until('nothing of it is left', async () => {
    const left = await inside('ls -A /workspace/cut');
    if (left !== '') throw new Error(left);
    return true;
  });
  t.is((await ask('/workspace/cut/file')).status, 404);
});

const NAMES = ['with\nnewline', "it's", '-rf', '--help', 'ünï ✓', '$(touch pwned)', 'a*b', 'tab\there', ' ', 'ends\n'];

test('names are bytes and nothing else: newlines, quotes, dashes, blanks, shell', async (t) => {
  for (const name of NAMES) {
    const at = `/workspace/names/${name}`;
    t.is((await put(at, name)).status, 200, JSON.stringify(name));
    t.is((await ask(at)).text, name, JSON.stringify(name));
  }
  await inside('ln -s "to\nnowhere" "/workspace/names/link"; mkdir /workspace/names/dir');
  const listing = await ask('/workspace/names', { query: { list: 'true' } });
  t.is(listing.status, 200, listing.text);
  t.is(valueAt(listing.body, 'truncated'), false);
  const entries = listAt(listing.body, 'items');
  const names = entries.map((entry) => textAt(entry, 'name'));
  t.deepEqual(names, [...NAMES, 'link', 'dir'].toSorted());
  const named = (name: string): unknown => entries.find((entry) => textAt(entry, 'name') === name);
  t.is(textAt(named('link'), 'type'), 'Link');
  t.is(textAt(named('link'), 'target'), 'to\nnowhere');
  t.is(textAt(named('dir'), 'type'), 'Directory');
  t.is(textAt(named('-rf'), 'type'), 'File');
  t.is(numberAt(named('-rf'), 'size'), 3);
  t.is(textAt(named('-rf'), 'mode'), '0644');
  t.regex(textAt(named('-rf'), 'modifiedTime'), /^2\d{3}-\d\d-\d\dT/);
  const tarred = await ask('/workspace/names', { below: 'files/archive' });
  t.is(tarred.status, 200);
  const unpacked: string[] = [];
  const extract = tar.extract();
  extract.end(tarred.bytes);
  for await (const entry of extract) {
    unpacked.push(entry.header.name);
    entry.resume();
  }
  t.true(NAMES.every((name) => unpacked.includes(`./${name}`)));
  for (const name of NAMES) t.is((await ask(`/workspace/names/${name}`, { method: 'DELETE' })).status, 200);
  t.is(await inside('ls -A /workspace/names'), 'dir\nlink\n');
  t.is((await ask('/workspace/names', { method: 'DELETE' })).status, 200);
  t.is((await ask('/workspace/names', { query: { list: 'true' } })).status, 404);
});

test('no path and no link leads to a file that is not the Sandbox’s own', async (t) => {
  // The box has names of its own for all of them.
  const { dataDir } = boxes.service;
  t.is((await ask(`/workspace/../../../../../..${dataDir}/admin.key`)).status, 404);
  t.is((await ask('/workspace/../proc/1/root/workspace/../../etc/shadow')).status, 404);
  const before = await inside('cat /etc/passwd');
  t.is((await ask('/workspace/../../../etc/passwd')).text, before);
  await inside('ln -s / /workspace/root; ln -s /workspace/target /workspace/alias; echo old > /workspace/target');
  t.is((await ask(`/workspace/root${dataDir}/admin.key`)).status, 404);
  t.is((await put('/workspace/root/workspace/through', 'mine')).status, 200);
  t.is(await inside('cat /workspace/through'), 'mine');
  // A link is followed, and stays a link.
  t.is((await put('/workspace/alias', 'new')).status, 200);
  t.is(await inside('cat /workspace/target; readlink /workspace/alias'), 'new/workspace/target\n');
  const system = await put('/usr/bin/mine', 'x');
  t.is(system.status, 403, system.text);
  t.is((await ask('/', { method: 'DELETE' })).status, 400);
  t.is((await ask('/workspace/root', { method: 'DELETE' })).status, 200);
  t.is(await inside('cat /workspace/target'), 'new');
});

test('a mount point is not deleted, nor what holds one, nor anything in them', async (t) => {
  t.is((await put('/workspace/mounts/kept', 'kept')).status, 200);
  const holding = '/workspace/ /workspace/mounts/.. //workspace /../workspace/. /run /dev'.split(' ');
  for (const mount of ['/workspace', ...holding]) {
    const refused = await ask(mount, { method: 'DELETE' });
    t.is(refused.status, 409, `${mount}: ${refused.text}`);
    t.regex(refused.text, /mount/, mount);
    t.is((await ask('/workspace/mounts/kept')).text, 'kept', mount);
  }
  t.is((await ask('/workspace/mounts', { method: 'DELETE' })).status, 200);
});

test('an archive is unpacked where it was asked for and nowhere else', async (t) => {
  const good = await archiveOf([
    { name: 'a/', type: 'directory' },
    { name: 'a/one', content: '1', mode: 0o755, uid: 12_345 },
    { name: 'two', content: '2' },
  ]);
  const answer = await ask('/workspace/in', { method: 'POST', below: 'files/archive', body: good });
  t.is(answer.status, 200, answer.text);
  t.is(numberAt(answer.body, 'files'), 2);
  t.is(await inside('cd /workspace/in; cat a/one two; stat -c "%a %u" a/one'), '12755 0\n');

  const bad = await archiveOf([
    { name: '../escaped', content: 'x' },
    { name: '/workspace/absolute', content: 'x' },
    { name: 'out', type: 'symlink', linkname: '/workspace/elsewhere' },
    { name: 'out/file', content: 'x' },
  ]);
  await inside('mkdir -p /workspace/elsewhere');
  const refused = await ask('/workspace/in', { method: 'POST', below: 'files/archive', body: bad });
  t.is(refused.status, 422, refused.text);
  t.regex(textAt(refused.body, 'message'), /escaped/);
  t.is(await inside('cd /workspace; ls -A elsewhere; ls escaped absolute 2>/dev/null; true'), '');

  const broken = await ask('/workspace/in', { method: 'POST', below: 'files/archive', body: randomBytes(10_000) });
  t.is(broken.status, 422, broken.text);
  const entries = good.subarray(0, good.length - 1_024);
  for (const part of [entries, Buffer.concat([entries, good.subarray(0, 100)]), entries.subarray(0, 512), '']) {
    const incomplete = await ask('/workspace/part', { method: 'POST', below: 'files/archive', body: part });
    t.is(incomplete.status, 422, `${part.length}`);
    t.regex(textAt(incomplete.body, 'message'), /a part of it is missing|Unexpected EOF|does not look like a tar/);
  }
  const zipped = { method: 'POST', below: 'files/archive', body: 'x', headers: { 'content-type': 'application/zip' } };
  t.is((await ask('/workspace/in', zipped)).status, 415);
  t.is((await ask('/workspace/in/two', { below: 'files/archive' })).status, 400);
  t.is((await ask('/workspace/nothing', { below: 'files/archive' })).status, 404);
});

test('an archive with directories that their owner may not write to is unpacked as it is, modes included', async (t) => {
  const tree = await archiveOf([
    { name: './', type: 'directory', mode: 0o755 },
    { name: './module/', type: 'directory', mode: 0o555 },
    { name: './module/one', content: '1', mode: 0o444 },
    { name: './module/sub/', type: 'directory', mode: 0o500 },
    { name: './module/sub/two', content: '2' },
    { name: `./module/${'long'.repeat(40)}/`, type: 'directory', mode: 0o555 },
    { name: `./module/${'long'.repeat(40)}/three`, content: '3' },
    { name: './tail', content: '4' },
  ]);
  const answer = await ask('/workspace/shut', { method: 'POST', below: 'files/archive', body: tree });
  t.is(answer.status, 200, answer.text);
  t.is(numberAt(answer.body, 'files'), 4);
  t.is(await inside('cd /workspace/shut; cat module/one module/sub/two module/long*/three tail'), '1234');
  const modes = 'cd /workspace/shut; stat -c %a . module module/sub module/long* module/one';
  t.is(await inside(modes), '755\n555\n500\n555\n444\n');

  // The directories that are there now are open while it is unpacked once more, but none beyond a link.
  const other = await archiveOf([
    { name: './module/', type: 'directory', mode: 0o755 },
    { name: './module/one', content: 'one' },
    { name: './module/sub/', type: 'directory', mode: 0o511 },
    { name: './module/sub/new %s \\ü/', type: 'directory', mode: 0o555 },
    { name: './module/sub/new %s \\ü/four', content: '4' },
  ]);
  for (const [archive, expected] of [
    [tree, '755\n555\n500\n555\n444\n'],
    [other, '755\n755\n511\n555\n644\n'],
    [other, '755\n755\n511\n555\n644\n'],
    [tree, '755\n555\n500\n555\n444\n'],
  ] as const) {
    const again = await ask('/workspace/shut', { method: 'POST', below: 'files/archive', body: archive });
    t.is(again.status, 200, again.text);
    t.is(await inside(modes), expected);
  }
  t.is(await inside('cd /workspace/shut; cat module/one module/sub/new*/four; chmod -R u+w .'), '14');
});

test('what does not fit is refused as too large, and leaves no part of itself', async (t) => {
  t.is((await put('/workspace/large', 'old')).status, 200);
  const { url, key } = boxes.client();
  const status = await new Promise<number>((resolve, reject) => {
    const upload = request(`${url}${SANDBOXES}/${BOX}/files?path=/workspace/large`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-length': DISK + 1 },
    });
    upload.on('response', ({ statusCode }) => {
      resolve(statusCode ?? 0);
      upload.destroy();
    });
    upload.on('error', reject);
    upload.flushHeaders();
  });
  t.is(status, 413);
  t.is((await ask('/workspace/large')).text, 'old');
  // Of so many bytes, one that is almost full.
  await inside('mkdir /tmp/full; head -c 60000000 /dev/zero > /tmp/full/most');
  for (const size of [200_000, 8_000_000]) {
    if (size < 1_000_000) await inside('head -c 100000000 /dev/zero > /tmp/full/rest');
    const full = await put('/tmp/full/more', randomBytes(size));
    t.is(full.status, 413, full.text);
    t.is(textAt(full.body, 'reason'), 'FileTooLarge');
    await inside('rm -f /tmp/full/rest');
  }
  t.is(await inside('ls -A /tmp/full; rm -r /tmp/full'), 'most\n');
});

test('what cannot be a path is the caller’s mistake, and said so', async (t) => {
  for (const at of [undefined, '', 'relative', '/a\0b', `/${'a'.repeat(5_000)}`]) {
    t.is((await ask(at)).status, 400, JSON.stringify(at));
  }
  await inside('mkfifo /workspace/pipe; touch /workspace/plain');
  t.is((await ask('/workspace/pipe')).status, 400);
  t.is((await ask('/workspace')).status, 400);
  t.is((await ask('/workspace/plain', { query: { list: 'true' } })).status, 400);
  t.is((await ask('/workspace', { query: { list: 'foo' } })).status, 400);
  const { url, key } = boxes.client();
  const authorization = `Bearer ${key}`;
  const sent = (query: string): Promise<Response> =>
    fetch(`${url}${SANDBOXES}/${BOX}/files?${query}`, { method: 'PUT', headers: { authorization }, body: 'x' });
  t.is((await sent('path=/workspace/%ff')).status, 400, 'bytes that are no text');
  t.is((await sent('path=/workspace/%EF%BF%BD%zz')).status, 200, 'that character itself, and a percent sign');
  t.is((await put('/workspace/plain/below', 'x')).status, 400);
  t.is((await put('/workspace/dir/', 'x')).status, 400);
  t.is((await put('/workspace', 'x')).status, 400);
  t.is((await put(`/workspace/${'n'.repeat(300)}`, 'x')).status, 400);
  t.is((await put('/workspace/x', 'x', { query: { mode: '9' } })).status, 400);
  t.is((await ask('/workspace', { method: 'POST' })).status, 405);
  t.is((await ask('/workspace', { below: 'files/other' })).status, 404);
  t.is((await ask('/workspace/missing', { method: 'DELETE' })).status, 404);
  t.is((await ask('/workspace/plain', { box: 'nobody' })).status, 404);
});

test('files belong to an epoch, and there are none of what does not run', async (t) => {
  const old = await ask('/workspace', { query: { list: 'true', epoch: '7' } });
  t.is(old.status, 409);
  t.is(textAt(old.body, 'reason'), 'SandboxNotRunning');
  t.is(numberAt(old.body, 'details', 'epoch'), 1);
  await boxes.post('stopped', { state: 'Stopped' });
  await boxes.phase('stopped', 'Stopped');
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await ask('/workspace/x', { box: 'stopped', method, ...(method === 'PUT' ? { body: 'x' } : {}) });
    t.is(answer.status, 409, answer.text);
  }
});

test('a download is cut, and never ended as if it were whole, when its file changes or the epoch ends', async (t) => {
  await boxes.post('cut', { resources: { cpu: '1', memory: '128Mi', disk: '128Mi' } });
  const box = await boxes.phase('cut', 'Running');
  t.regex(textAt(box, 'status', 'image', 'digest'), /^sha256:[0-9a-f]{64}$/);
  const at = '/workspace/zeros';
  await inside(`head -c 50000000 /dev/zero > ${at}`, 'cut');
  t.true((await brokenDownload(boxes, 'cut', at, () => inside(`printf x >> ${at}`, 'cut'))) < 50_000_000);
  // The tar inside fills up with zeros what a file has lost, and goes on.
  await inside('mkdir /workspace/packed; head -c 40000000 /dev/zero | tr "\\0" x > /workspace/packed/a', 'cut');
  const shrink = (): Promise<unknown> => inside(': > /workspace/packed/a; echo x > /workspace/packed/b', 'cut');
  await brokenDownload(boxes, 'cut', '/workspace/packed', shrink, 'files/archive');
  const stop = async (): Promise<unknown> => {
    await boxes.patch('cut', { spec: { state: 'Stopped' } });
    return boxes.phase('cut', 'Stopped');
  };
  t.true((await brokenDownload(boxes, 'cut', at, stop)) < 50_000_001);
});

test('a Workspace has files by the same routes, with refusals of its own', async (t) => {
  const workspaces = path('workspaces', 'default');
  const spec = { ephemeral: true, resources: { cpu: '100m', memory: '64Mi', disk: '64Mi' } };
  const made = await boxes.client().post(workspaces, objectOf('Workspace', 'drawer', spec));
  t.is(made.status, 201, made.text);
  const at = `${workspaces}/drawer/files?path=/home/svc/notes&wait=30s`;
  const written = await boxes.client().ask('PUT', at, { raw: 'note', contentType: 'application/octet-stream' });
  t.is(written.status, 200, written.text);
  t.is((await boxes.client().get(at)).text, 'note');
  const other = await boxes.client().get(`${at}&epoch=9`);
  t.is(other.status, 409);
  t.is(textAt(other.body, 'reason'), 'Conflict');
  t.is(numberAt(other.body, 'details', 'epoch'), 1);
});

test('a listing of more than 10,000 is cut, and says so', async (t) => {
  await inside('mkdir /tmp/many; cd /tmp/many; seq 10001 | xargs touch');
  const many = await ask('/tmp/many', { query: { list: 'true' } });
  const listing: unknown = JSON.parse(many.bytes.toString());
  t.is(valueAt(listing, 'truncated'), true);
  t.is(listAt(listing, 'items').length, 10_000);
});

// Alone: meanwhile nothing else is saved either.
test.serial('what cannot be saved at a stop stays where it is, and is saved when it can be', async (t) => {
  const usage = async (bytes: number): Promise<void> => {
    const database = new Database({ connectionString: boxes.service.databaseUrl });
    await database.connect();
    await database.query('INSERT INTO blob_usage (org, bytes) VALUES ($1, 0) ON CONFLICT DO NOTHING', ['bootstrap']);
    await database.query('UPDATE blob_usage SET bytes = $2 WHERE org = $1', ['bootstrap', bytes]);
    await database.end();
  };
  await boxes.post('unsaved');
  await boxes.phase('unsaved', 'Running');
  t.is((await put('/workspace/precious', 'do not lose me', { box: 'unsaved' })).status, 200);
  await usage(100 * 2 ** 30);
  await boxes.patch('unsaved', { spec: { state: 'Stopped' } });
  const box = await boxes.once('unsaved', 'says that it is not saved', (seen) =>
    condition(seen, 'StateSaved').startsWith('False'),
  );
  t.is(textAt(box, 'status', 'phase'), 'Stopping');
  t.is(condition(box, 'StateSaved'), 'False CollectionFailed');
  t.is((await ask('/workspace/precious', { box: 'unsaved' })).status, 409);
  await usage(0);
  const stopped = await boxes.phase('unsaved', 'Stopped');
  t.is(condition(stopped, 'StateSaved'), 'True Saved');
  await boxes.patch('unsaved', { spec: { state: 'Running' } });
  await boxes.phase('unsaved', 'Running', 2);
  t.is((await ask('/workspace/precious', { box: 'unsaved' })).text, 'do not lose me');
});
