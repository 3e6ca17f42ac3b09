/**
 * The places in which work lives: a numbered directory each, with root, workspace, outputs, state and home, owned by the
 * place's user and closed to everybody else. As root every place has a host user of its own, so that neither files nor processes of two
 * pieces of live work can touch. `real` is where places lie; `shown` is the same directory as their users can reach it.
 *
 * P1 Work finds its place as if new. Directories that the work before did not touch are kept, since making and deleting
 *    them is dear (file systems search long for an inode while many were just deleted); all others are removed. Untouched
 *    means: the change time is the one from when it was made, which no work can set back; and, since clocks of file systems
 *    tick slowly, only for directories that were AGE_MS old when the place was taken. Of the root, whose skeleton is made
 *    before anything is mounted in it, the same must hold for every directory of the skeleton.
 * P2 A place is given back only when nothing of its work runs any more.
 */
import { chmod, chown, existsSync, lstatSync, mkdir, readdir, rmdir, symlink } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Skeleton } from '../isolation/isolation.js';
import { PRIVATE, SYSTEM } from '../../engines/compute/shared/plain-name.js';
import { runTool } from '../../engines/compute/shared/tool.js';

// The promises of node:fs cost twice as much as these, and a start needs a dozen.
const makeDirectory = promisify(mkdir);
const changeOwner = promisify(chown);
const changeMode = promisify(chmod);
const removeDirectory = promisify(rmdir);
const makeLink = promisify(symlink) as (target: string, path: string) => Promise<void>;
const list = promisify(readdir) as (path: string) => Promise<string[]>;

export type ScratchArea = 'root' | 'workspace' | 'outputs' | 'state' | 'home' | 'tmp' | 'inputs' | 'unpacked';

const ALWAYS: readonly ScratchArea[] = ['root', 'workspace', 'outputs', 'state', 'home'];
const SOMETIMES: readonly ScratchArea[] = ['tmp', 'inputs', 'unpacked'];

/** Longer than a tick of any file system's clock. */
const AGE_MS = 100;

interface Made {
  /** Of the directory, or of all that a root is made of. */
  readonly changed: string;
  readonly at: number;
}

/** Where the parts of one place lie, as the runner reaches them. */
export type ScratchFiles = Pick<ScratchSlot, 'realPath'>;

export class ScratchSlot {
  /** Host user and group; undefined: the runner's own. */
  readonly hostId: number | undefined;
  readonly number: number;
  private readonly real: string;
  private readonly shown: string;
  private readonly made = new Map<ScratchArea, Made>();
  /** Directories of the root, by their paths inside; parents before children. */
  private readonly skeleton = new Set<string>();
  private links: Skeleton['links'] = [];
  private exists = false;
  private takenAt = 0;

  constructor(number: number, hostId: number | undefined, real: string, shown: string) {
    this.number = number;
    this.hostId = hostId;
    this.real = real;
    this.shown = shown;
  }

  /** True when all that lies here can be told apart from what work touches. */
  get aged(): boolean {
    return [...this.made.values()].every(({ at }) => Date.now() - at >= AGE_MS);
  }

  async prepare(more: readonly ScratchArea[], skeleton: Skeleton): Promise<void> {
    const known = this.skeleton.size;
    for (const path of skeleton.directories) this.plan(path);
    this.links = skeleton.links;
    // Another skeleton than that of the work before: begun anew, since it is rare.
    if (this.skeleton.size !== known && this.made.delete('root')) await removeTree(this.realPath('root'));
    await this.makeMissing(more);
    this.takenAt = Date.now();
  }

  private plan(path: string): void {
    if (path === '/' || this.skeleton.has(path)) return;
    this.plan(dirname(path));
    this.skeleton.add(path);
  }

  /** Nobody but the runner has written there yet, so no path leads through a link. */
  private async fillRoot(): Promise<void> {
    const root = this.realPath('root');
    for (const path of this.skeleton) await this.add(join(root, path), 0o755);
    for (const [path, target] of this.links) await makeLink(target, join(root, path));
  }

  private changeOf(part: ScratchArea): string {
    const at = this.realPath(part);
    const inner = part === 'root' ? this.skeleton : [];
    // In the kernel's memory: nothing waits for a disk.
    return [at, ...[...inner].map((path) => join(at, path))]
      .map((path) => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ctimeNs)
      .join();
  }

  private async makeMissing(more: readonly ScratchArea[]): Promise<void> {
    if (!this.exists) await makeDirectory(this.real, { mode: 0o711 });
    this.exists = true;
    const missing = [...ALWAYS.filter((part) => !this.made.has(part)), ...more];
    await Promise.all(missing.map((part) => (part === 'root' ? this.makeRoot() : this.add(this.realPath(part)))));
    if (missing.includes('root')) await this.fillRoot();
    for (const part of missing) this.made.set(part, { changed: this.changeOf(part), at: Date.now() });
  }

