/** Logs over HTTP: whole, by index and epoch, the last lines, since a time, with times, and as they grow. */
import test from 'ava';
import { until } from '../e2e/until.js';
import { ATTEMPTS, JOBS, openJobs, outcomeOf, sh, type Jobs } from './jobs.js';
import { textAt } from '../e2e/client.js';

let jobs: Jobs;
test.before(async () => {
  jobs = await openJobs();
});
test.after.always(async () => {
  await jobs.close();
});

/** A follower: what it has read so far, and whether the stream has ended by itself. */
async function follow(route: string): Promise<{ text(): string; readonly ended: Promise<string>; stop(): void }> {
  const { url, key } = jobs.client();
  const stop = new AbortController();
  const response = await fetch(new URL(route, url), {
    headers: { authorization: `Bearer ${key}` },
    signal: stop.signal,
  });
  let text = '';
  const ended = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      text += '(cut)';
    }
    return text;
  })();
  return { text: () => text, ended, stop: () => stop.abort() };
}

test('a follower gets lines as they are written, from the first on, and its stream ends with the work', async (t) => {
  const rest = 'for i in 2 3 4 5 6; do echo line $i; done; printf "no newline at the end"; exit 0';
  // A shell may say on stderr that its `sleep` was stopped as well.
  await jobs.post('talks', {
    command: sh(`exec 2>/dev/null; trap '${rest}' TERM; echo line 1; while :; do sleep 0.1; done`),
  });
  const follower = await follow(`${JOBS}/talks/logs?follow=true`);
  // The rest is only said when the program is stopped.
  await until('the first line came', () => follower.text() === 'line 1\n', 60_000);
  t.is((await jobs.client().merge(`${JOBS}/talks`, { spec: { state: 'Cancelled' } })).status, 200);
  t.is(await follower.ended, 'line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nno newline at the end');
  t.is(await jobs.log('talks'), await follower.ended);
});

test('a follower may come before the Job has a place, and may leave in the middle', async (t) => {
  await jobs.post('talks-later', { command: sh('echo here; sleep 600'), state: 'Suspended' });
  const follower = await follow(`${JOBS}/talks-later/logs?follow=true`);
  const leaver = await follow(`${JOBS}/talks-later/logs?follow=true`);
  t.is((await jobs.client().merge(`${JOBS}/talks-later`, { spec: { state: 'Running' } })).status, 200);
  await until('both read', () => follower.text() === 'here\n' && leaver.text() === 'here\n', 60_000);
  leaver.stop();
  t.is((await jobs.client().merge(`${JOBS}/talks-later`, { spec: { state: 'Cancelled' } })).status, 200);
  t.is(await follower.ended, 'here\n');
});

test('tail gives the last lines, and tail=0 none', async (t) => {
  await jobs.run('counts', { command: ['seq', '1', '5000'] });
  t.is(await jobs.log('counts', 'tail=3'), '4998\n4999\n5000\n');
  t.is(await jobs.log('counts', 'tail=0'), '');
  t.is(await jobs.log('counts', 'tailLines=2&limitBytes=7'), '4999\n50', 'as Kubernetes names them');
  t.is((await jobs.log('counts')).split('\n').length, 5001);
  t.is((await jobs.log('counts', 'tail=9999')).split('\n').length, 5001);
  for (const bad of ['tail=-1', 'tail=x', 'since=yesterday', 'index=x', 'taillines=1', 'epoch=-1']) {
    const answer = await jobs.client().get(`${JOBS}/counts/logs?${bad}`);
    t.is(answer.status, 400, `${bad}: ${answer.text}`);
  }
});

test('timestamps come before each line in order, and since leaves out what is older', async (t) => {
  await jobs.run('dates', { command: sh('echo one; sleep 1.2; echo two') });
  const lines = (await jobs.log('dates', 'timestamps=true')).trimEnd().split('\n');
  t.is(lines.length, 2);
  const [first = '', second = ''] = lines;
  t.regex(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z one$/);
  t.true(Date.parse(second.slice(0, 24)) - Date.parse(first.slice(0, 24)) >= 1100, lines.join());
  const between = new Date(Date.parse(second.slice(0, 24)) - 500).toISOString();
  t.is(await jobs.log('dates', `since=${between}`), 'two\n');
  t.is(await jobs.log('dates', `since=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`), '');
  t.is(await jobs.log('dates', 'since=1h'), 'one\ntwo\n');
});

test('stdout and stderr are one log in the order of writing; bytes that are no text come as they are', async (t) => {
  await jobs.run('both', { command: sh('echo out; sleep 0.1; echo err >&2; sleep 0.1; printf "\\377\\001\\n"') });
  const { url, key } = jobs.client();
  const response = await fetch(new URL(`${JOBS}/both/logs`, url), { headers: { authorization: `Bearer ${key}` } });
  const bytes = Buffer.from(await response.arrayBuffer());
  t.is(bytes.toString('latin1'), 'out\nerr\n\xff\x01\n');
});

test('each index and each epoch has a log of its own; without an index the answer asks for one', async (t) => {
  const job = await jobs.run('many', {
    command: sh('echo $SVC_INDEX.$SVC_EPOCH; [ $SVC_INDEX.$SVC_EPOCH != 1.1 ]'),
    completions: 2,
    parallelism: 2,
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  t.is(await jobs.log('many', 'index=0'), '0.1\n');
  t.is(await jobs.log('many', 'index=1'), '1.2\n');
  t.is(await jobs.log('many', 'index=1&epoch=1'), '1.1\n');
  t.is((await jobs.client().get(`${JOBS}/many/logs?index=1&epoch=3`)).status, 404);
  t.is((await jobs.client().get(`${JOBS}/many/logs?index=2`)).status, 404);
  const vague = await jobs.client().get(`${JOBS}/many/logs`);
  t.is(textAt(vague.body, 'reason'), 'OutputIndexRequired', vague.text);
  const [attempt] = await jobs.attempts('many');
  t.is((await jobs.client().get(`${ATTEMPTS}/${attempt?.name}/logs`)).text, '0.1\n');
});
