/**
 * The peer: Portkey's gateway, installed from npm into a folder of its own outside of the repository, and started as its README says, without its
 * console (`--headless`). Where that does not work, it is not measured, and the answer says why.
 */
import { execFile, spawn } from 'node:child_process';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { freePort } from '../../../src/app/free-port.js';
import { openConnection } from '../client.js';
import { call } from './request.js';
import { hasEnded, programOf, type Program } from './program.js';
import { plainTarget, type Target } from './target.js';

export const PORTKEY_VERSION = '1.15.2';
const PACKAGE = '@portkey-ai/gateway';
const INSTALL_MS = 180_000;
const START_MS = 20_000;
const ASK_MS = 5_000;

export type Peer =
  | { readonly outcome: 'Started'; readonly target: Target; readonly program: Program }
  | { readonly outcome: 'Missing'; readonly reason: string };

/** Never rejects. `upstream`: its port. */
export async function startPortkey(upstream: number, log: (line: string) => void): Promise<Peer> {
  try {
    const program = await start(await install(log));
    const target = plainTarget('Portkey', program, {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstream}/v1`,
    });
    const refusal = await probe(target);
    if (refusal === undefined) return { outcome: 'Started', target, program };
    await program.stop();
    return { outcome: 'Missing', reason: refusal };
  } catch (error) {
    return { outcome: 'Missing', reason: error instanceof Error ? firstLine(error.message) : 'unknown' };
  }
}

/** Answers its program. What was installed before is used again. */
async function install(log: (line: string) => void): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const dir = join(tmpdir(), `troupe-bench-portkey-${PORTKEY_VERSION}-${uid}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // Everybody may write into the folder of temporary files: what another user has put there is not run.
  const found = await lstat(dir);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new Error(`${dir} must be a folder that only this user may enter: remove it`);
  const home = join(dir, 'node_modules', PACKAGE);
  if ((await versionOf(home)) !== PORTKEY_VERSION) {
    log(`installing ${PACKAGE} ${PORTKEY_VERSION} into ${dir}`);
    await rm(join(dir, 'node_modules'), { recursive: true, force: true });
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const given = ['install', '--prefix', dir, ...quiet, `${PACKAGE}@${PORTKEY_VERSION}`];
    await promisify(execFile)('npm', given, { cwd: dir, timeout: INSTALL_MS, killSignal: 'SIGKILL' }).catch(
      (error: unknown) => {
        throw new Error(`npm cannot install it: ${installFault(error)}`);
      },
    );
  }
  return join(home, 'build', 'start-server.js');
}

/** npm writes its manifest last, once all packages are unpacked. */
async function versionOf(home: string): Promise<string | undefined> {
  try {
    await lstat(join(home, '..', '..', '.package-lock.json'));
    return z.object({ version: z.string() }).parse(JSON.parse(await readFile(join(home, 'package.json'), 'utf8')))
      .version;
  } catch {
    return undefined;
  }
}

function installFault(error: unknown): string {
  const { stderr = '', message = 'unknown' } = error as { readonly stderr?: string; readonly message?: string };
  return firstLine(stderr === '' ? message : stderr);
}

async function start(main: string): Promise<Program> {
  const port = await freePort();
  const preload = new URL('loopback-only.js', import.meta.url).href;
  const child = spawn(process.execPath, ['--import', preload, main, `--port=${port}`, '--headless'], {
    cwd: join(main, '..'),
    // Nothing of our own environment is its business.
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' },
    stdio: 'ignore',
  });
  const orphan = (): void => void child.kill('SIGKILL');
  process.once('exit', orphan);
  child.once('exit', () => process.off('exit', orphan));
  const program = programOf(child, port, () => void child.kill('SIGTERM'));
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline && !hasEnded(child)) {
    const connection = await openConnection(port).catch(() => undefined);
    connection?.close();
    if (connection !== undefined) return program;
    await sleep(50);
  }
  await program.stop();
  throw new Error(hasEnded(child) ? 'it ended at its start' : `it did not listen within ${START_MS} ms`);
}

/** Why it does not pass on what it is asked to; undefined when it does. */
async function probe(target: Target): Promise<string | undefined> {
  const [request] = target.requests({ model: 'fast', maxTokens: 8 });
  if (request === undefined) return 'there is no request';
  const { status, body } = await call(target.port, request, ASK_MS);
  return status === 200 ? undefined : `it answers ${status}: ${body.toString('utf8', 0, 200)}`;
}

function firstLine(text: string): string {
  return (text.split('\n').find((line) => line.trim() !== '') ?? '').slice(0, 200);
}
