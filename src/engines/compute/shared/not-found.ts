/** How every engine says that a program does not exist, in the words that container runtimes use. Pure. */
export function executableNotFound(name: string): string {
  return `executable ${JSON.stringify(name)} not found${name.includes('/') ? '' : ' in PATH'}`;
}
