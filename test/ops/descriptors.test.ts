/** How many connections are taken where the system lets a process open few files. */
import test from 'ava';
import { connectionsWithin, openFilesLimit } from '../../src/app/descriptors.js';
import type { Log } from '../../src/app/log.js';

test('connections keep within three quarters of the files that may be open, and a warning says what is needed', (t) => {
  const warned: unknown[] = [];
  const log = { warn: (...line: unknown[]) => warned.push(line) } as unknown as Log;
  t.is(connectionsWithin(1_024, log), 768);
  t.regex(JSON.stringify(warned), /may open 1024 files.*768 connections.*40000 files/);
  t.is(connectionsWithin(40_000, log), undefined);
  t.is(connectionsWithin(undefined, log), undefined);
  t.is(warned.length, 1);
  if (process.platform === 'linux') t.true((openFilesLimit() ?? 0) > 0);
});
