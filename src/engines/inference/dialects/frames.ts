/** Frames of streams, read and written. */
import { isObject } from '../../../api/safe-value.js';
import { BrokenStreamError, type FollowedFrame } from './dialect.js';

export const NOTHING: FollowedFrame = { out: undefined, outputBytes: 0 };
export const OPEN = { is: 'Open' } as const;
export const COMPLETE = { is: 'Complete' } as const;

/** Throws a BrokenStreamError for data that is no JSON object. */
export function readData(data: string): Record<string, unknown> {
  const value = parse(data);
  if (!isObject(value)) throw new BrokenStreamError('a frame of the stream is no JSON object');
  return value;
}

/** Undefined: it is no JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A whole frame; each line of the data has its own `data:`. */
export function writeFrame(event: string | undefined, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}
