/** Owns reading the name that the operating system (or Node) gives an error: `ENOENT`, `ENOSPC`, … */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
