/** The catalogs' files: what they list, what is reported of those that do not fit, and when they are read again. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { CATALOG_FILES, CatalogFault, readCatalog, type CatalogObject } from '../../src/app/catalog/read-catalog.js';
import { checkPrices, openPrices, readPriceBook } from '../../src/app/catalog/prices.js';
import { listedEntries } from '../../src/app/catalog/usable.js';
import { openReload } from '../../src/app/catalog/reload-catalog.js';
import { migrate } from '../../storage/migrate.js';
import { openPostgres } from '../../storage/postgres.js';
import { openTestDatabase } from '../support/postgres.js';
import { FREE_BOOK } from '../../src/money/price-book.js';
import { isCatalogImage, isListedImage } from '../../src/kinds/image/catalog.js';

const FILES = fileURLToPath(new URL('../../../ops/catalog', import.meta.url));
const CAPACITY = { milliCpu: 2000, memory: 4 * 2 ** 30, disk: 10 * 2 ** 30 };

/** A copy of the program's own files. */
async function copy(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-test-catalog-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  for (const [file] of CATALOG_FILES) await cp(join(FILES, file), join(directory, file));
  return directory;
}

function bookText(version: string, perCpuHourUSD: string): string {
  return (
    `pricebookVersion: ${version}\nofferings: { cpu-local: { perCpuHourUSD: '${perCpuHourUSD}' } }\n` +
    "storage: { perGiBMonthUSD: '0' }\nimages: { perBuildMinuteUSD: '0' }\nmodels: {}\n"
  );
}

function names(objects: readonly CatalogObject[], kind: string): string[] {
  return objects.flatMap(({ address }) => (address.kind === kind ? [address.name] : []));
}

async function faultsOf(directory: string): Promise<readonly string[]> {
  const error = await readCatalog(undefined, FREE_BOOK, directory).catch((caught: unknown) => caught);
  return error instanceof CatalogFault ? error.lines : [];
}

test('the catalog lists this machine first, when it can run work, and GPU classes that nothing here has', async (t) => {
  const offerings = (await readCatalog(CAPACITY, FREE_BOOK)).filter(({ address }) => address.kind === 'Offering');
  t.like(offerings[0], {
    address: { org: 'svc', project: '', name: 'cpu-local' },
    spec: { category: 'CPU', host: { cpu: '2', memory: '4Gi' } },
  });
  t.true(offerings.slice(1).every(({ address }) => address.name.startsWith('gpu-')));
  t.is(names(await readCatalog(undefined, FREE_BOOK), 'Offering').length, offerings.length - 1);
});

test('what nothing here can serve is listed only when the operator asks for it', async (t) => {
  const objects = await readCatalog(CAPACITY, FREE_BOOK);
  const listed = listedEntries(objects, 'hide');
  t.deepEqual(names(listed, 'Offering'), ['cpu-local']);
  t.deepEqual(names(listed, 'Model'), ['echo']);
  t.deepEqual(names(listedEntries(objects, 'hide', new Set(['sonnet-4.5', 'none'])), 'Model'), ['sonnet-4.5']);
  t.deepEqual(names(listed, 'Image'), ['agent-tools', 'workspace-cpu']);
  t.deepEqual(names(listed, 'Environment'), names(objects, 'Environment'));
  t.is(listedEntries(objects, 'list').length, objects.length);
});

test('the catalog has every environment, runtime and image that the interface names', async (t) => {
  const objects = await readCatalog(undefined, FREE_BOOK);
  t.deepEqual(names(objects, 'Environment'), [
    'arithmetic-v2',
    'graph-coloring',
    'gsm8k',
    'letter-counting-legacy-eval',
    'letter-counting-legacy-rl',
    'python-functions',
    'reasoning-gym',
  ]);
  t.deepEqual(names(objects, 'TrainingRuntime'), [
    'distill',
    'dpo',
    'evaluate',
    'grpo-lora',
    'kto',
    'orpo',
    'reward-model',
    'sft',
  ]);
  const images = names(objects, 'Image');
  t.deepEqual(images, ['agent-tools', 'workspace-cpu', 'workspace-pytorch-cuda', 'workspace-rocm']);
  t.true(images.every((name) => isListedImage(`svc/${name}`)));
  t.is(images.filter((name) => isCatalogImage(`svc/${name}`)).length, 2);
  t.true(names(objects, 'Model').includes('echo'));
});

