/** Frames of a log that are written together, so that one write carries the lines of many chunks. Pure. */

/** Bytes written at once at most. */
export const GROUP = 64 * 1024;

/** Encoded frames that are written together. */
export interface Group {
  /** What of them is still to be written. */
  frames: Buffer;
  /** Some of them are in the segment, perhaps half a frame: the others go behind, before anything else. */
  begun: boolean;
  readonly lines: number;
  readonly bytes: number;
  /** Its last line goes on in a later one. */
  readonly inLine: boolean;
}

/** Joins small groups, so that one write carries the lines of many chunks. */
export function* merge(batch: readonly Group[]): Generator<Group> {
  let joined: Group[] = [];
  let size = 0;
  for (const group of batch) {
    if (size > 0 && size + group.frames.length > GROUP) {
      yield joinGroups(joined);
      joined = [];
      size = 0;
    }
    joined.push(group);
    size += group.frames.length;
  }
  if (size > 0) yield joinGroups(joined);
}

function joinGroups(groups: readonly Group[]): Group {
  const [first] = groups;
  if (first !== undefined && groups.length === 1) return first;
  return {
    frames: Buffer.concat(groups.map((group) => group.frames)),
    begun: false,
    lines: groups.reduce((sum, group) => sum + group.lines, 0),
    bytes: groups.reduce((sum, group) => sum + group.bytes, 0),
    inLine: groups.at(-1)?.inLine ?? false,
  };
}
