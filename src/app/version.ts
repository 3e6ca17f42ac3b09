/** The version of the program, as its package has it. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const PACKAGE = fileURLToPath(new URL('../../../package.json', import.meta.url));

/** `v0.1.0`. */
export async function readVersion(): Promise<string> {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(PACKAGE, 'utf8')));
  return `v${version}`;
}
