/** What the whole answer to a transcription says: its text, what it has used, or why it is none. Pure. */
import { isObject } from '../../../api/safe-value.js';
import type { UpstreamError } from '../dialects/dialect.js';
import { secondsOfSubtitles } from './seconds.js';
import { audioUseOf, NO_AUDIO_USE, type AudioUse } from './usage.js';

/** Of a longer answer only its beginning and its end are looked at: it would hold the event loop. */
const PARSED = 2 ** 20;
const LOOKED_AT = 4_096;

export type Transcript =
  | { readonly outcome: 'Failed'; readonly error: UpstreamError | undefined }
  | {
      readonly outcome: 'Said';
      readonly used: AudioUse;
      /** Undefined: it is not known apart. */
      readonly text: string | undefined;
      readonly textBytes: number;
    };

/** `isJSON`: by the answer's content type. `readError`: of the upstream's dialect. */
export function readTranscript(
  bytes: Buffer,
  isJSON: boolean,
  readError: (answer: unknown) => UpstreamError | undefined,
): Transcript {
  const about = { outcome: 'Said', text: undefined, textBytes: bytes.length } as const;
  if (!isJSON) {
    const end = bytes.toString('utf8', Math.max(0, bytes.length - LOOKED_AT));
    return { ...about, used: { ...NO_AUDIO_USE, seconds: secondsOfSubtitles(end) } };
  }
  if (bytes.length > PARSED) {
    const ends = `${bytes.toString('utf8', 0, LOOKED_AT)} ${bytes.toString('utf8', bytes.length - LOOKED_AT)}`;
    const usage = /"usage"\s*:\s*(\{[^{}]*\})/.exec(ends)?.[1];
    const duration = /"duration"\s*:\s*"?([\d.]+)/.exec(ends)?.[1];
    return { ...about, used: audioUseOf({ usage: parsed(usage ?? ''), duration }) };
  }
  const value = parsed(bytes.toString('utf8'));
  if (!isObject(value)) return { outcome: 'Failed', error: undefined };
  const error = readError(value);
  if (error !== undefined) return { outcome: 'Failed', error };
  const text = typeof value['text'] === 'string' ? value['text'] : undefined;
  return { ...about, used: audioUseOf(value), text, ...(text !== undefined && { textBytes: Buffer.byteLength(text) }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
