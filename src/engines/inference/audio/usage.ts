/** What an answer about sound says that it has used: seconds of a recording, or tokens. Pure. */
import { isObject } from '../../../api/safe-value.js';
import { type Usage, ZERO_USAGE } from '../../../money/model-prices.js';
import { countOr, isTokenCount } from '../dialects/numbers.js';

export interface AudioUse {
  /** Undefined: none are reported. */
  readonly seconds: number | undefined;
  readonly tokens: Usage | undefined;
}

export const NO_AUDIO_USE: AudioUse = { seconds: undefined, tokens: undefined };
/** A day. More is past all that is held as well. */
const MOST_SECONDS = 86_400;

/** `answer`: a whole one, or the last event of a stream. */
export function audioUseOf(answer: unknown): AudioUse {
  if (!isObject(answer)) return NO_AUDIO_USE;
  const { usage, duration } = answer;
  const { type, seconds, input_tokens: input, output_tokens: output } = isObject(usage) ? usage : {};
  const tokens = isTokenCount(input)
    ? { ...ZERO_USAGE, inputTokens: input, outputTokens: countOr(output, 0) ?? 0 }
    : undefined;
  return { seconds: type === 'duration' ? secondsOr(seconds) : secondsOr(duration), tokens };
}

/** Some servers write numbers as strings. */
function secondsOr(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof seconds === 'number' && seconds >= 0 ? Math.min(seconds, MOST_SECONDS) : undefined;
}
