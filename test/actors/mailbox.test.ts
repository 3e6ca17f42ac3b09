/** The queue of one actor: what it takes and gives back (`actors/mailbox.ts`). */
import test from 'ava';
import { Mailbox, type Item } from '../../actors/mailbox.js';

function item(since: number): Item {
  return { item: 'message', message: { type: 'Toy' } as never, since, settle: () => undefined };
}

test('a full mailbox takes no more, keeps what it has in order, and has room again for each that is taken out', (t) => {
  const mailbox = new Mailbox(3_000);
  for (let n = 0; n < 3_000; n += 1) t.true(mailbox.push(item(n)));
  t.false(mailbox.push(item(3_000)));
  for (let n = 0; n < 2_000; n += 1) t.is(mailbox.shift()?.since, n);
  t.is(mailbox.oldest(), 2_000);
  for (let n = 3_000; n < 5_000; n += 1) t.true(mailbox.push(item(n)));
  t.false(mailbox.push(item(5_000)));
  for (let n = 2_000; n < 5_000; n += 1) t.is(mailbox.shift()?.since, n);
  t.is(mailbox.shift(), undefined);
  t.is(mailbox.size, 0);
});
