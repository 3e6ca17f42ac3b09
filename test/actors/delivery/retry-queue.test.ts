/** Later attempts wait in the queue, and wake their endpoint when they are due. */
import test from 'ava';
import { openRetryQueue } from '../../../actors/delivery/retry-queue.js';
import { openQueue } from '../../../storage/queues/open-queue.js';
import { until } from '../../e2e/until.js';
import { DRIVERS } from '../../storage-queues/backends.js';

for (const driver of DRIVERS) {
  const run = driver.missing === undefined ? test : test.skip;
  run(
    `${driver.name}: an attempt that is put in wakes its endpoint at its time; a queue that is away loses nothing else`,
    async (t) => {
      const { backend } = await driver.open(t);
      const woken: { endpoint: unknown; at: number }[] = [];
      const queue = await openQueue(backend, {
        name: 'deliveries-test',
        concurrency: 2,
        process(endpoint) {
          if (endpoint !== 'probe') woken.push({ endpoint, at: Date.now() });
          return Promise.resolve();
        },
        onReconnect() {},
        onError: (error) => t.log(error.message),
      });
      t.teardown(() => queue.close());
      // A queue that is not connected yet refuses, and what was refused is left to the sweep, which is not here.
      await until('the queue takes jobs', () =>
        queue.add([{ id: 'probe', delayMs: 0, pointer: 'probe' }]).then(
          () => true,
          () => false,
        ),
      );
      const problems: string[] = [];
      let away = true;
      const retries = openRetryQueue(
        { add: (jobs) => (away ? Promise.reject(new Error('away')) : queue.add(jobs)) },
        Date.now,
        (problem) => problems.push(problem),
      );
      retries.add({ id: 'msg_0', number: 1, endpoint: 'lost', due: Date.now() });
      await until('it is told', () => problems.length === 1);
      away = false;
      const due = Date.now() + 400;
      retries.add({ id: 'msg_1', number: 1, endpoint: 'one', due });
      retries.add({ id: 'msg_1', number: 2, endpoint: 'two', due: due - 300 });
      await until('both are woken', () => woken.length === 2);
      retries.close();
      t.deepEqual(
        woken.map(({ endpoint }) => endpoint),
        ['two', 'one'],
      );
      t.true((woken[1]?.at ?? 0) >= due - 20);
    },
  );
}
