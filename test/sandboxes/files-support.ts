/** What tests of files in a Sandbox share: archives, and downloads that break. */
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as tar from 'tar-stream';
import { SANDBOXES, type Sandboxes } from './sandboxes.js';

export async function archiveOf(
  entries: readonly (Parameters<tar.Pack['entry']>[0] & { readonly content?: string })[],
): Promise<Buffer> {
  const pack = tar.pack();
  for (const { content, ...headers } of entries) pack.entry(headers, content ?? '');
  pack.finalize();
  return buffer(pack);
}

/** Bytes that come of a download until it breaks; what is done `meanwhile` is done before more than its beginning is read. */
export function brokenDownload(
  boxes: Sandboxes,
  box: string,
  at: string,
  meanwhile: () => Promise<unknown>,
  below = 'files',
): Promise<number> {
  const { url, key } = boxes.client();
  return new Promise((resolve, reject) => {
    const download = request(`${url}${SANDBOXES}/${box}/${below}?path=${at}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    download.on('error', reject);
    download.on('response', (answer) => {
      let bytes = 0;
      answer.on('error', () => resolve(bytes));
      answer.on('end', () => reject(new Error('it ended well')));
      answer.once('readable', () => {
        meanwhile().then(() => answer.on('data', (part: Buffer) => (bytes += part.length)), reject);
      });
    });
    download.end();
  });
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}
