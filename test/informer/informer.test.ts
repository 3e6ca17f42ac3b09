/** The informer of the official Kubernetes client stays in step through a SIGKILL, a restart and a compaction. */
import {
  ADD,
  CHANGE,
  DELETE,
  ERROR,
  KubeConfig,
  makeInformer,
  type Informer,
  type KubernetesListObject,
  type KubernetesObject,
  type ObjectCache,
} from '@kubernetes/client-node';
import test, { type ExecutionContext } from 'ava';
import { Client as Database } from 'pg';
import { type Client, listAt, numberAt, objectOf, parsed, path, textAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { shareRestarted, type Restarted } from '../faults/restarted.js';

interface Account extends KubernetesObject {
  readonly spec?: { readonly description?: string };
}

/** Between an error and the next start of the informer, in ms. */
const AGAIN_MS = 100;
/** Together more than the 32 MiB of newest changes that the service keeps in memory. */
const NOISE_WRITES = 120;
const NOISE_BYTES = 200 * 1024;
const COLLECTION = path('serviceaccounts', 'default');

let shared: Restarted | undefined;
let service: Running;
test.before(async () => {
  shared = await shareRestarted();
  ({ service } = shared);
});
test.after.always(() => shared?.close());

interface Followed {
  readonly informer: Informer<Account> & ObjectCache<Account>;
  /** Events of the informer, as `add a`. */
  readonly events: readonly string[];
  readonly lists: () => number;
}

/** An informer as its documentation shows one: started again a little after each error. */
async function follow(t: ExecutionContext, watchSeconds: number): Promise<Followed> {
  const config = new KubeConfig();
  config.loadFromFile(service.kubeconfig);
  let lists = 0;
  const list = async (): Promise<KubernetesListObject<Account>> => {
    lists += 1;
    const answer = await service.client().get(COLLECTION);
    if (answer.status !== 200) throw Object.assign(new Error(answer.text), { code: answer.status });
    return JSON.parse(answer.text);
  };
  const informer = makeInformer<Account>(config, `${COLLECTION}?timeoutSeconds=${watchSeconds}`, list);
  const events: string[] = [];
  const note = (what: string) => (object: Account) => void events.push(`${what} ${object.metadata?.name}`);
  informer.on(ADD, note('add'));
  informer.on(CHANGE, note('change'));
  informer.on(DELETE, note('delete'));
  let followed = true;
  informer.on(ERROR, () => {
    if (followed) setTimeout(() => void informer.start().catch(() => undefined), AGAIN_MS);
  });
  t.teardown(async () => {
    followed = false;
    await informer.stop();
  });
  await informer.start();
  return { informer, events, lists: () => lists };
}

function shown(object: unknown): string {
  return `${textAt(object, 'metadata', 'name')}@${textAt(object, 'metadata', 'resourceVersion')}`;
}

/** What the informer holds is what the service has. */
async function inStep(client: Client, informer: ObjectCache<Account>): Promise<void> {
  await until('the informer is in step', async () => {
    const { text } = await client.get(COLLECTION);
    const there = listAt(parsed(text), 'items').map(shown).toSorted();
    const known = informer
      .list()
      .map((object) => shown(object))
      .toSorted();
    if (there.join() !== known.join()) throw new Error(`service: ${there.join()}; informer: ${known.join()}`);
    return true;
  });
}

const account = (name: string, description = 'x'): unknown => objectOf('ServiceAccount', name, { description });

test.serial('an informer stays in step through SIGKILL and restart', async (t) => {
  const { informer, events } = await follow(t, 300);
  await service.client().post(COLLECTION, account('before'));
  await service.client().post(COLLECTION, account('goes'));
  await inStep(service.client(), informer);

  await service.kill();
  await service.start();
  const again = service.client();
  t.is((await again.post(COLLECTION, account('after'))).status, 201);
  t.is((await again.merge(`${COLLECTION}/before`, { spec: { description: 'changed' } })).status, 200);
  t.is((await again.remove(`${COLLECTION}/goes`)).status, 200);
  await inStep(again, informer);
  t.is(informer.get('before', 'default')?.spec?.description, 'changed');
  t.is(informer.get('goes', 'default'), undefined);
  t.true(events.includes('delete goes'));
});

test.serial('an informer stays in step when what it would resume from is compacted away', async (t) => {
  const client = service.client();
  const { informer, lists } = await follow(t, 2);
  const made = await client.post(COLLECTION, account('old'));
  await inStep(client, informer);
  const before = lists();

  // The log moves on by changes that this informer does not see, more than the service keeps in memory, and grows old.
  const noise = `${path('secrets', 'default')}/noise`;
  t.is((await client.post(path('secrets', 'default'), objectOf('Secret', 'noise', {}))).status, 201);
  for (let each = 0; each < NOISE_WRITES; each += 1) {
    const annotations = { noise: String(each).padEnd(NOISE_BYTES, '.') };
    t.is((await client.merge(noise, { metadata: { annotations } })).status, 200);
  }
  const database = new Database({ connectionString: service.databaseUrl });
  await database.connect();
  t.teardown(() => database.end());
  await database.query("update changes set time = time - interval '1 day'");
  const version = textAt(made.body, 'metadata', 'resourceVersion');
  await until(
    'the version is compacted away',
    async () => {
      const { text } = await client.get(`${COLLECTION}?watch=true&timeoutSeconds=1&resourceVersion=${version}`);
      const event = parsed(text.split('\n')[0] ?? '');
      return textAt(event, 'type') === 'ERROR' && numberAt(event, 'object', 'code') === 410;
    },
    120_000,
  );
  await until('it has listed again', () => lists() > before);
  t.is((await client.post(COLLECTION, account('new'))).status, 201);
  t.is((await client.remove(`${COLLECTION}/old`)).status, 200);
  await inStep(client, informer);
  t.is(informer.get('old', 'default'), undefined);
  t.truthy(informer.get('new', 'default'));
});
