/**
 * Follows a stream of a transcription or of speech: events go on as they came, and the one of type `….done`, which has the usage, completes the
 * stream and says what it cost.
 */
import { isObject } from '../../../api/safe-value.js';
import { COST_MEMBER } from '../dialects/cost-member.js';
import { BrokenStreamError, type StreamFollower } from '../dialects/dialect.js';
import { COMPLETE, NOTHING, OPEN, parse, readData, writeFrame } from '../dialects/frames.js';
import { readUpstreamError, unknownUpstreamError } from '../dialects/upstream-error.js';
import { audioUseOf, type AudioUse, NO_AUDIO_USE } from './usage.js';

const DONE: ReadonlySet<unknown> = new Set(['transcript.text.done', 'speech.audio.done']);

export interface AudioFollower extends StreamFollower {
  /** What the stream has said that it has used. */
  readonly used: AudioUse;
  /** Of speech, so far. */
  readonly soundBytes: number;
}

/** What the stream has brought by its end. */
export interface AudioEnd {
  readonly used: AudioUse;
  readonly outputBytes: number;
  readonly soundBytes: number;
}

/** `costOf`: USD, as it is shown. */
export function followAudio(costOf: (end: AudioEnd) => string): AudioFollower {
  let state: StreamFollower['state'] = OPEN;
  let used = NO_AUDIO_USE;
  let outputBytes = 0;
  let soundBytes = 0;
  return {
    frame({ event, data }) {
      if (state.is !== 'Open' || data === '' || data.trim() === '[DONE]') return NOTHING;
      if (event === 'error') {
        state = { is: 'Failed', error: readUpstreamError(parse(data)) ?? unknownUpstreamError(data) };
        return NOTHING;
      }
      const said = readData(data);
      if (said['type'] === 'error' || said['error']) {
        state = { is: 'Failed', error: readUpstreamError(said) ?? unknownUpstreamError('') };
        return NOTHING;
      }
      if (event !== undefined && /[\r\n]/.test(event)) throw new BrokenStreamError('a frame of the stream has no type');
      // Sound is no text: an event of it counts as little.
      const { delta, audio } = said;
      const bytes = typeof delta === 'string' && typeof audio !== 'string' ? Buffer.byteLength(delta) : 1;
      outputBytes += bytes;
      if (typeof audio === 'string') soundBytes += Math.floor((audio.length * 3) / 4);
      if (!DONE.has(said['type'])) return { out: writeFrame(event, data), outputBytes: bytes };
      used = audioUseOf(said);
      state = COMPLETE;
      const { usage } = said;
      if (!isObject(usage)) return { out: writeFrame(event, data), outputBytes: bytes };
      const shown = { ...said, usage: { ...usage, [COST_MEMBER]: costOf({ used, outputBytes, soundBytes }) } };
      return { out: writeFrame(event, JSON.stringify(shown)), outputBytes: bytes };
    },
    get used() {
      return used;
    },
    get soundBytes() {
      return soundBytes;
    },
    usage: undefined,
    get state() {
      return state;
    },
    get outputBytes() {
      return outputBytes;
    },
    unreportedBytes: 0,
  };
}
