/**
 * Takes the lines of logs off the disk that no process writes any more. Of each log the head of its last segment stays, which has the numbers of
 * lines and bytes that there were. The reader shows them in a line of its own (`read-log.ts`).
 */
import { open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { segmentsOf } from './stored-segments.js';
import { FRAME_OVERHEAD, frameSize, isPartial, readSegmentHead, SEGMENT_HEAD, writeSegmentHead } from './frame.js';

/** Bytes read at once; every frame fits. */
const READ = 64 * 1024;

/** All logs of one piece of work, by its directory. Logs that go meanwhile are left alone. */
export async function cutStoredLogs(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const containers = new Set(names.flatMap((name) => /^(.*)\.\d+\.log$/.exec(name)?.[1] ?? []));
  for (const container of containers) {
    const segments = await segmentsOf(directory, container);
    const last = segments.at(-1);
    for (const { path } of segments.slice(0, -1)) await unlink(path).catch(() => undefined);
    if (last !== undefined) await cutToHead(last.path).catch(ignoreGone);
  }
}

async function cutToHead(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const buffer = Buffer.alloc(SEGMENT_HEAD);
    const { bytesRead } = await file.read(buffer, 0, SEGMENT_HEAD, 0);
    const head = bytesRead < SEGMENT_HEAD ? undefined : readSegmentHead(buffer);
    if (head === undefined) {
      await file.truncate(0);
      return;
    }
    const { lines, bytes, inLine } = await countedIn(file, head.inLine);
    // The head first: if the process ends in between, the head counts more as cut than was, and not less.
    await file.write(writeSegmentHead({ ...head, lines: head.lines + lines, bytes: head.bytes + bytes, inLine }), 0);
    await file.truncate(SEGMENT_HEAD);
  } finally {
    await file.close();
  }
}

/** Ends of lines, and bytes of output, of the whole frames of a segment, and whether they end within a line, as what was before may have. */
async function countedIn(
  file: FileHandle,
  before: boolean,
): Promise<{ readonly lines: number; readonly bytes: number; readonly inLine: boolean }> {
  const chunk = Buffer.allocUnsafe(READ);
  let lines = 0;
  let bytes = 0;
  let inLine = before;
  for (let at = SEGMENT_HEAD; ;) {
    const { bytesRead } = await file.read(chunk, 0, READ, at);
    const part = chunk.subarray(0, bytesRead);
    let used = 0;
    for (let size = frameSize(part, 0); size !== undefined; size = frameSize(part, used)) {
      inLine = isPartial(part, used);
      if (!inLine) lines++;
      bytes += size - FRAME_OVERHEAD;
      used += size;
    }
    if (used === 0) return { lines, bytes, inLine };
    at += used;
  }
}

function ignoreGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
