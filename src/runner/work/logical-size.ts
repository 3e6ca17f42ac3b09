/**
 * Measures what a directory of work of which nothing runs any more holds: the bytes of its files as a reader sees them, holes included,
 * each file once however many names it has. Links are not followed.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { UPLOAD_GLOB } from '../../engines/compute/shared/upload-names.js';
import { asOwner } from '../../engines/compute/shared/tool.js';

/** As long as packing may take. */
const LONGEST_MS = 30 * 60_000;

/** As they are packed. */
const FILES = ['-type', 'f', '!', '-name', UPLOAD_GLOB];

export async function logicalSize(directory: string): Promise<number> {
  const { file, args } = asOwner('find', [directory, ...FILES, '-printf', '%n %D:%i %s\\n']);
  const find = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'], cwd: '/', timeout: LONGEST_MS });
  const ended = new Promise<number>((done) => {
    find.once('error', () => done(127));
    find.once('close', (code) => done(code ?? 137));
  });
  const counted = new Set<string>();
  let bytes = 0;
  for await (const line of createInterface({ input: find.stdout })) {
    const [names, id = '', size] = line.split(' ');
    if (counted.has(id)) continue;
    // I10: only those with several names are remembered, of as many files as the work may have.
    if (names !== '1') counted.add(id);
    bytes += Number(size);
  }
  const code = await ended;
  if (code !== 0) throw new Error(`the size of the files cannot be measured: find ended with ${code}`);
  return bytes;
}
