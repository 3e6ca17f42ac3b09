/** Jobs and Sandboxes in containers, from outside: the same answers as on the embedded engine. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { pack } from 'tar-stream';
import { openDaemon } from '../../src/engines/compute/docker/daemon.js';
import { objectOf, numberAt, path, textAt, valueAt, type Answer } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { openSandboxes, SANDBOXES, type Sandboxes } from './sandboxes.js';

const host = process.env['DOCKER_TEST_HOST'];
/** The operator allows this one address of all that is not the public internet. */
const ALLOWED = '127.0.0.6';
const JOBS = path('jobs', 'default');

if (host === undefined) {
  test.skip('docker (needs a daemon at DOCKER_TEST_HOST: ops/setup-docker.sh start)', (t) => t.pass());
} else {
  let boxes: Sandboxes;
  const releases: (() => Promise<void>)[] = [];
  test.before(async (t) => {
    t.timeout(120_000);
    const env = {
      TROUPE_COMPUTE: 'docker',
      DOCKER_HOST: host,
      TROUPE_EGRESS_ALLOW: `${ALLOWED}/32`,
      TROUPE_DOCKER_IMAGES: 'svc/agent-tools=troupe-test/tools:1',
    };
    boxes = await openSandboxes({ teardown: (release) => void releases.push(release) }, { env });
  });
  test.after.always(async () => {
    for (const release of releases) await release();
  });

  const exec = (name: string, script: string): Promise<Answer> =>
    boxes.client().post(`${SANDBOXES}/${name}/exec`, { command: ['sh', '-c', script] });

  test.serial('a Job runs in a container, is logged, and leaves its outputs', async (t) => {
    t.timeout(120_000);
    // The service is ready before a busy daemon has first answered.
    await until(
      'the daemon has said what it is',
      async () => textAt((await boxes.client().get('/readyz')).body, 'compute', 'name') === 'docker',
    );
    const job = {
      // Of the daemon's own, not of the catalog.
      image: 'troupe-test/tools:1',
      command: ['sh', '-c', 'echo hello; echo kept >/svc/outputs/file; exit 0'],
      resources: SMALL,
    };
    t.is((await boxes.client().post(JOBS, objectOf('Job', 'greets', job))).status, 201);
    const ended = await until(
      'the Job ends',
      async () => {
        const { body } = await boxes.client().get(`${JOBS}/greets`);
        const phase = textAt(body, 'status', 'phase');
        return phase === 'Succeeded' || phase === 'Failed' ? body : undefined;
      },
      60_000,
    );
    t.is(textAt(ended, 'status', 'phase'), 'Succeeded', JSON.stringify(valueAt(ended, 'status')));
    t.true((await boxes.client().get(`${JOBS}/greets/logs`)).text.includes('hello'));
  });

  test.serial('a Job with a network reaches through its proxy what it may, and its log says so', async (t) => {
    t.timeout(120_000);
    const web = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('hello\n');
    });
    web.listen(0, ALLOWED);
    await once(web, 'listening');
    const at = `${ALLOWED}:${(web.address() as AddressInfo).port}`;
    const ask = `ask() { exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT %s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $1 >&3; head -n 1 <&3 | cut -d' ' -f2; }`;
    const job = {
      image: 'svc/agent-tools',
      command: ['bash', '-c', `${ask}; ask ${at}; ask 169.254.169.254:80; cut -d: -f1 /proc/net/dev | tail -n +3`],
      resources: SMALL,
      network: { egress: { policy: 'Open' } },
    };
    t.is((await boxes.client().post(JOBS, objectOf('Job', 'reaches', job))).status, 201);
    const said = await until(
      'what it reached',
      async () => {
        const { status, text } = await boxes.client().get(`${JOBS}/reaches/logs`);
        return status === 200 && text.includes('lo\n') ? text : undefined;
      },
      60_000,
    );
    web.close();
    t.regex(said, /^200\n403\n +lo\n$/);
    const lines = await until(
      'the log of connections',
      async () => {
        const { status, text } = await boxes.client().get(`${JOBS}/reaches/logs?container=network`);
        return status === 200 && text.split('\n').length > 2 ? text : undefined;
      },
      60_000,
    );
    t.true(lines.includes(`CONNECT ${at} allowed`) && lines.includes('CONNECT 169.254.169.254:80 refused'), lines);
  });

  test.serial(
    'an AllowList refuses what it does not name, and under Deny there is no proxy and no word of one',
    async (t) => {
      t.timeout(120_000);
      const ask = `ask() { { exec 3<>/dev/tcp/127.0.0.1/3128; } 2>/dev/null || { echo none; return; }; printf 'CONNECT %s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $1 >&3; head -n 1 <&3 | cut -d' ' -f2; }`;
      const said = async (name: string, egress: object): Promise<string> => {
        const script = `${ask}; ask example.com:443; ask ${ALLOWED}:80; env | grep -ci proxy; true`;
        const command = ['bash', '-c', script];
        const job = { image: 'svc/agent-tools', command, resources: SMALL, network: { egress } };
        t.is((await boxes.client().post(JOBS, objectOf('Job', name, job))).status, 201);
        await until(
          `${name} ends`,
          async () => textAt((await boxes.client().get(`${JOBS}/${name}`)).body, 'status', 'phase') === 'Succeeded',
          60_000,
        );
        return (await boxes.client().get(`${JOBS}/${name}/logs`)).text;
      };
      t.regex(await said('listed', { policy: 'AllowList', allow: ['*.example.org'] }), /^403\n403\n[1-9]\d*\n$/);
      t.is(await said('denied', { policy: 'Deny' }), 'none\nnone\n0\n');
    },
  );

  test.serial('a container that floods the socket of its API takes no connection of another', async (t) => {
    t.timeout(120_000);
    const opened = '$| = 1; sub opened { IO::Socket::UNIX->new($ENV{SVC_API_SOCKET}) }';
    const perl = (script: string): object => ({
      image: 'svc/agent-tools',
      command: ['perl', '-MIO::Socket::UNIX', '-e', `${opened} ${script}`],
      resources: SMALL,
    });
    const said = (name: string): Promise<string> =>
      until(
        `what ${name} said`,
        async () => {
          const { status, text } = await boxes.client().get(`${JOBS}/${name}/logs`);
          return status === 200 && text.includes('\n') ? text : undefined;
        },
        60_000,
      );
    const flood = `$SIG{PIPE} = 'IGNORE'; my @all = grep { $_ } map { opened() } 1 .. 40; $_->blocking(0) for @all; syswrite $_, "GET /flood HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" x 2000 for @all; print "sent\\n"; sleep 600`;
    t.is((await boxes.client().post(JOBS, objectOf('Job', 'floods', perl(flood)))).status, 201);
    t.is(await said('floods'), 'sent\n');
    const ask = `for my $with ("", "Authorization: Bearer $ENV{SVC_TOKEN}\\r\\n") {
      my $s = opened() or die "$!"; print $s "GET /once HTTP/1.1\\r\\nHost: x\\r\\n$with\\r\\n"; print substr(<$s>, 9, 3), $with ? "\\n" : " " }`;
    t.is((await boxes.client().post(JOBS, objectOf('Job', 'asks', perl(ask)))).status, 201);
    t.is(await said('asks'), '401 404\n', 'with its token from its own box it may ask');
    t.is((await boxes.client().remove(`${JOBS}/floods`)).status, 200);
  });

  test.serial('the home of a Workspace is in its Volume when it stops, and there again when it starts', async (t) => {
    t.timeout(180_000);
    const [volumes, workspaces] = [path('volumes', 'default'), path('workspaces', 'default')];
    const at = `${workspaces}/desk`;
    const phase = (wanted: string): Promise<unknown> =>
      until(
        `it is ${wanted}`,
        async () => textAt((await boxes.client().get(at)).body, 'status', 'phase') === wanted,
        90_000,
      );
    const inside = async (script: string): Promise<string> =>
      textAt((await boxes.client().post(`${at}/exec`, { command: ['sh', '-c', script] })).body, 'stdout');
    t.is((await boxes.client().post(volumes, objectOf('Volume', 'home', {}))).status, 201);
    const desk = { resources: SMALL, volume: 'home', image: 'svc/agent-tools' };
    t.is((await boxes.client().post(workspaces, objectOf('Workspace', 'desk', desk))).status, 201);
    await phase('Running');
    t.is(await inside('pwd; echo precious > ~/file; chmod 640 ~/file; ln -s file ~/link'), '/home/svc\n');
    t.is((await boxes.client().merge(at, { spec: { state: 'Stopped' } })).status, 200);
    await phase('Stopped');
    t.is(textAt((await boxes.client().get(`${volumes}/home`)).body, 'status', 'revision'), '1');
    t.is((await boxes.client().merge(at, { spec: { state: 'Running' } })).status, 200);
    await phase('Running');
    t.is(await inside('cat ~/link; stat -c %a ~/file'), 'precious\n640\n');
    t.is((await boxes.client().remove(at)).status, 200);
    await until('it is gone', async () => (await boxes.client().get(at)).status === 404, 90_000);
  });

  test.serial('a Sandbox runs commands, keeps files and its image over a stop, and outlives the service', async (t) => {
    t.timeout(180_000);
    const { docker } = await openDaemon(host);
    const moving = `troupe-test/moving-${process.pid}:1`;
    const [repo = '', tag = ''] = moving.split(':');
    const tools = docker.getImage('troupe-test/tools:1');
    const { Id: digest } = await tools.inspect();
    await tools.tag({ repo, tag });
    await boxes.post('kept', { image: moving });
    t.deepEqual(valueAt(await boxes.phase('kept', 'Running', 1), 'status', 'image'), {
      reference: moving,
      digest,
      user: 'root',
    });
    const answer = await exec('kept', 'echo precious >/workspace/file; echo out; echo err >&2; exit 3');
    t.is(answer.status, 200, answer.text);
    t.is(textAt(answer.body, 'stdout'), 'out\n');
    t.is(textAt(answer.body, 'stderr'), 'err\n');
    t.is(numberAt(answer.body, 'exitCode'), 3);
    t.is(
      (await boxes.client().ask('PUT', `${SANDBOXES}/kept/files?path=/workspace/sent`, { raw: 'sent' })).status,
      200,
    );
    t.is((await boxes.client().get(`${SANDBOXES}/kept/files?path=/workspace/file`)).text, 'precious\n');
    // Killed, not asked: what runs is adopted.
    await boxes.service.kill();
    await boxes.service.start();
    t.is(textAt((await exec('kept', 'cat /workspace/sent')).body, 'stdout'), 'sent');
    const ask = `my $s = IO::Socket::UNIX->new($ENV{SVC_API_SOCKET}) or die "$!";
      print $s "GET /once HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer $ENV{SVC_TOKEN}\\r\\n\\r\\n"; print substr(<$s>, 9, 3)`;
    t.is(
      textAt((await exec('kept', `perl -MIO::Socket::UNIX -e '${ask}'`)).body, 'stdout'),
      '404',
      'its token is known',
    );
    await boxes.patch('kept', { spec: { state: 'Stopped' } });
    await boxes.phase('kept', 'Stopped');
    // Its name stands for another image now, which is for those that come.
    const maker = await docker.createContainer({ Image: digest, Cmd: ['true'] });
    const news = pack();
    news.entry({ name: 'moved' }, 'yes\n');
    news.finalize();
    await maker.putArchive(news as unknown as NodeJS.ReadableStream, { path: '/' });
    const { Id: other } = (await maker.commit({ repo, tag })) as { Id: string };
    await maker.remove();
    t.teardown(() => docker.getImage(moving).remove({ force: true }));
    await boxes.patch('kept', { spec: { state: 'Running' } });
    t.is(textAt(await boxes.phase('kept', 'Running', 2), 'status', 'image', 'digest'), digest);
    const found = await exec('kept', 'cat /workspace/file /workspace/sent; ls /moved 2>/dev/null');
    t.is(textAt(found.body, 'stdout'), 'precious\nsent');
    const job = { image: moving, command: ['cat', '/moved'], resources: SMALL };
    t.is((await boxes.client().post(JOBS, objectOf('Job', 'moved', job))).status, 201);
    const ended = await until('the Job ends', async () => {
      const { body } = await boxes.client().get(`${JOBS}/moved`);
      return textAt(body, 'status', 'phase') === 'Succeeded' ? body : undefined;
    });
    t.deepEqual(valueAt(ended, 'status', 'image'), { reference: moving, digest: other });
    t.is((await boxes.client().get(`${JOBS}/moved/logs`)).text, 'yes\n');
    await boxes.client().remove(`${SANDBOXES}/kept`);
    await boxes.gone('kept');
  });
}
