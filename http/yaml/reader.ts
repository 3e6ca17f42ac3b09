/**
 * Reads YAML bodies without holding the event loop: a kilobyte of YAML costs up to 3 ms, a hundred times as much as one of
 * JSON. Small ones are read at once, larger ones in a thread with its bounds (`thread.ts`).
 */
import { parseBody } from '../../src/api/json.js';
import { refuse } from '../../src/api/refusal.js';
import { MAX_YAML_BYTES } from '../../src/api/yaml.js';
import { openYamlThread } from './thread.js';

/** Up to so many bytes are read at once: some 20 ms at worst. */
const READ_AT_ONCE = 8 * 1024;
const READ_MS = 30_000;

type ParsedYaml = ReturnType<typeof parseBody>;

export interface YamlReader {
  read(org: string, bytes: Buffer): Promise<ParsedYaml>;
  close(): void;
}

export function openYamlReader(readMs = READ_MS): YamlReader {
  const thread = openYamlThread<ParsedYaml>({
    task: 'read',
    ms: readMs,
    tooMany: () =>
      refuse('Unavailable', 'too many large YAML bodies at once', {
        fix: 'Try again, or send JSON.',
        retryAfterSeconds: 1,
      }),
    tooLong: () => refuse('BadRequest', 'the YAML body takes too long to read'),
    tooLarge: () => refuse('RequestEntityTooLarge', 'the YAML body needs too much memory'),
  });
  return {
    async read(org, bytes) {
      // Too large is told without being read, so that costs nothing here either.
      if (bytes.length <= READ_AT_ONCE || bytes.length > MAX_YAML_BYTES) return parseBody(bytes, 'yaml');
      return thread.run(org, bytes);
    },
    close: thread.close,
  };
}
