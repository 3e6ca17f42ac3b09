/** Packets between a queue and its backend vanish, and neither end gets an error. */
import test from 'ava';
import { openQueue } from '../../storage/queues/open-queue.js';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { isOutage } from '../../storage/errors.js';
import { openTestDatabase } from '../support/postgres.js';
import { openRelay } from '../faults/relay.js';
import { DRIVERS, until } from './backends.js';

/** More than any wait of a queue for its backend, and much less than the hours after which a kernel gives up. */
const BOUND_MS = 45_000;

for (const driver of DRIVERS) {
  const run = driver.missing === undefined ? test : test.skip;
  run(
    `a queue that gets no answer from ${driver.name} refuses jobs in bounded time, and carries them out later`,
    async (t) => {
      t.timeout(120_000);
      const { backend } = await driver.open(t);
      const target = new URL(backend.url);
      const relay = await openRelay(() => Number(target.port));
      t.teardown(() => relay.close());
      const through = new URL(target);
      through.port = String(relay.port);
      const done = new Set<unknown>();
      const queue = await openQueue(
        { ...backend, url: through.href },
        {
          name: 'silence',
          concurrency: 1,
          async process(pointer) {
            done.add(pointer);
          },
          onReconnect: () => {},
          onError: () => {},
        },
      );
      const add = (id: string): Promise<void> => queue.add([{ id, pointer: id, delayMs: 0 }]);
      await until(
        () =>
          add('before').then(
            () => true,
            () => false,
          ),
        'it is connected',
      );
      await until(() => done.has('before'), 'a job is carried out');

      relay.silence(true);
      const began = performance.now();
      await t.throwsAsync(add('lost'), { any: true });
      t.true(performance.now() - began < BOUND_MS);
      relay.silence(false);
      await until(
        () =>
          add('after').then(
            () => true,
            () => false,
          ),
        'it takes jobs again',
        BOUND_MS,
      );
      await until(() => done.has('after'), 'and carries them out', BOUND_MS);
      relay.silence(true);
      await queue.close();
      t.pass('its end does not wait for the backend');
      relay.silence(false);
    },
  );
}

test('a queue whose Postgres goes between its tables and its first look is refused, so it is opened again', async (t) => {
  const target = new URL((await openTestDatabase(t)).url);
  let taken = 0;
  const gate = createServer((outer) => {
    outer.on('error', () => undefined);
    taken += 1;
    if (taken > 1) {
      outer.destroy();
      return;
    }
    const inner = connect(Number(target.port), target.hostname);
    inner.on('error', () => undefined);
    outer.pipe(inner).pipe(outer);
    // The connection that has made the tables is not to be used again.
    inner.on('data', () => taken > 1 && outer.destroy());
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  t.teardown(() => gate.close());
  const through = new URL(target);
  through.port = String((gate.address() as AddressInfo).port);
  const hooks = {
    ...{ name: 'early', concurrency: 1, process: () => Promise.resolve() },
    ...{ onReconnect: () => undefined, onError: () => undefined },
  };
  const refused = await t.throwsAsync(openQueue({ backend: 'postgres', url: through.href }, hooks));
  t.true(isOutage(refused), refused?.message);
});
