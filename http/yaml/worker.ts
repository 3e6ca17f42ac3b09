/** The thread for YAML: one piece of work in, what became of it out. `thread.ts` starts it, bounds it and ends it. */
import { parentPort } from 'node:worker_threads';
import { parseBody } from '../../src/api/json.js';
import { yamlOf } from './text.js';
import type { YamlTask } from './thread.js';

parentPort?.on('message', ({ task, bytes }: YamlTask) => {
  if (task === 'read') {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort?.postMessage(parseBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 'yaml'));
    return;
  }
  const text = yamlOf(bytes);
  parentPort?.postMessage(text, [text.buffer as ArrayBuffer]);
});
