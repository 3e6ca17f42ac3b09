/** The catalogs of a running service: seen by every org, written by no client, and in step with their files after a SIGHUP. */
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API_GROUP } from '../../src/brand.js';
import { oneAfterAnother } from '../crash/one-after-another.js';
import { type Answer, client as clientWith, listAt, textAt } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const FILES = fileURLToPath(new URL('../../../ops/catalog', import.meta.url));
const VERSION = ['status', 'estimate', 'pricebookVersion'] as const;
const IN_SVC = `/apis/${API_GROUP}/v1/namespaces/svc`;

interface Catalogs {
  readonly service: Running;
  /** Of its catalogs. */
  readonly directory: string;
  readonly prices: string;
}

const inTurn = oneAfterAnother(async (scope): Promise<Catalogs> => {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-test-catalog-'));
  scope.teardown(() => rm(directory, { recursive: true, force: true }));
  await cp(FILES, directory, { recursive: true });
  const prices = join(directory, 'prices.yaml');
  await rename(join(directory, 'pricebook.yaml'), prices);
  const env = { TROUPE_CATALOG_DIR: directory, TROUPE_CATALOG_UNUSABLE: 'list', TROUPE_PRICEBOOK: prices };
  return { service: await startRunning(scope, { env }), directory, prices };
});

inTurn(
  'catalogs: read at the start, seen by all, written by no client, read again on SIGHUP, refused when they do not fit',
  async (t, { service, directory }) => {
    const owner = service.client();
    const made = await owner.post('/ops/v1/orgs', { name: 'second' });
    t.is(made.status, 201, made.text);
    const other = clientWith(service.url, (made.body as { key: string }).key);

    for (const [to, name] of [
      [`${IN_SVC}/models`, 'echo'],
      [`${IN_SVC}/images`, 'agent-tools'],
      [`${IN_SVC}/environments`, 'gsm8k'],
      [`/apis/${API_GROUP}/v1beta1/namespaces/svc/trainingruntimes`, 'sft'],
      [`/apis/${API_GROUP}/v1/offerings`, 'gpu-h100-80gb-8'],
    ] as const) {
      for (const client of [owner, other]) {
        const found = await client.get(`${to}/${name}`);
        t.is(found.status, 200, found.text);
        t.true((await client.get(to)).text.includes(`"name":"${name}"`));
        for (const [method, at] of [
          ['POST', to],
          ['PUT', `${to}/${name}`],
          ['PATCH', `${to}/${name}`],
          ['DELETE', `${to}/${name}`],
          ['DELETE', to],
        ] as const) {
          const answer = await client.ask(method, at, { body: found.body });
          t.is(answer.status, 405, `${method} ${at}: ${answer.text}`);
          t.is((answer.body as { reason: string }).reason, 'MethodNotAllowed');
          t.is(answer.headers.get('allow'), 'GET');
        }
      }
    }
    const intoSvc = await other.post(`${IN_SVC}/secrets`, { kind: 'Secret', metadata: { name: 'mine' }, spec: {} });
    t.is(intoSvc.status, 405, intoSvc.text);
    type Model = { readonly status: { readonly available: boolean }; readonly metadata: { resourceVersion: string } };
    const model = async (name: string): Promise<Model> => (await other.get(`${IN_SVC}/models/${name}`)).body as Model;
    await until('something serves the Model echo', async () => (await model('echo')).status.available);
    const echo = await model('echo');
    const why = { status: 'True', reason: 'Served' };
    t.like(echo.status, { available: true, conditions: [why, why] });
    const not = { status: 'False', reason: 'UpstreamUnavailable' };
    t.like((await model('haiku-4.5')).status, { available: false, conditions: [not, not] });

    const models = join(directory, 'models.yaml');
    const before = await readFile(models, 'utf8');
    const after = before
      .replace(/^kokoro-82m:\n(?: .*\n)*/m, '')
      .replace('displayName: Haiku 4.5', 'displayName: Haiku, changed')
      .concat('brand-new: { family: new }\n');
    t.not(after, before);
    await writeFile(models, after);
    service.signal('SIGHUP');
    await until(
      'the new model is there',
      async () => (await other.get(`${IN_SVC}/models/brand-new`)).status === 200,
      20_000,
    );
    await until(
      'the old one is gone',
      async () => (await other.get(`${IN_SVC}/models/kokoro-82m`)).status === 404,
      20_000,
    );
    t.true((await other.get(`${IN_SVC}/models/haiku-4.5`)).text.includes('Haiku, changed'));
    const same = await model('echo');
    t.is(same.metadata.resourceVersion, echo.metadata.resourceVersion, 'what did not change is not written');

    await writeFile(models, 'echo: { contextTokens: none }\nbrand-new: {}\n');
    service.signal('SIGHUP');
    await until(
      'the bad file is reported',
      async () => service.log().includes('models.yaml: echo: spec.contextTokens'),
      20_000,
    );
    t.is((await other.get(`${IN_SVC}/models/haiku-4.5`)).status, 200, 'the old catalog stays');
    t.true(service.alive());

    await service.kill();
    service.launch();
    await until('the start is refused', async () => !service.alive(), 60_000);
    t.regex(service.log(), /^models\.yaml: echo: spec\.contextTokens: .*$/m);
    await writeFile(models, before);
    await service.start();
    t.is((await owner.get(`${IN_SVC}/models/kokoro-82m`)).status, 200);
    t.is((await owner.get(`${IN_SVC}/models/brand-new`)).status, 404);
  },
);

