import test from 'ava';
import { createServer, type RequestListener } from 'node:http';
import { openConnection } from '../../ops/bench/client.js';
import { Sample } from '../../ops/bench/numbers.js';

async function answers(t: import('ava').ExecutionContext, listener: RequestListener, times: number): Promise<string[]> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => void server.close());
  const address = server.address();
  const connection = await openConnection(typeof address === 'object' && address !== null ? address.port : 0);
  const all: string[] = [];
  try {
    for (let n = 0; n < times; n += 1) {
      all.push(
        await new Promise<string>((done, fail) => {
          const request = Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
          connection.send(request, (status, body) => done(`${status} ${body.toString('utf8')}`), fail);
        }),
      );
    }
  } finally {
    connection.close();
  }
  return all;
}

test('bodies with a length, in chunks, in pieces and empty are read one after another on one connection', async (t) => {
  let n = 0;
  const all = await answers(
    t,
    (_request, response) => {
      n += 1;
      if (n === 1) response.end('whole');
      else if (n === 2) {
        response.write('first ');
        setImmediate(() => response.write('second '));
        setTimeout(() => response.end('third'), 20);
      } else if (n === 3) response.writeHead(204).end();
      else if (n === 4) {
        response.writeHead(201, { 'content-length': 6 });
        response.write('abc');
        setTimeout(() => response.end('def'), 20);
      } else response.end('x'.repeat(300_000));
    },
    5,
  );
  t.deepEqual(all.slice(0, 4), ['200 whole', '200 first second third', '204 ', '201 abcdef']);
  t.is(all[4]?.length, 300_004);
});

test('a service that goes away is an error and not a wait', async (t) => {
  await t.throwsAsync(
    answers(t, (request) => request.socket.destroy(), 1),
    { message: /closed/ },
  );
});

test('quantiles are those of the whole sample, also when it grew', (t) => {
  const sample = new Sample();
  for (let n = 9_999; n >= 0; n -= 1) sample.add(n);
  t.deepEqual(sample.quantiles(0, 0.5, 0.99, 1), [0, 5_000, 9_900, 9_999]);
});
