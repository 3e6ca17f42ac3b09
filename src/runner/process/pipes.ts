/**
 * Makes named pipes for the output of processes. Real pipes rather than the socket pairs that Node makes, because programs
 * open /dev/stdout again, which a socket refuses; named, because Node can open no other kind. Pipes are made many at a
 * time and used again once both ends are closed, so a start costs no process for them.
 */
import { spawn } from 'node:child_process';
import { chownSync, closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Pipes made at once. */
const BATCH = 64;

export interface OpenPipe {
  readonly readEnd: number;
  readonly writeEnd: number;
  /** To be called when the read end is closed and nothing of the work runs any more. */
  release(): void;
}

export class Pipes {
  private readonly directory: string;
  private readonly free: string[] = [];
  private made = 0;
  private making: Promise<void> | undefined;

  constructor(directory: string) {
    this.directory = directory;
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { mode: 0o700 });
  }

  /** A fresh pipe that `owner` may open again by its descriptor; nobody else can reach it. */
  async open(owner: number | undefined): Promise<OpenPipe> {
    const path = await this.take(owner);
    // Opening a pipe for reading without waiting, then for writing, never blocks.
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const writeEnd = openSync(path, constants.O_WRONLY);
      return { readEnd, writeEnd, release: () => this.free.push(path) };
    } catch (error) {
      closeSync(readEnd);
      throw error;
    }
  }

  private async take(owner: number | undefined): Promise<string> {
    while (this.free.length === 0) {
      this.making ??= this.make().finally(() => {
        this.making = undefined;
      });
      await this.making;
    }
    const path = this.free.pop() as string;
    chownSync(path, owner ?? process.getuid?.() ?? 0, owner ?? process.getgid?.() ?? 0);
    return path;
  }

  private make(): Promise<void> {
    const paths = Array.from({ length: BATCH }, (_, index) => join(this.directory, String(this.made + index)));
    this.made += BATCH;
    return new Promise((done, failed) => {
      const child = spawn('mkfifo', ['-m', '0600', '--', ...paths], { stdio: 'ignore' });
      child.once('error', failed);
      child.once('exit', (code) => {
        if (code !== 0) return failed(new Error(`mkfifo ended with ${code}`));
        this.free.push(...paths);
        done();
      });
    });
  }
}
