/**
 * Raises two bounds of the kernel that hold for the whole machine and have no share for each box, where they are below what the machine's
 * memory is good for: open files, and process ids. Memory, of which every box has its own bound, then ends before they do. systemd does
 * the same at each boot; machines and containers without it keep the kernel's small defaults. A bound is never lowered.
 *
 * Where it may not be raised, one line of the log names the bound and the command for the operator.
 */
import { readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { numberIn } from '../../engines/compute/shared/process-share.js';

export interface MachineSettingsDeps {
  readonly uid: number;
  /** Bytes of the whole machine. */
  readonly memory: number;
  report(line: string): void;
  readonly directory?: string;
  /** Throws where the setting may not be changed. */
  readonly write?: (file: string, text: string) => void;
  /** Process ids are counted here as the machine counts them. */
  readonly countsAll?: boolean;
}

/** The kernel counts less for an open file in the memory of its box. */
const BYTES_PER_FILE = 200;
/** Largest that the kernel takes. */
const MOST_PIDS = 2 ** 22;
/** Of the machine's own namespace of process ids; since kernel 6.14 others have a bound of their own, which says nothing of the machine's. */
const FIRST_NAMESPACE = 'pid:[4026531836]';

export function raiseMachineSettings(deps: MachineSettingsDeps): void {
  const { memory, directory = '/proc/sys', countsAll = isFirstNamespace() } = deps;
  raise('fs.file-max', join(directory, 'fs/file-max'), Math.floor(memory / BYTES_PER_FILE), true, deps);
  const threads = numberIn(join(directory, 'kernel/threads-max'));
  const pids = Math.min(threads ?? 0, MOST_PIDS);
  raise('kernel.pid_max', join(directory, 'kernel/pid_max'), pids, countsAll, deps);
}

function raise(name: string, file: string, wanted: number, allowed: boolean, deps: MachineSettingsDeps): void {
  const { uid, report, write = writeFileSync } = deps;
  const present = numberIn(file);
  if (present === undefined || present >= wanted) return;
  try {
    if (uid !== 0 || !allowed) throw new Error('not permitted');
    write(file, String(wanted));
    report(`raised ${name} from ${present} to ${wanted}, which this machine's memory is good for`);
  } catch {
    report(
      `${name} is ${present}, less than this machine's memory is good for, and may not be raised from here: sysctl -w ${name}=${wanted}`,
    );
  }
}

function isFirstNamespace(): boolean {
  try {
    return readlinkSync('/proc/self/ns/pid') === FIRST_NAMESPACE;
  } catch {
    return false;
  }
}
