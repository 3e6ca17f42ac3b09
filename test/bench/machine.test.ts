/** What a machine lacks is left out of the figures and ends no part. */
import test from 'ava';
import { isolatesByItself } from '../../ops/bench/machine.js';

test.serial('a machine without bwrap is told from one that makes isolates by itself', async (t) => {
  const { PATH } = process.env;
  t.teardown(() => void (process.env['PATH'] = PATH));
  process.env['PATH'] = '/nowhere';
  t.false(await isolatesByItself());
});
