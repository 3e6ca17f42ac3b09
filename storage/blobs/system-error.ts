/** Reads the code of an error of the operating system or of Node. */

/** The name it gives an error: `ENOENT`, `ENOSPC`, … */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function isDiskFull(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** For an 'error' event that a waiting caller also gets: without any listener it would end the process. */
export function ignoreError(): void {}
