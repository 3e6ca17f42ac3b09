/** When a disk is too full for new objects, and when no longer. */
import test from 'ava';
import { isShort } from '../../src/app/disk-space.js';

test('new objects are refused below the reserve, and taken again only with a quarter more', (t) => {
  t.false(isShort(100, 100, false));
  t.true(isShort(99, 100, false));
  t.true(isShort(124, 100, true), 'it would go on and off');
  t.false(isShort(125, 100, true));
});
