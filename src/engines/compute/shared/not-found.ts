/** How every engine says that a program does not exist, in the words that container runtimes use, or is called with too much. Pure. */
export function executableNotFound(name: string): string {
  return `executable ${JSON.stringify(name)} not found${name.includes('/') ? '' : ' in PATH'}`;
}

/** The kernel executes nothing of more bytes (E2BIG); no change of the program's file helps. */
export const TOO_LONG = 'its arguments and environment are too long';
