/**
 * Keeps what is wanted of work that has ended, in the data directory: its last state, one file each, written before the end is told, and its
 * outputs. Logs lie beside. All goes by `remove`.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkState } from '../contract/engine.js';
import { isPlainName } from '../shared/plain-name.js';

export class FinishedWork {
  private readonly base: string;
  private readonly states = new Map<string, WorkState>();

  /** Of the service's own socket, and of a directory for each box. Users of work may pass through, and list nothing. */
  get apiDirectory(): string {
    return join(this.base, 'api');
  }

  constructor(base: string) {
    this.base = base;
  }

  /** The part of it that one box is shown. Short, since a socket's path may have at most 107 bytes. */
  apiOf(id: string): string {
    return join(this.apiDirectory, createHash('sha256').update(id).digest('hex').slice(0, 12));
  }

  hasApiOf(id: string): boolean {
    return existsSync(this.apiOf(id));
  }

  async makeApiOf(id: string): Promise<string> {
    await mkdir(this.apiOf(id), { recursive: true });
    await chmod(this.apiOf(id), 0o711);
    return this.apiOf(id);
  }

  async load(): Promise<void> {
    for (const part of ['ends', 'outputs', 'logs'])
      await mkdir(join(this.base, part), { recursive: true, mode: 0o700 });
    await mkdir(this.apiDirectory, { recursive: true });
    await chmod(this.apiDirectory, 0o711);
    for (const name of await readdir(join(this.base, 'ends'))) {
      if (!name.endsWith('.json')) continue;
      const state = JSON.parse(await readFile(join(this.base, 'ends', name), 'utf8')) as WorkState;
      this.states.set(state.id, state);
    }
  }

  get(id: string): WorkState | undefined {
    return this.states.get(id);
  }

  all(): readonly WorkState[] {
    return [...this.states.values()];
  }

  /** Where the logs of all work are. */
  get logs(): string {
    return join(this.base, 'logs');
  }

  logDirectory(id: string): string {
    return join(this.logs, id);
  }

  outputDirectory(id: string): string {
    return join(this.base, 'outputs', id);
  }

  async write(state: WorkState): Promise<void> {
    const file = join(this.base, 'ends', `${state.id}.json`);
    await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
    this.states.set(state.id, state);
  }

  async remove(id: string, logs: boolean): Promise<void> {
    if (!isPlainName(id)) return;
    this.states.delete(id);
    await rm(join(this.base, 'ends', `${id}.json`), { force: true });
    await rm(this.outputDirectory(id), { recursive: true, force: true });
    await rm(this.apiOf(id), { recursive: true, force: true });
    if (logs) await rm(this.logDirectory(id), { recursive: true, force: true });
  }
}
