/** Images of a registry that asks for a login, in containers: who has one gets them, and nobody else by that. */
import test, { type ExecutionContext } from 'ava';
import { openDaemon } from '../../src/engines/compute/docker/daemon.js';
import { objectOf, path, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';
import { openRegistry, type TestRegistry } from '../support/registry.js';
import { openSandboxes, type Sandboxes } from './sandboxes.js';

const host = process.env['DOCKER_TEST_HOST'];
const JOBS = path('jobs', 'default');
const SECRETS = path('secrets', 'default');
const WORKSPACES = path('workspaces', 'default');
/** No password of the registry. */
const GUESSED = 'guessed-37';

if (host === undefined) {
  test.skip('registry (needs a daemon at DOCKER_TEST_HOST: ops/setup-docker.sh start)', (t) => t.pass());
} else {
  const { docker } = await openDaemon(host);
  let registry: TestRegistry;
  let boxes: Sandboxes;
  /** In the registry and not with the daemon. */
  let image: string;
  let digest: string;
  const releases: (() => Promise<void>)[] = [];

  test.before(async (t) => {
    t.timeout(120_000);
    registry = await openRegistry();
    releases.push(() => registry.close());
    image = `${registry.host}/team/private:1`;
    digest = await push(image);
    const env = {
      TROUPE_COMPUTE: 'docker',
      DOCKER_HOST: host,
      TROUPE_DOCKER_REGISTRIES: registry.host,
      TROUPE_DOCKER_IMAGES: 'svc/agent-tools=troupe-test/tools:1',
    };
    boxes = await openSandboxes({ teardown: (release) => void releases.push(release) }, { env });
    await secret('puller', { ...registry.login });
    await secret('stranger', { ...registry.login, password: GUESSED });
    const auth = Buffer.from(`${registry.login.username}:${registry.login.password}`).toString('base64');
    await secret('config', {
      '.dockerconfigjson': JSON.stringify({ auths: { [`http://${registry.host}/v2/`]: { auth } } }),
    });
    await secret('elsewhere', { ...registry.login, registry: 'registry.example' });
    const opaque = objectOf('Secret', 'opaque', { stringData: { ...registry.login } });
    await boxes.client().post(SECRETS, opaque);
  });
  test.after.always(async () => {
    for (const release of releases.toReversed()) await release();
    await docker
      .getImage(image)
      .remove({ force: true })
      .catch(() => undefined);
  });

  async function secret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    const made = await boxes.client().post(SECRETS, objectOf('Secret', name, { type: 'Registry', stringData }));
    if (made.status !== 201) throw new Error(made.text);
  }

  /** Makes an image that nobody else has, and leaves it in the registry alone; answers its digest there. */
  async function push(name: string): Promise<string> {
    const [, repo = '', tag = ''] = /^(.*):([^:]*)$/.exec(name) ?? [];
    const maker = await docker.createContainer({ Image: 'troupe-test/tools:1', Cmd: ['true'] });
    const { Id: id } = (await maker.commit({ repo, tag, changes: `LABEL only=${name}` })) as { Id: string };
    await maker.remove();
    const pushing = await docker
      .getImage(name)
      .push({ authconfig: { ...registry.login, serveraddress: registry.host } });
    await new Promise<void>((done, failed) => {
      docker.modem.followProgress(pushing, (error: unknown) => (error == null ? done() : failed(error)));
    });
    const { RepoDigests } = await docker.getImage(id).inspect();
    await docker.getImage(name).remove({ force: true });
    return RepoDigests.find((each) => each.startsWith(`${repo}@`))?.split('@')[1] ?? '';
  }

  interface Ended {
    readonly phase: string;
    /** All that the Job and its Attempts say. */
    readonly said: string;
    readonly log: string;
  }

  let jobs = 0;
  async function run(spec: object): Promise<Ended> {
    jobs += 1;
    const name = `pulls-${jobs}`;
    const job = { command: ['echo', 'ran'], resources: SMALL, backoffLimit: 0, ...spec };
    const made = await boxes.client().post(JOBS, objectOf('Job', name, job));
    if (made.status !== 201) throw new Error(made.text);
    const { text, body } = await until(
      'the Job ends',
      async () => {
        const answer = await boxes.client().get(`${JOBS}/${name}`);
        return ['Succeeded', 'Failed'].includes(textAt(answer.body, 'status', 'phase')) ? answer : undefined;
      },
      60_000,
    );
    const attempts = await boxes.client().get(`${path('attempts', 'default')}?labelSelector=svc.dev/job=${name}`);
    const log = (await boxes.client().get(`${JOBS}/${name}/logs`)).text;
    return { phase: textAt(body, 'status', 'phase'), said: text + attempts.text, log };
  }

  function refused(t: ExecutionContext, { phase, said }: Ended, why: RegExp): void {
    t.is(phase, 'Failed', said);
    t.regex(said, why);
    for (const password of [registry.login.password, GUESSED]) t.false(said.includes(password), said);
  }

  test.serial(
    'an image of a private registry is refused without a login, with a wrong one, and with one for elsewhere',
    async (t) => {
      t.timeout(120_000);
      for (const names of [[], ['elsewhere']]) {
        const said = /ImagePullFailed: [^(]*no basic auth credentials; the imagePullSecrets of a Job or Workspace/;
        refused(t, await run({ image, imagePullSecrets: names }), said);
      }
      refused(t, await run({ image, imagePullSecrets: ['stranger'] }), /ImagePullFailed: (?!.*may name a login)/);
      refused(
        t,
        await run({ image, imagePullSecrets: ['opaque'] }),
        /ImagePullFailed.*secret \\"opaque\\" is not of type Registry/,
      );
    },
  );

  test.serial(
    'who has a login gets it, by tag and by digest, and nobody else gets what that has brought',
    async (t) => {
      t.timeout(180_000);
      const ran = await run({ image, imagePullSecrets: ['puller'] });
      t.is(ran.phase, 'Succeeded', ran.said);
      t.is(ran.log, 'ran\n');
      t.true(ran.said.includes(digest), 'it is pinned by what the registry calls it');
      const { Id: id } = await docker.getImage(image).inspect();
      // By every name that the daemon has for it.
      for (const name of [image, `${registry.host}/team/private@${digest}`, id]) {
        refused(t, await run({ image: name }), /ImagePullFailed|ImageNotFound/);
        refused(t, await run({ image: name, imagePullSecrets: ['stranger'] }), /ImagePullFailed|ImageNotFound/);
      }
      await boxes.service.kill();
      await boxes.service.start();
      refused(t, await run({ image }), /ImagePullFailed|ImageNotFound/);
      const again = await run({ image: `${registry.host}/team/private@${digest}`, imagePullSecrets: ['config'] });
      t.is(again.phase, 'Succeeded', again.said);
    },
  );

  test.serial('a Workspace starts on an image that its login gets', async (t) => {
    t.timeout(120_000);
    const spec = { ephemeral: true, tools: ['SSH'], resources: SMALL, image, imagePullSecrets: ['puller'] };
    const made = await boxes.client().post(WORKSPACES, objectOf('Workspace', 'desk', spec));
    t.is(made.status, 201, made.text);
    const at = `${WORKSPACES}/desk`;
    await until(
      'it runs',
      async () => textAt((await boxes.client().get(at)).body, 'status', 'phase') === 'Running',
      60_000,
    );
    const answer = await boxes.client().post(`${at}/exec`, { command: ['echo', 'here'] });
    t.is(textAt(answer.body, 'stdout'), 'here\n', answer.text);
    await boxes.client().remove(at);
    await until('it is gone', async () => (await boxes.client().get(at)).status === 404, 60_000);
  });

  test.serial('an image whose registry is this machine, a neighbour or cloud metadata is not asked for', async (t) => {
    t.timeout(120_000);
    const api = new URL(boxes.service.url).host;
    for (const other of [
      api,
      '169.254.169.254',
      '10.0.0.1:5000',
      'localhost:5000',
      `127.0.0.2:${registry.host.split(':')[1]}`,
    ]) {
      refused(
        t,
        await run({ image: `${other}/team/private:1` }),
        /ImageNotFound.*at a [a-z -]+ address, and TROUPE_DOCKER_REGISTRIES/,
      );
    }
  });
}