test('data that does not fit is reported whole, a line for each fault, with the file, the entry and the field', async (t) => {
  const directory = await copy(t);
  await writeFile(join(directory, 'offerings.yaml'), 'gpu-x: { category: TPU, colour: red }\nGPU Y: {}');
  await writeFile(join(directory, 'models.yaml'), 'a: { contextTokens: -1 }\nb: { aliases: [c, c] }');
  await writeFile(join(directory, 'images.yaml'), '- a list');
  await writeFile(join(directory, 'environments.yaml'), 'a: [');
  await rm(join(directory, 'trainingruntimes.yaml'));
  const faults = await faultsOf(directory);
  for (const fault of [
    /^offerings\.yaml: gpu-x: spec\.category: /,
    /^offerings\.yaml: gpu-x: spec\.colour: there is no such field$/,
    /^offerings\.yaml: GPU Y: /,
    /^models\.yaml: a: spec\.contextTokens: /,
    /^models\.yaml: b: spec\.aliases\[1\]: /,
    /^images\.yaml: must map names to specs$/,
    /^environments\.yaml: the file is not valid YAML: line 1/,
    /^trainingruntimes\.yaml: cannot be read: /,
  ]) {
    t.is(faults.filter((line) => fault.test(line)).length, 1, `${fault} in ${faults.join('\n')}`);
  }
  t.true(faults.every((line) => !line.includes('\n')));
});

test('no two models go by one name, and nothing names what the catalog has not', async (t) => {
  const directory = await copy(t);
  await writeFile(join(directory, 'models.yaml'), 'a: { aliases: [chat] }\nb: { id: chat }\nc: { aliases: [a] }');
  await writeFile(
    join(directory, 'environments.yaml'),
    'e: { version: 1.0.0, package: { pip: { name: e, version: 1.0.0 } }, examples: [{ name: x, mode: Train, runtime: svc/none }] }',
  );
  t.deepEqual(await faultsOf(directory), [
    'environments.yaml: e: spec.examples[0].runtime: TrainingRuntime "none" is not in the catalog',
    'models.yaml: b: "chat" is the name of a as well',
    'models.yaml: c: "a" is the name of a as well',
  ]);
});

test('an entry that stands twice is reported, since one of them would be lost', async (t) => {
  const directory = await copy(t);
  await writeFile(join(directory, 'models.yaml'), 'a: {}\na: {}');
  t.deepEqual(await faultsOf(directory), ['models.yaml: a: stands there twice']);
});

test('the price book is read with the catalogs, says what Models cost, and must price what runs here', async (t) => {
  const directory = await copy(t);
  const { book } = await readPriceBook();
  const models = (await readCatalog(undefined, book)).filter(({ address }) => address.kind === 'Model');
  t.true(models.every(({ spec }) => (spec as { pricing?: { pricebookVersion?: string } }).pricing?.pricebookVersion));
  const echo = models.find(({ address }) => address.name === 'echo');
  const cent = { inputPerMillionTokensUSD: '0.01', outputPerMillionTokensUSD: '0.01', pricebookVersion: '2026-01' };
  t.like(echo?.spec, { pricing: cent });
  const long = { ...book, models: { echo: { ...cent, longCacheWritePerMillionTokensUSD: '1.00' } } };
  const [shown] = (await readCatalog(undefined, long)).filter(({ address }) => address.name === 'echo');
  t.deepEqual(
    (shown?.spec as { pricing?: object } | undefined)?.pricing,
    cent,
    'the API has no field for long cache writes',
  );

  await writeFile(join(directory, 'models.yaml'), "echo: { pricing: { inputPerMillionTokensUSD: '1.00' } }");
  const error = await t.throwsAsync(readCatalog(undefined, book, directory), { instanceOf: CatalogFault });
  t.is(
    error?.message,
    'models.yaml: echo: spec.pricing: is said by the price book. Move the prices to models.echo of pricebook.yaml.',
  );
  const own = join(directory, 'mine.yaml');
  await writeFile(own, bookText('v1', '1').replace('cpu-local', 'cpu-other'));
  for (const [path, fault] of [
    [own, /^mine\.yaml: offerings\.cpu-local: has no price\. Add one; .*$/],
    [join(directory, 'none.yaml'), /^none\.yaml: cannot be read: .*$/],
  ] as const) {
    const refused = await t.throwsAsync(readPriceBook(path), { instanceOf: CatalogFault });
    t.regex(refused?.message ?? '', fault);
  }
});

