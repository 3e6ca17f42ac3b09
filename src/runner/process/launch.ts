/**
 * Carries out a plan: spawns it inside the work's control group, hands it its feeds, reads its output and status.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { STATUS_FD, type Plan } from '../isolation/isolation.js';
import type { OpenPipe, Pipes } from './pipes.js';
import { insideGroups } from '../../engines/compute/shared/tool.js';
import { endOf, signalAll } from './tree.js';

export interface Exit {
  readonly exitCode: number;
  /** False: the command was never executed; `error` says why. */
  readonly executed: boolean;
  readonly error: string;
}

/** Where output goes: a log, or a reader. */
export interface Sink {
  /** False: nothing more is read until `whenReady` calls back. */
  feed(stream: 'stdout' | 'stderr', chunk: Buffer): boolean;
  whenReady(resume: () => void): void;
}

export interface Launched {
  /** Host pid of the box's first process, once there is one; undefined when the box never came to be. */
  readonly boxPid: Promise<number | undefined>;
  /** What the child printed first, for boxes that are held open. */
  readonly ready: Promise<boolean>;
  readonly exited: Promise<Exit>;
  /** Resolves when all output is in the sink: not before every process that holds the pipes has ended. */
  readonly drained: Promise<void>;
  /** To be asked once its end is on its way: resolves when no process of the box runs. Throws when they do not end. */
  gone(): Promise<void>;
  /** Lets the command of a plan with a gate begin. */
  pass(): void;
  /** Ends the spawned process at once; with it dies the box that it made. */
  kill(): void;
  /** Gives the pipes back; only when nothing of the work runs any more, or it could read another's output. */
  release(): void;
}

/** Descriptor of the first feed, after the status and the group's member files. */
export function firstFeed(memberFiles: number): number {
  return STATUS_FD + 1 + memberFiles;
}

/** A box whose first process is not known by then is not coming to be. */
const MAKING_MS = 5_000;

/** First bytes of stderr that are kept, to explain a command that could not be executed. */
const EXPLANATION = 1024;

/** All pipes share it: a read is consumed before the next one begins. */
const readBuffer = Buffer.alloc(64 * 1024);

/** `socket`: descriptor of one that listens, to become descriptor 0 of a holder. */
export async function launch(
  plan: Plan,
  memberFiles: readonly number[],
  pipes: Pipes,
  log: Sink | undefined,
  socket?: number,
): Promise<Launched> {
  const out = await pipes.open(plan.owner);
  const err = await pipes.open(plan.owner).catch((error: unknown) => {
    discard(out);
    throw error;
  });
  const stdio: ('ignore' | 'pipe' | number)[] = [
    socket ?? 'ignore',
    out.writeEnd,
    err.writeEnd,
    'pipe',
    ...memberFiles,
  ];
  for (const _ of plan.feeds) stdio.push('pipe');
  const [file, args] = insideGroups(plan.file, plan.args, memberFiles, STATUS_FD + 1, socket === undefined);
  let child: ChildProcess;
  const attachments: number[] = [];
  try {
    for (const path of plan.attachments) attachments.push(openSync(path, 'r'));
    stdio.push(...attachments);
    if (plan.gate === true) stdio.push('pipe');
    child = spawn(file, args, {
      stdio,
      env: {},
      cwd: '/',
      ...(plan.hostId === undefined ? {} : { uid: plan.hostId, gid: plan.hostId }),
    });
  } catch (error) {
    discard(out);
    discard(err);
    throw error;
  } finally {
    for (const descriptor of attachments) closeSync(descriptor);
  }
  closeSync(out.writeEnd);
  closeSync(err.writeEnd);
  feed(child, memberFiles.length, plan.feeds);
  const gate = plan.gate === true ? (child.stdio[stdio.length - 1] as Writable | null | undefined) : undefined;
  gate?.on('error', () => undefined);
  // One that ended before it was let through: nobody reads this pipe, so only we can close it, and `close` waits for all of them.
  child.once('exit', () => gate?.destroy());

  let explanation = '';
  let sawOutput: (ready: boolean) => void = () => undefined;
  const ready = new Promise<boolean>((resolve) => {
    sawOutput = resolve;
  });
  const drained = Promise.all([
    readInto(
      out,
      (chunk) => {
        sawOutput(true);
        return log?.feed('stdout', chunk) ?? true;
      },
      log,
    ),
    readInto(
      err,
      (chunk) => {
        if (explanation.length < EXPLANATION) explanation += chunk.toString('utf8', 0, EXPLANATION);
        return log?.feed('stderr', chunk) ?? true;
      },
      log,
    ),
  ]).then(() => {
    sawOutput(false);
  });
  const status = readStatus(child.stdio[STATUS_FD] as Readable);
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => resolve({ exitCode: 1, executed: false, error: error.message }));
    // `close` comes after the status has been read to its end.
    child.once('close', (code, signal) => {
      const exitCode = status.exitCode() ?? code ?? 128 + 9;
      resolve({ exitCode, executed: status.executed() || signal !== null, error: explanation });
    });
  });
  return {
    boxPid: status.boxPid,
    ready,
    exited,
    drained,
    gone: endOf(status.boxPid),
    pass: () => gate?.end('.'),
    kill: () => endBox(child, status.boxPid),
    release: () => {
      out.release();
      err.release();
    },
  };
}