  /** Work makes in it what it likes; what the runner put there only the runner moves or removes (`../isolation/system.ts`). */
  private async makeRoot(): Promise<void> {
    const root = this.realPath('root');
    if (this.hostId === undefined) return this.add(root);
    await makeDirectory(root, { mode: 0o700 });
    await changeOwner(root, 0, this.hostId);
    await changeMode(root, 0o1770);
  }

  /** Makes one directory that belongs to the work's user. */
  async add(path: string, mode = 0o700): Promise<void> {
    await makeDirectory(path, { mode });
    if (this.hostId !== undefined) await changeOwner(path, this.hostId, this.hostId);
  }

  /** As the runner reaches it. */
  realPath(part: ScratchArea): string {
    return join(this.real, part);
  }

  /** As the work's user reaches it. */
  shownPath(part: ScratchArea): string {
    return join(this.shown, part);
  }

  /** What counts against the work's disk: all that it wrote or had unpacked, not the inputs that are only shown to it. */
  measured(): string[] {
    return [...ALWAYS, 'tmp', 'unpacked'].map((part) => join(this.real, part));
  }

  /** P1. Removes what the work touched, also what it made hard to remove, and makes it anew: it ages while nobody waits. */
  async clean(): Promise<void> {
    for (const part of [...ALWAYS, ...SOMETIMES]) {
      const made = this.made.get(part);
      if (made === undefined || (ALWAYS.includes(part) && this.isUntouched(part, made))) continue;
      this.made.delete(part);
      await removeTree(join(this.real, part));
    }
    await this.makeMissing([]);
  }

  private isUntouched(part: ScratchArea, made: Made): boolean {
    return this.takenAt - made.at >= AGE_MS && this.changeOf(part) === made.changed;
  }
}

export class Scratch {
  private readonly real: string;
  private readonly shown: string;
  private readonly idBase: number | undefined;
  private readonly count: number;
  private readonly free: ScratchSlot[] = [];
  /** Places of a runner before that hold what is still to be saved. */
  private readonly held = new Set<number>();
  private made = 0;

  /** At most `count` places; their users are `idBase` and the following, or the runner's own when undefined. */
  constructor(real: string, shown: string, idBase: number | undefined, count: number) {
    this.real = real;
    this.shown = shown;
    this.idBase = idBase;
    this.count = count;
  }

  /** Where the work's users find the prepared copy of the system's settings. */
  get shownSystem(): string {
    return join(this.shown, SYSTEM);
  }

  /** Where the work's users find their copies of the machine's files. */
  get shownPrivate(): string {
    return join(this.shown, PRIVATE);
  }

  /** The place that rested longest, if it rested long enough, or a new one; undefined when all are taken. */
  take(): ScratchSlot | undefined {
    while (this.held.has(this.made)) this.made++;
    if (this.free[0]?.aged === true || this.made >= this.count) return this.free.shift();
    const number = this.made++;
    const hostId = this.idBase === undefined ? undefined : this.idBase + number;
    return new ScratchSlot(number, hostId, join(this.real, String(number)), join(this.shown, String(number)));
  }

  /** P2. Throws when the place cannot be cleaned: then nobody gets it again. */
  async giveBack(slot: ScratchSlot): Promise<void> {
    await slot.clean();
    this.free.push(slot);
  }

  ownsUser(id: number): boolean {
    return this.idBase !== undefined && id >= this.idBase && id < this.idBase + this.count;
  }

  /** Removes the places of a runner before, but for those that hold what is still to be saved. */
  async clear(held: readonly number[]): Promise<void> {
    for (const number of held) this.held.add(number);
    for (const name of await list(this.real)) {
      if (!name.startsWith('.') && !this.held.has(Number(name))) await removeTree(join(this.real, name));
    }
  }

  /** Whether it lies there: not so after a restore of a backup without scratch. */
  isThere(number: number): boolean {
    return existsSync(join(this.real, String(number)));
  }

  heldSlot(number: number): ScratchFiles {
    return { realPath: (part) => join(this.real, String(number), part) };
  }

  /** All that was to be saved of it is. Its number is not given again by this runner. */
  async release(number: number): Promise<void> {
    await removeTree(join(this.real, String(number)));
  }
}

async function removeTree(path: string): Promise<void> {
  try {
    // Most directories are empty, which needs no process to remove.
    return await removeDirectory(path);
  } catch {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  }
  const remove = { file: 'rm', args: ['-rf', '--', path] };
  if ((await runTool(remove)).exitCode === 0) return;
  // Without root, a directory that the work closed to its owner stops rm.
  await runTool({ file: 'chmod', args: ['-R', 'u+rwX', '--', path] });
  const { exitCode, said } = await runTool(remove);
  if (exitCode !== 0) throw new Error(`cannot remove ${path}: ${said}`);
}