inTurn(
  'what an object names is looked for in the catalog, by any name that it goes by and at the version that it has',
  async (t, { service }) => {
    const owner = service.client();
    const causes = async (kind: string, spec: object, version = 'v1'): Promise<string[]> => {
      const to = `/apis/${API_GROUP}/${version}/namespaces/default/${kind.toLowerCase()}s?dryRun=All`;
      const answer = await owner.post(to, {
        apiVersion: `${API_GROUP}/${version}`,
        kind,
        metadata: { name: 'a' },
        spec,
      });
      if (answer.status === 201) return [];
      t.is(answer.status, 422, answer.text);
      const { details } = answer.body as { details: { causes: { field: string; reason: string }[] } };
      return details.causes.map(({ field, reason }) => `${field} ${reason}`);
    };
    for (const model of ['echo', 'svc/echo', 'sonnet', 'meta-llama/Llama-3.3-70B-Instruct']) {
      t.deepEqual(await causes('InferenceEndpoint', { model }), [], model);
    }
    t.deepEqual(await causes('InferenceEndpoint', { model: 'sonata', allowedKeys: ['none'] }), [
      'spec.model NotFound',
      'spec.allowedKeys[0] NotFound',
    ]);
    const group = (environment: string): object => ({ agent: 'coder', evaluation: { environment, tasks: 1 } });
    t.deepEqual(await causes('AgentGroup', group('svc/gsm8k@1.0.0')), ['spec.agent NotFound']);
    t.deepEqual(await causes('AgentGroup', group('svc/gsm8k@9.9.9')), [
      'spec.agent NotFound',
      'spec.evaluation.environment FieldValueInvalid',
    ]);
    t.deepEqual(await causes('AgentGroup', group('gsm8k')), [
      'spec.agent NotFound',
      'spec.evaluation.environment NotFound',
    ]);
    const model = `hf://acme/tiny@${'a'.repeat(40)}`;
    const data = { url: { url: 'https://example.com/data' } };
    t.deepEqual(await causes('TrainingJob', { runtime: 'svc/sft', model, data }, 'v1beta1'), []);
    t.deepEqual(await causes('TrainingJob', { runtime: 'svc/sft', model }, 'v1beta1'), [
      'spec.runtime FieldValueInvalid',
    ]);
    t.deepEqual(await causes('TrainingJob', { runtime: 'sft', model, data }, 'v1beta1'), ['spec.runtime NotFound']);
    t.deepEqual(await causes('Agent', { image: 'svc/none' }), ['spec.image ImageNotFound']);
    t.deepEqual(await causes('Agent', { model: { access: 'BYOK', name: 'm', apiKeySecret: 'none' } }), [
      'spec.model.apiKeySecret NotFound',
    ]);
  },
);

