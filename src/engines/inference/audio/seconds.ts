/**
 * How many seconds a recording has, before anybody has listened to it: for WAV by what its samples take; for all others by the bytes that a second takes
 * at least, and as a rule. What a header claims of the length is not believed. Pure.
 */

/** More bytes does a second of speech take in any usual format, MP3 at its least rate and AMR included. */
const LEAST_BYTES_A_SECOND = 500;
/** 32 kbit/s. */
const USUAL_BYTES_A_SECOND = 4_000;
/** Of the file, that are looked at. */
export const HEAD_BYTES = 64;

export interface Seconds {
  /** At most. */
  readonly bound: number;
  /** Our count, where the upstream reports none. */
  readonly estimate: number;
}

/** `head`: the first HEAD_BYTES of the file. */
export function secondsOf(head: Buffer, bytes: number): Seconds {
  const rate = wavRate(head);
  // Servers report whole seconds, rounded up.
  const most = Math.ceil(bytes / (rate ?? LEAST_BYTES_A_SECOND));
  return { bound: most, estimate: bytes / (rate ?? USUAL_BYTES_A_SECOND) };
}

/** Bytes of a second: of samples, not of what the header says they come to. */
function wavRate(head: Buffer): number | undefined {
  if (head.length < 36 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 16) !== 'WAVEfmt ')
    return undefined;
  const [format, channels, rate, bits] = [
    ...[head.readUInt16LE(20), head.readUInt16LE(22), head.readUInt32LE(24), head.readUInt16LE(34)],
  ] as [number, number, number, number];
  // 1: PCM, 3: floats, 0xfffe: either of them.
  const isPlain = format === 1 || format === 3 || format === 0xfffe;
  const isUsual = channels >= 1 && channels <= 8 && rate >= 1_000 && rate <= 192_000 && bits >= 8 && bits <= 64;
  return isPlain && isUsual ? (channels * rate * bits) / 8 : undefined;
}

/** Until which second subtitles (SubRip or WebVTT) go, by the last of them. Undefined: there are none. */
export function secondsOfSubtitles(text: string): number | undefined {
  const last = [...text.matchAll(/--> *(?:(\d{1,3}):)?(\d\d):(\d\d)[.,](\d{3})/g)].at(-1);
  if (last === undefined) return undefined;
  const [hours, minutes, seconds, thousandths] = last.slice(1).map((part) => Number(part ?? 0));
  return (hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0) + (thousandths ?? 0) / 1_000;
}
