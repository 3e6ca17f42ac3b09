/**
 * Counts the bytes that answers hold until they are complete, such as the output of commands that is answered as a whole. An org holds at
 * most as much as it leaves free: one alone half of it, and the next org always finds some.
 *
 * I10: ANSWER_BYTES in all. Orgs that hold nothing are forgotten.
 */

export const ANSWER_BYTES = 256 * 1024 * 1024;

export interface AnswerMemory {
  /** What one answer of this org holds. */
  open(org: string): HeldBytes;
}

export interface HeldBytes {
  /** Adds these bytes to what the answer holds. False: they find no room, and none of them is added. */
  hold(bytes: number): boolean;
  /** Gives all of them back. Harmless twice; nothing is held afterwards. */
  free(): void;
}

/** `most`: bytes, as ANSWER_BYTES. */
export function openAnswerMemory(most: number = ANSWER_BYTES): AnswerMemory {
  const orgs = new Map<string, number>();
  let all = 0;

  return {
    open(org) {
      let held = 0;
      let over = false;
      return {
        hold(bytes) {
          const ofOrg = (orgs.get(org) ?? 0) + bytes;
          if (over || ofOrg > most - all - bytes) return false;
          held += bytes;
          all += bytes;
          orgs.set(org, ofOrg);
          return true;
        },
        free() {
          if (over) return;
          over = true;
          all -= held;
          const left = (orgs.get(org) ?? 0) - held;
          if (left > 0) orgs.set(org, left);
          else orgs.delete(org);
        },
      };
    },
  };
}
