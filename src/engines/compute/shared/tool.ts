/**
 * Runs the machine's own tools (tar, du, rm, …) to their end, in the work's group and as its user where what they
 * touch is the work's. Nothing of an order becomes a command line here but paths below the scratch.
 */
import { spawn } from 'node:child_process';

export interface Tool {
  readonly file: string;
  readonly args: readonly string[];
  /** User to run as; undefined: our own. */
  readonly hostId?: number | undefined;
  /** Group of the work that the tool's memory and time count against. */
  readonly memberFiles?: readonly number[] | undefined;
  readonly stdin?: number | undefined;
  /** Kills it. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface ToolEnd {
  readonly exitCode: number;
  readonly stdout: string;
  /** Last line that it said. */
  readonly said: string;
  /** The last kilobyte of what it said. */
  readonly stderr: string;
}

/** Output beyond this is cut: tools are asked for little. */
const MAX_OUTPUT = 1024 * 1024;

/** Never rejects: what could not be started ends with 127. */
export function runTool(tool: Tool): Promise<ToolEnd> {
  const memberFiles = tool.memberFiles ?? [];
  const [file, args] = insideGroups(tool.file, tool.args, memberFiles, 3);
  return new Promise((done) => {
    const child = spawn(file, args, {
      stdio: [tool.stdin ?? 'ignore', 'pipe', 'pipe', ...memberFiles],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      cwd: '/',
      killSignal: 'SIGKILL',
      ...(tool.signal === undefined ? {} : { signal: tool.signal }),
      ...(tool.timeoutMs === undefined ? {} : { timeout: tool.timeoutMs }),
      ...(tool.hostId === undefined ? {} : { uid: tool.hostId, gid: tool.hostId }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stdout.length < MAX_OUTPUT) stdout += chunk.toString('utf8');
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-1024);
    });
    child.once('error', (error) => done({ exitCode: 127, stdout, said: error.message, stderr: error.message }));
    child.once('close', (code) => {
      done({ exitCode: code ?? 137, stdout, said: stderr.trim().split('\n').at(-1) ?? '', stderr });
    });
  });
}

/** Without root, work could close files to their owner, and so to the runner: as root of an own user namespace it looks anyway. */
export function asOwner(file: string, args: readonly string[]): Pick<Tool, 'file' | 'args'> {
  if (process.getuid?.() === 0) return { file, args };
  return { file: 'unshare', args: ['--user', '--map-root-user', '--', file, ...args] };
}

/**
 * The command, made to enter control groups before it is executed: a shell writes into descriptors that the runner opened, so
 * no process of the work ever runs outside of its bounds, and the shell may already be the work's user.
 */
export function insideGroups(
  file: string,
  args: readonly string[],
  memberFiles: readonly number[],
  first: number,
  preferred = true,
): [string, string[]] {
  if (memberFiles.length === 0) return [file, [...args]];
  const descriptors = memberFiles.map((_, index) => first + index);
  const script = [
    descriptors.map((descriptor) => `echo 0 >&${descriptor}`).join(' && '),
    ' || exit 126; exec',
    ...descriptors.map((descriptor) => ` ${descriptor}>&-`),
    // The kernel, when it must choose, takes work before the service; a holder of a box lets its commands be taken before itself.
    preferred ? '; echo 500 >/proc/self/oom_score_adj' : '',
    '; exec "$@"',
  ].join('');
  return ['/bin/sh', ['-c', script, 'sh', file, ...args]];
}
