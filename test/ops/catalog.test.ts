import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { loadImages, loadOfferings } from '../../ops/catalog/load.js';
import { catalogImages } from '../../src/kinds/image/catalog.js';

test('the catalog lists this machine first, when it can run work, and GPU classes that nothing here has', async (t) => {
  const offerings = await loadOfferings({ milliCpu: 2000, memory: 4 * 2 ** 30, disk: 10 * 2 ** 30 });
  t.like(offerings[0], {
    address: { name: 'cpu-local' },
    spec: { category: 'CPU', host: { cpu: '2', memory: '4Gi' } },
  });
  t.true(offerings.slice(1).every(({ address, spec }) => address.name.startsWith('gpu-') && spec !== undefined));
  t.is((await loadOfferings(undefined)).length, offerings.length - 1);
});

test('the images that need no accelerator are the ones that Jobs may name', async (t) => {
  const images = await loadImages();
  const here = images.filter(({ source }) => source === 'machine').map(({ reference }) => reference);
  t.deepEqual(here.toSorted(), [...catalogImages()].toSorted());
});

test('data that does not fit stops the start with the file and the place', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-test-catalog-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'offerings.yaml'), 'gpu-x: { category: TPU }');
  await t.throwsAsync(loadOfferings(undefined, directory), {
    message: /offerings\.yaml does not fit: gpu-x\.category/,
  });
});
