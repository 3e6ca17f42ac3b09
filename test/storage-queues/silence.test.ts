/** Packets between a queue and its backend vanish, and neither end gets an error. */
import test from 'ava';
import { openQueue } from '../../storage/queues/open-queue.js';
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
