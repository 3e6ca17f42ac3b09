/** What a program of a Job sees: environment, secrets, index, directories, init and sidecars. */
import test from 'ava';
import { objectOf, path, textAt } from '../e2e/client.js';
import { openJobs, outcomeOf, messageOf, sh, SMALL, attemptLines, type Jobs } from './jobs.js';

let jobs: Jobs;
test.before(async () => {
  jobs = await openJobs();
});
test.after.always(async () => {
  await jobs.close();
});

async function secret(name: string, stringData: Record<string, string>): Promise<void> {
  const answer = await jobs.client().post(path('secrets', 'default'), objectOf('Secret', name, { stringData }));
  if (answer.status !== 201) throw new Error(answer.text);
}

test('env, args and workingDir reach the program, and nothing of the service does', async (t) => {
  const job = await jobs.run('sees', {
    command: ['sh', '-c', 'echo "$GREETING|$1|$PWD"; env'],
    args: ['zero', 'first argument'],
    env: [{ name: 'GREETING', value: 'hello\nthere' }],
    workingDir: '/workspace/deep/down',
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  const log = await jobs.log('sees');
  t.true(log.startsWith('hello\nthere|first argument|/workspace/deep/down\n'), log);
  t.notRegex(log, /TROUPE_|DATABASE_URL|AVA|npm_/);
});

test('a secret is an environment variable by key, and mounted a 0400 file that no answer shows', async (t) => {
  await secret('keys', { TOKEN: 'hush-1', 'file.pem': 'hush-2' });
  const job = await jobs.run('secretive', {
    command: sh(
      'echo "$PICKED" | rev; echo "$TOKEN" | rev; cd /run/secrets; for f in *; do stat -c "%n %a %u" $f; rev $f; echo; done; id -u; if echo x > new; then exit 9; fi 2>/dev/null',
    ),
    env: [{ name: 'PICKED', valueFrom: { secretKeyRef: { name: 'keys', key: 'file.pem' } } }],
    secrets: ['keys'],
  });
  t.is(outcomeOf(job), 'Succeeded Completed', await jobs.log('secretive'));
  t.is(await jobs.log('secretive'), '2-hsuh\n1-hsuh\nTOKEN 400 0\n1-hsuh\nfile.pem 400 0\n2-hsuh\n0\n');
  t.notRegex(JSON.stringify(job) + JSON.stringify(await jobs.attempts('secretive')), /hush/);
});

test('a key that the Secret lacks fails the Attempt and is named', async (t) => {
  await secret('poor', { ONE: '1' });
  const job = await jobs.run('poorly', {
    command: ['true'],
    backoffLimit: 0,
    env: [{ name: 'TWO', valueFrom: { secretKeyRef: { name: 'poor', key: 'TWO' } } }],
  });
  t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
  t.regex(messageOf(job), /SecretKeyNotFound.*poor.*TWO/);
});

test('a Secret that does not exist is refused at create, by its field', async (t) => {
  const spec = { command: ['true'], secrets: ['absent'] };
  const answer = await jobs.client().post(path('jobs', 'default'), objectOf('Job', 'absent', spec));
  t.true(answer.status === 422 || answer.status === 404, answer.text);
  t.regex(answer.text, /spec\.secrets\[0\]/);
});

test('each index has its number in SVC_INDEX and JOB_COMPLETION_INDEX', async (t) => {
  const command = ['sh', '-c', 'echo $SVC_INDEX $JOB_COMPLETION_INDEX of $SVC_COMPLETIONS at $SVC_EPOCH'];
  const job = await jobs.run('numbered', { command, completions: 3, parallelism: 3 });
  t.is(textAt(job, 'status', 'completedIndexes'), '0-2');
  const logs = await Promise.all([0, 1, 2].map((index) => jobs.log('numbered', `index=${index}`)));
  t.deepEqual(logs, ['0 0 of 3 at 1\n', '1 1 of 3 at 1\n', '2 2 of 3 at 1\n']);
});

test('init runs before the program in the same files, with a log of its own', async (t) => {
  const job = await jobs.run('prepared', {
    initCommand: { command: sh('echo preparing; echo made > /workspace/it') },
    command: ['cat', '/workspace/it'],
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  t.is(await jobs.log('prepared'), 'made\n');
  t.is(await jobs.log('prepared', 'container=init'), 'preparing\n');
});

test('an init that fails fails the Attempt as InitFailed, and the program never runs', async (t) => {
  const job = await jobs.run('unprepared', {
    initCommand: { command: sh('echo no; exit 3') },
    command: ['echo', 'ran'],
    backoffLimit: 1,
  });
  t.is(outcomeOf(job), 'Failed BackoffLimitExceeded');
  t.regex(messageOf(job), /InitFailed/);
  t.deepEqual(attemptLines(await jobs.attempts('unprepared')), ['0.1 Failed InitFailed', '0.2 Failed InitFailed']);
  t.is(await jobs.log('unprepared', 'container=init'), 'no\n');
  t.is(await jobs.log('unprepared'), '');
});

test('an init that takes longer than its timeout is ended, as InitFailed', async (t) => {
  const job = await jobs.run('slow-init', {
    initCommand: { command: ['sleep', '600'], timeout: '1s' },
    command: ['true'],
    backoffLimit: 0,
  });
  t.regex(messageOf(job), /InitFailed.*1 s/);
});

test('a sidecar is there before the program, shares its files, and is stopped after it', async (t) => {
  const job = await jobs.run('accompanied', {
    sidecars: [
      {
        name: 'helper',
        command: sh(
          'trap "echo stopped; exit 0" TERM; echo "$MINE"; echo up > /workspace/helper; while :; do sleep 0.1; done',
        ),
        env: [{ name: 'MINE', value: 'own' }],
      },
    ],
    command: sh('until [ -s /workspace/helper ]; do sleep 0.05; done; cat /workspace/helper'),
  });
  t.is(outcomeOf(job), 'Succeeded Completed');
  t.is(await jobs.log('accompanied'), 'up\n');
  // Its own `sleep` is asked to stop as well, which some shells remark on.
  t.regex(await jobs.log('accompanied', 'container=helper'), /^own\n(.*\n)?stopped\n/);
});

test('a program that does not exist fails the Attempt with a reason that names it', async (t) => {
  const job = await jobs.run('no-program', { command: ['/no/such/program'] });
  t.is(outcomeOf(job), 'Failed CommandNotFound');
  t.regex(messageOf(job), /: main: executable \\"\/no\/such\/program\\" not found/);
  t.is((await jobs.attempts('no-program')).length, 1, 'nothing would make it exist');
});

test('work cannot see other work: neither its processes nor its files', async (t) => {
  const spec = {
    resources: SMALL,
    command: sh('echo mine > /workspace/x; ls /workspace /tmp; ls -d /proc/[0-9]* | wc -l'),
  };
  await Promise.all([jobs.run('apart-a', spec), jobs.run('apart-b', spec)]);
  for (const name of ['apart-a', 'apart-b']) {
    const log = await jobs.log(name);
    t.regex(log, /^\/tmp:\n\n\/workspace:\nx\n[1-9]\n$/);
  }
});

test("variables are expanded in command, args and env, and a written reference stays the shell's", async (t) => {
  const job = await jobs.run('expands', {
    env: [{ name: 'PLACE', value: 'part-$(SVC_INDEX)' }],
    command: ['sh', '-ec', 'echo $(PLACE) "$@" $$(pwd) $(whoami)', 'sh'],
    args: ['of-$(SVC_JOB_NAME)'],
  });
  t.is(outcomeOf(job), 'Succeeded Completed', messageOf(job));
  t.is(await jobs.log('expands'), 'part-0 of-expands /workspace root\n');
});
