/** Whether new objects are taken from clients now: the operator pauses new work, and a disk that is nearly full stops all of it. */
import type { AdmissionSwitch } from '../../storage/admissions.js';

export interface Pause {
  /** `Work`: objects that run something. */
  readonly what: 'Work' | 'AllObjects';
  readonly message: string;
}

export interface PauseSwitch {
  /** What is not taken from clients now, and why. */
  current(): Pause | undefined;
  /** Whether new work is paused; given a value, stores it first. */
  admissions(paused?: boolean): Promise<boolean>;
}

export async function openPause(stored: AdmissionSwitch, shortage?: () => string | undefined): Promise<PauseSwitch> {
  let paused = await stored.read();
  return {
    current() {
      const message = shortage?.();
      if (message !== undefined) return { what: 'AllObjects', message };
      return paused ? { what: 'Work', message: 'new work is paused by the operator of this deployment' } : undefined;
    },
    async admissions(next) {
      if (next !== undefined) {
        await stored.set(next);
        paused = next;
      }
      return paused;
    },
  };
}
