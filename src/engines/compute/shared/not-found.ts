/**
 * How every engine says that a program does not exist, in the words that container runtimes use, or is called with too much. Names come from
 * clients and have any length, so messages have their beginning: a message has to fit into a frame, a condition and a log. Pure.
 */

/** Of a name in a message (characters). */
const SHOWN = 200;

/** For messages. */
export function shownName(name: string): string {
  return name.length > SHOWN ? `${name.slice(0, SHOWN)}… (${Buffer.byteLength(name)} bytes)` : name;
}

export function executableNotFound(name: string): string {
  return `executable ${JSON.stringify(shownName(name))} not found${name.includes('/') ? '' : ' in PATH'}`;
}

/** The kernel takes 255 bytes between slashes and 4,095 in all (ENAMETOOLONG): there is no such program. */
export function executableNameTooLong(name: string): string {
  return `${executableNotFound(name)}: its name of ${Buffer.byteLength(name)} bytes is too long`;
}

/** The kernel executes nothing of more bytes (E2BIG); no change of the program's file helps. */
export const TOO_LONG = 'its arguments and environment are too long';
