/** The thread that reads YAML: one body in, what became of it out. `reader.ts` starts it, bounds it and ends it. */
import { parentPort } from 'node:worker_threads';
import { parseBody } from '../../src/api/json.js';

parentPort?.on('message', (bytes: Uint8Array) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(parseBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 'yaml'));
});