/**
 * A maker that dies while its box's first process waits for it leaves that behind for ever, with our pipes in its hands. So it is
 * killed only once that process is known, and after it.
 */
function endBox(child: ChildProcess, boxPid: Promise<number | undefined>): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const late = setTimeout(() => child.kill('SIGKILL'), MAKING_MS);
  void boxPid.then((pid) => {
    clearTimeout(late);
    if (pid !== undefined) {
      // Or it would say in the work's log what it makes of the end of its box.
      child.kill('SIGSTOP');
      signalAll([pid], 'SIGKILL');
    }
    child.kill('SIGKILL');
  });
}

function feed(child: ChildProcess, memberFiles: number, feeds: readonly Buffer[]): void {
  feeds.forEach((bytes, index) => {
    const stream = child.stdio[firstFeed(memberFiles) + index] as Writable | null | undefined;
    // A child that ended without reading is told of by its exit.
    stream?.on('error', () => undefined);
    stream?.end(bytes);
  });
}

function readInto(pipe: OpenPipe, take: (chunk: Buffer) => boolean, log: Sink | undefined): Promise<void> {
  return new Promise((done) => {
    const socket: Socket = new Socket({
      fd: pipe.readEnd,
      readable: true,
      writable: false,
      onread: {
        buffer: readBuffer,
        callback: (length: number) => {
          // What the log keeps it copies; false stops reading until there is room.
          const go = take(Buffer.from(readBuffer.subarray(0, length)));
          if (!go) log?.whenReady(() => socket.resume());
          return go;
        },
      },
    } as ConstructorParameters<typeof Socket>[0]);
    socket.on('error', () => undefined);
    socket.once('close', () => done());
    socket.resume();
  });
}

interface Status {
  readonly boxPid: Promise<number | undefined>;
  exitCode(): number | undefined;
  executed(): boolean;
}

function readStatus(stream: Readable): Status {
  let text = '';
  let exitCode: number | undefined;
  let known: (pid: number | undefined) => void = () => undefined;
  const boxPid = new Promise<number | undefined>((resolve) => {
    known = resolve;
  });
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const pid = /"child-pid": (\d+)/.exec(text)?.[1];
    if (pid !== undefined) known(Number(pid));
    const code = /"exit-code": (\d+)\D/.exec(text)?.[1];
    if (code !== undefined) exitCode = Number(code);
  });
  stream.on('error', () => undefined);
  stream.once('close', () => known(undefined));
  return {
    boxPid,
    exitCode: () => exitCode,
    executed: () => exitCode !== undefined && !text.includes('not-executed'),
  };
}

function discard(pipe: OpenPipe): void {
  closeSync(pipe.readEnd);
  closeSync(pipe.writeEnd);
  pipe.release();
}
