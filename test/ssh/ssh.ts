/** Runs OpenSSH's own clients in tests: keys made on the spot, nothing read from or written to the user's home. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Undefined: the programs are here; else which is missing. */
export const missingSsh: string | undefined = ['ssh', 'scp', 'sftp', 'ssh-keygen'].find(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
);
export const missingSftpServer: string | undefined = existsSync('/usr/lib/openssh/sftp-server')
  ? undefined
  : 'openssh-sftp-server';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SshKit {
  readonly dir: string;
  /** Private key file by name; made when it is first asked for. */
  key(name: string): string;
  publicKey(name: string): Promise<string>;
  /** Options for all three programs. `known`: a line of known_hosts without its host; absent: any host key is taken. */
  options(port: number, key: string, known?: string): string[];
  run(program: string, args: readonly string[], input?: string | Uint8Array): Promise<Ended>;
  /** Runs on until the test ends it, or it ends itself, which may be before anybody looks. */
  begin(
    program: string,
    args: readonly string[],
  ): ChildProcess & { readonly said: { stdout: string; stderr: string }; readonly ended: Promise<Ended> };
  close(): Promise<void>;
}

export async function openSshKit(): Promise<SshKit> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-ssh-'));
  const made = new Set<string>();
  const running = new Set<ChildProcess>();
  const begin: SshKit['begin'] = (program, args) => {
    const said = { stdout: '', stderr: '' };
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString('latin1')));
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString('latin1')));
    child.stdin.on('error', () => undefined);
    running.add(child);
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code) => {
        running.delete(child);
        resolve({ code, ...said });
      }),
    );
    return Object.assign(child, { said, ended });
  };
  const key = (name: string): string => {
    const file = join(dir, name);
    if (!made.has(name)) spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file]);
    made.add(name);
    return file;
  };
  return {
    dir,
    key,
    publicKey: async (name) => (await readFile(`${key(name)}.pub`, 'utf8')).trim(),
    options: (port, name, known) => [
      ...['-F', 'none', '-o', `Port=${port}`, '-i', key(name), '-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none'],
      ...['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10', '-o', 'LogLevel=ERROR', '-o', 'GlobalKnownHostsFile=none'],
      ...(known === undefined
        ? ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null']
        : ['-o', 'StrictHostKeyChecking=yes', '-o', `KnownHostsCommand=/bin/echo * ${known}`]),
    ],
    run(program, args, input) {
      const child = begin(program, args);
      child.stdin?.end(input);
      return child.ended;
    },
    begin,
    async close() {
      for (const child of running) child.kill('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  };
}
