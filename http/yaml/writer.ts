/**
 * Writes objects as YAML without holding the event loop: 50,000 values take it for a second. Small ones are written at once, larger ones
 * in a thread with its bounds (`thread.ts`).
 */
import { refuse } from '../../src/api/refusal.js';
import { openYamlThread } from './thread.js';
import { yamlOf } from './text.js';

/** Up to so many bytes of JSON are written at once: a few milliseconds at worst. */
const WRITE_AT_ONCE = 4 * 1024;
const WRITE_MS = 30_000;
const ASK_FOR_JSON = 'Send the header "Accept: application/json".';

export interface YamlWriter {
  /** The YAML of JSON; at once when that is short. Refuses with Unavailable. */
  write(org: string, json: Buffer): Uint8Array | Promise<Uint8Array>;
  close(): void;
}

export function openYamlWriter(writeMs = WRITE_MS): YamlWriter {
  const unavailable = (why: string) => (): Error =>
    refuse('Unavailable', why, { fix: ASK_FOR_JSON, retryAfterSeconds: 1 });
  const thread = openYamlThread<Uint8Array>({
    task: 'write',
    ms: writeMs,
    tooMany: unavailable('too many large answers are being written as YAML'),
    tooLong: unavailable('the answer takes too long to be written as YAML'),
    tooLarge: unavailable('the answer needs too much memory to be written as YAML'),
  });
  return {
    write: (org, json) => (json.length <= WRITE_AT_ONCE ? yamlOf(json) : thread.run(org, json)),
    close: thread.close,
  };
}
