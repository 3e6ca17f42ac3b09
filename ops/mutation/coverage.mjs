/**
 * Reads what V8 has noted about the runs of a test file (NODE_V8_COVERAGE): which pieces of which built files were run. Pure but for
 * reading the notes.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @returns {Map<string, object[][]>} for each file below `dist`, by its name there, the functions of each process that loaded it */
export const readCoverage = (notes, dist) => {
  const below = `${pathToFileURL(dist).href}/`;
  const found = new Map();
  for (const note of existsSync(notes) ? readdirSync(notes) : []) {
    for (const { url, functions } of JSON.parse(readFileSync(join(notes, note), 'utf8')).result) {
      if (!url.startsWith(below)) continue;
      const file = decodeURIComponent(url.slice(below.length));
      found.set(file, [...(found.get(file) ?? []), functions]);
    }
  }
  return found;
};

/** Whether one of these processes ran the piece of the file that begins at `offset`: the smallest range around it says so. */
export const wasRun = (processes, offset) =>
  (processes ?? []).some((functions) => {
    let smallest;
    for (const { ranges } of functions) {
      for (const range of ranges) {
        if (range.startOffset > offset || offset >= range.endOffset) continue;
        const size = range.endOffset - range.startOffset;
        if (smallest === undefined || size <= smallest.size) smallest = { size, count: range.count };
      }
    }
    return smallest !== undefined && smallest.count > 0;
  });
