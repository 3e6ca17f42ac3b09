/** Adds one line to a log whose writer is gone: at the end of its last segment, past any half-written frame. */
import { open } from 'node:fs/promises';
import { FRAME_OVERHEAD, readFrame, SEGMENT_HEAD, writeFrame } from './frame.js';
import { segmentsOf } from './stored-segments.js';

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
