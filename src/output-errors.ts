/**
 * What a program prints is never a reason to end: a full disk, a reader that has gone or a terminal that was closed is an 'error' of the
 * stream, which ends a Node program that does not listen to it, also when it came from `console`. Lines that cannot be written are lost.
 */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}
