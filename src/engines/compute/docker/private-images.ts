/**
 * Knows which images of the daemon came by a login, and who has shown one since. All orgs share the daemon's images; so one that a
 * login has brought is for others only when their own login, or none, gets it from the registry as well.
 *
 * Ids are kept in a file, for as long as the data directory lives: the daemon keeps the images as long. A pull by a login stands there before
 * it begins, so that a crash leaves no image of which nobody knows how it came. Who may have one is kept in memory, as
 * hashes: after a restart the registry is asked again.
 */
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { RegistryLogin } from '../contract/engine.js';

/** Proofs kept at most; the oldest go, and the registry is asked again (I10). */
const MOST_SHOWN = 10_000;

const kept = z.object({ ids: z.array(z.string()), pulls: z.array(z.string()) });

export class PrivateImages {
  private readonly file: string;
  private readonly ids: Set<string>;
  /** Names that are being pulled by a login, and how often; those that a crash left unknown count as well. */
  private readonly pulls: Map<string, number>;
  private readonly shown = new Set<string>();
  private writing: Promise<void> = Promise.resolve();

  private constructor(file: string, { ids, pulls }: z.infer<typeof kept>) {
    this.file = file;
    this.ids = new Set(ids);
    this.pulls = new Map(pulls.map((name) => [name, 1]));
  }

  static async load(file: string): Promise<PrivateImages> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return new PrivateImages(file, text === undefined ? { ids: [], pulls: [] } : kept.parse(JSON.parse(text)));
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }

  /** `names`: all that the daemon has for this id, as `begin` was given them. */
  mayHave(id: string, names: readonly string[], login: RegistryLogin | undefined): boolean {
    const isPrivate = this.ids.has(id) || names.some((name) => this.pulls.has(name));
    return !isPrivate || this.shown.has(proofOf(id, login));
  }

  /** The registry has given it for this login, or for none. */
  show(id: string, login: RegistryLogin | undefined): void {
    const [oldest] = this.shown;
    if (oldest !== undefined && this.shown.size >= MOST_SHOWN) this.shown.delete(oldest);
    this.shown.add(proofOf(id, login));
  }

  /** To be awaited before the daemon is asked to pull a name that it does not have, or that is private, by a login. */
  begin(name: string): Promise<void> {
    this.pulls.set(name, (this.pulls.get(name) ?? 0) + 1);
    return this.write();
  }

  /** `id`: what it has brought; undefined: nothing. */
  end(name: string, id: string | undefined): Promise<void> {
    const others = (this.pulls.get(name) ?? 1) - 1;
    // Whatever others bring is known by its id now.
    if (others === 0 || id !== undefined) this.pulls.delete(name);
    else this.pulls.set(name, others);
    if (id !== undefined) this.ids.add(id);
    return this.write();
  }

  private write(): Promise<void> {
    const write = async (): Promise<void> => {
      const text = JSON.stringify({ ids: [...this.ids], pulls: [...this.pulls.keys()] });
      await writeFile(`${this.file}.new`, text, { mode: 0o600, flush: true });
      await rename(`${this.file}.new`, this.file);
    };
    this.writing = this.writing.then(write, write);
    return this.writing;
  }
}

function proofOf(id: string, login: RegistryLogin | undefined): string {
  const words = login === undefined ? [id] : [id, login.username, login.password];
  return createHash('sha256').update(JSON.stringify(words)).digest('base64');
}
