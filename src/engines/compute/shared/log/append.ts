/** Adds one line to a log whose writer is gone: at the end of its last segment, past any half-written frame. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FRAME_OVERHEAD, readFrame, SEGMENT_HEAD, writeFrame } from './frame.js';

/** Does nothing when there is no log: silent work leaves none. */
export async function appendSystemLine(
  directory: string,
  container: string,
  time: number,
  text: string,
): Promise<void> {
  const segments = await segmentsOf(directory, container);
  const last = segments.at(-1);
  if (last === undefined) return;
  const file = await open(last.path, 'r+');
  try {
    const bytes = await file.readFile();
    let end = Math.min(SEGMENT_HEAD, bytes.length);
    for (let frame = readFrame(bytes, end); frame !== undefined; frame = readFrame(bytes, end)) end += frame.size;
    const line = Buffer.from(`[${text}]\n`);
    const frame = Buffer.alloc(line.length + FRAME_OVERHEAD);
    writeFrame(frame, 0, 'system', time, false, line, 0, line.length);
    await file.truncate(end);
    await file.write(frame, 0, frame.length, end);
  } finally {
    await file.close();
  }
}

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
