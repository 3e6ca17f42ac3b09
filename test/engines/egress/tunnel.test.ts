/** How tunnels share the loop of the proxy process: by the turns of their boxes, whatever the size of what they carry. */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import test from 'ava';
import { join } from '../../../src/engines/compute/shared/egress/tunnel.js';

/** An end that sends `pieces` pieces of a byte, and for which each write costs a millisecond. */
function end(pieces: number, onWrite: () => void): Duplex {
  let left = pieces;
  const stream = new Duplex({
    read() {
      left -= 1;
      this.push(left < 0 ? null : Buffer.alloc(1));
    },
    write(_chunk, _encoding, done) {
      const until = performance.now() + 1;
      while (performance.now() < until);
      onWrite();
      done();
    },
  });
  return Object.assign(stream, { setTimeout: () => stream });
}

test('many tunnels of one box carry one piece in a turn of the loop, and those of another box every second', async (t) => {
  const order: string[] = [];
  let inOneTurn = 0;
  let most = 0;
  const all = ['many', 'many', 'many', 'many', 'other'].map((box) => {
    const outer = end(0, () => {
      order.push(box);
      most = Math.max(most, (inOneTurn += 1));
      setImmediate(() => (inOneTurn = 0));
    });
    join(
      end(20, () => undefined),
      outer as Socket,
      { box, idleMs: 60_000 },
    );
    return new Promise((resolve) => outer.once('finish', resolve));
  });
  await Promise.all(all);
  t.is(order.length, 100);
  t.is(most, 1);
  const meanwhile = order.slice(order.indexOf('other'), order.lastIndexOf('other'));
  t.true(meanwhile.filter((box) => box === 'many').length <= 25, meanwhile.join(' '));
});
