/** The segments of logs on the disk: how their files are called, and which there are. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export function segmentName(container: string, segment: number): string {
  return `${container}.${segment}.log`;
}

export interface Segment {
  readonly number: number;
  readonly path: string;
}

/** Segments of one container's log, oldest first; none when there is no log. */
export async function segmentsOf(directory: string, container: string): Promise<Segment[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    // Work that has printed nothing has no directory. One that cannot be read is no empty log.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .flatMap((name) => {
      const number = /^(.*)\.(\d+)\.log$/.exec(name);
      return number?.[1] === container ? [{ number: Number(number[2]), path: join(directory, name) }] : [];
    })
    .toSorted((a, b) => a.number - b.number);
}
