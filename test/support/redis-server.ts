/**
 * A program that runs one throw-away Redis for as long as another process lives:
 * `node redis-server.js <pid> <file>` writes `{"url", "pid"}` to the file when it is ready, and ends, with all it made,
 * when the process is gone (or at SIGTERM). It keeps nothing on disk and ticks 100 times a second, so that timers are
 * late by some milliseconds only.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../ops/free-port.js';
import { processEnd } from '../../ops/process-start.js';

const READY_MS = 20_000;
/** Attempts at a free port; one that was free may be taken a moment later. */
const TRIES = 5;

const owner = Number(process.argv[2]);
const announcement = process.argv[3];
if (!Number.isSafeInteger(owner) || announcement === undefined) throw new Error('usage: redis-server PID FILE');

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

const home = await mkdtemp(join(tmpdir(), 'troupe-test-redis-'));
const launch = async (): Promise<{ port: number; end: () => Promise<void> }> => {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = await freePort();
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', home, '--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', [...args, '--hz', '100'], { stdio: 'ignore' });
    const ended = new Promise<'ended'>((resolve) => {
      child.once('exit', () => resolve('ended'));
      child.once('error', () => resolve('ended'));
    });
    const until = performance.now() + READY_MS;
    while (performance.now() < until && child.exitCode === null) {
      if (await answers(port)) {
        return {
          port,
          end: async () => {
            child.kill('SIGTERM');
            await ended;
          },
        };
      }
      await Promise.race([ended, delay(20)]);
    }
    child.kill('SIGKILL');
  }
  throw new Error('redis-server does not start');
};

const server = await launch();
try {
  const draft = `${announcement}.${process.pid}`;
  await writeFile(draft, JSON.stringify({ url: `redis://127.0.0.1:${server.port}`, pid: process.pid }), {
    mode: 0o600,
  });
  await rename(draft, announcement);
  await processEnd(owner, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  await rm(announcement, { force: true });
  await server.end();
  await rm(home, { recursive: true, force: true });
}