test('each version of the prices is kept for ever, and other prices under its name are refused', async (t) => {
  const directory = await copy(t);
  const path = join(directory, 'prices.yaml');
  const database = await openTestDatabase();
  const postgres = openPostgres({ url: database.url });
  t.teardown(async () => {
    await postgres.close();
    await database.close();
  });
  await migrate(postgres);
  await writeFile(path, bookText('v1', '0.01'));
  const prices = await openPrices(path, postgres);
  t.is(prices.current().version, 'v1');
  await checkPrices(await readPriceBook(path), postgres);

  await writeFile(path, bookText('v1', '0.02'));
  const refusal =
    /^prices\.yaml: pricebookVersion: v1 was in use with other prices, which work may have been admitted by\. Give .* a new version, .*$/;
  t.regex((await t.throwsAsync(prices.readAgain(), { instanceOf: CatalogFault }))?.message ?? '', refusal);
  t.is(prices.current().offerings['cpu-local']?.perCpuHourUSD, '0.01', 'the old prices stay');
  t.regex((await t.throwsAsync(openPrices(path, postgres), { instanceOf: CatalogFault }))?.message ?? '', refusal);

  const standby = checkPrices(await readPriceBook(path), postgres);
  t.regex((await t.throwsAsync(standby, { instanceOf: CatalogFault }))?.message ?? '', refusal);

  await writeFile(path, bookText('v2', '0.02'));
  await prices.readAgain();
  t.is(prices.current().version, 'v2');
  await writeFile(path, `# as before\n${bookText('v1', '0.01')}`);
  await prices.readAgain();
  t.is(prices.current().version, 'v1', 'a version may come back, with other comments');
  const rows = await postgres.readRows<[string, string]>({
    name: 'all price books',
    text: 'SELECT version, text FROM pricebooks ORDER BY version',
  });
  t.deepEqual(rows, [
    ['v1', bookText('v1', '0.01')],
    ['v2', bookText('v2', '0.02')],
  ]);
});

test('a reading that is asked for during another one follows it once, however often it was asked for', async (t) => {
  let finish = (): void => undefined;
  let reads = 0;
  const nothing = { added: 0, changed: 0, removed: 0 };
  const read = (): Promise<typeof nothing> => {
    reads += 1;
    if (reads === 2) throw new CatalogFault(['models.yaml: a: no', 'models.yaml: b: no']);
    return new Promise((resolve) => {
      finish = () => resolve(nothing);
    });
  };
  const said: string[] = [];
  const note = (_fields: object, message?: string): void => void said.push(message ?? '');
  const reload = openReload(read, { info: note, warn: note, error: note });
  reload();
  reload();
  reload();
  t.is(reads, 1);
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  t.is(reads, 2);
  t.deepEqual(said, [
    'the catalogs are read again',
    'a catalog does not fit: the old ones stay',
    'a catalog does not fit: the old ones stay',
  ]);
  reload();
  t.is(reads, 3, 'after files that did not fit it reads again');
  finish();
});