inTurn(
  'prices: a SIGHUP brings a new version to Offerings, estimates and consent; what was admitted keeps its rate',
  async (t, { service, prices }) => {
    const book = (version: string, perCpu: string): Promise<void> =>
      writeFile(
        prices,
        `pricebookVersion: ${version}\nofferings: { cpu-local: { perCpuHourUSD: '${perCpu}' } }\n` +
          "storage: { perGiBMonthUSD: '0' }\nimages: { perBuildMinuteUSD: '0' }\nmodels: {}\n",
      );
    const owner = service.client();
    const jobs = `/apis/${API_GROUP}/v1/namespaces/default/jobs`;
    const job = (name: string, spec: object = {}): object => ({
      ...{ apiVersion: `${API_GROUP}/v1`, kind: 'Job', metadata: { name } },
      spec: { command: ['true'], resources: { cpu: '100m', memory: '64Mi' }, ...spec },
    });
    const list = async (): Promise<string> =>
      textAt((await owner.get(`/apis/${API_GROUP}/v1/offerings/cpu-local`)).body, 'status', 'listPriceUSDPerHour');
    const estimate = async (): Promise<Answer> => owner.post(`${jobs}?dryRun=All`, job('dry'));
    const listed = await list();
    await book('v1', '0.10');
    service.signal('SIGHUP');
    await until('v1 is in use', async () => textAt((await estimate()).body, ...VERSION) === 'v1');
    await until('Offerings show it', async () => (await list()) !== listed);
    const before = Number(await list());
    t.true(before >= 0.1, 'all CPUs of this machine');
    const dry = await estimate();
    t.is(textAt(dry.body, 'status', 'estimate', 'rateUSDPerHour'), '0.01');
    t.is(textAt(dry.body, ...VERSION), 'v1');
    const consent = { 'if-match': dry.headers.get('etag') ?? '' };
    t.is((await owner.post(jobs, job('early', { state: 'Suspended', completions: 2 }))).status, 201);
    const sweeps = `/apis/${API_GROUP}/v1/namespaces/default/sweeps`;
    const template = { spec: { command: ['true'], resources: { cpu: '100m', memory: '64Mi' } } };
    const sweep = {
      ...{ apiVersion: `${API_GROUP}/v1`, kind: 'Sweep', metadata: { name: 'agreed' } },
      spec: { template, state: 'Suspended' },
    };
    const cells = await owner.post(`${sweeps}?dryRun=All`, sweep);
    const whole = { body: sweep, headers: { 'if-match': cells.headers.get('etag') ?? '' } };
    t.is((await owner.ask('POST', sweeps, whole)).status, 201, cells.text);

    const reread = async (version: string, perCpu: string): Promise<void> => {
      await book(version, perCpu);
      service.signal('SIGHUP');
      const wanted = (before / 0.1) * Number(perCpu);
      await until('the list price has changed', async () => Math.abs(Number(await list()) - wanted) < 1e-9, 20_000);
    };
    await reread('v2', '0.11');
    const admitted = await owner.ask('POST', jobs, { body: job('agreed'), headers: consent });
    t.is(admitted.status, 201, admitted.text);
    t.is(textAt(admitted.body, 'status', 'estimate', 'rateUSDPerHour'), '0.011', "at today's price");

    await reread('v3', '0.2');
    const dearer = await owner.ask('POST', jobs, { body: job('later'), headers: consent });
    t.is(dearer.status, 402, dearer.text);
    t.is(textAt(dearer.body, 'reason'), 'PriceConsentRequired');
    t.regex(
      textAt(dearer.body, 'message'),
      /is 0\.02 USD per hour now; If-Match agrees to 0\.01, and to 0\.011 at most/,
    );
    t.is((await owner.get(`${jobs}/later`)).status, 404);
    for (const [body, headers] of [
      [job('later', { command: ['false'] }), consent],
      [job('later'), { 'if-match': '"7"' }],
    ] as const) {
      const other = await owner.ask('POST', jobs, { body, headers });
      t.is(other.status, 412, other.text);
      t.is(textAt(other.body, 'reason'), 'PreconditionFailed');
    }

    // What an owner's client has agreed to binds its Jobs, whenever they are made.
    t.is((await owner.merge(`${sweeps}/agreed`, { spec: { state: 'Running' } })).status, 200);
    await until('its cell waits', async () =>
      textAt((await owner.get(`${sweeps}/agreed`)).body, 'status', 'message').includes('0.011'),
    );
    t.is((await owner.merge(`${jobs}/early`, { spec: { state: 'Running' } })).status, 200);
    const rates = (): Promise<string[]> =>
      owner
        .get(`/apis/${API_GROUP}/v1/namespaces/default/attempts?labelSelector=svc.dev%2Fjob%3Dearly`)
        .then(({ body }) => listAt(body, 'items').map((item) => textAt(item, 'status', 'placement', 'rateUSDPerHour')));
    await until(
      'both indexes have run',
      async () => (await rates()).filter((rate) => rate === '0.01').length === 2,
      60_000,
    );

    await book('v3', '0.30');
    service.signal('SIGHUP');
    await until('it is refused', async () => service.log().includes('v3 was in use with other prices'), 20_000);
    t.is(textAt((await estimate()).body, 'status', 'estimate', 'rateUSDPerHour'), '0.02');
    await service.kill();
    service.launch();
    await until('the start is refused', async () => !service.alive(), 60_000);
    t.regex(service.log(), /^prices\.yaml: pricebookVersion: v3 was in use with other prices.*$/m);
  },
);
