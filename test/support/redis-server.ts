/**
 * A program that runs one throw-away Redis for as long as another process lives:
 * `node redis-server.js <pid> <file>` writes `{"url", "pid"}` to the file when it is ready, and ends, with all it made,
 * when the process is gone (or at SIGTERM).
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { processEnd } from '../../ops/process-start.js';
import { openTestRedis } from './redis.js';

const owner = Number(process.argv[2]);
const announcement = process.argv[3];
if (!Number.isSafeInteger(owner) || announcement === undefined) throw new Error('usage: redis-server PID FILE');

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

const redis = await openTestRedis();
try {
  const draft = `${announcement}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ url: redis.url, pid: process.pid }), { mode: 0o600 });
  await rename(draft, announcement);
  await processEnd(owner, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  await rm(announcement, { force: true });
  await redis.close();
}
