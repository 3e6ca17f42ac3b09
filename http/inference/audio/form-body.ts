/** Writes a form for an upstream: fields, then the file, which is read as it is sent. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FormBody } from '../../../src/engines/inference/upstream.js';
import type { Form } from './form.js';

/** `read`: the file's bytes, from the beginning. */
export function formBody({ fields, file }: Form, read: () => Readable): FormBody {
  const boundary = `form-${randomBytes(16).toString('hex')}`;
  const part = (disposition: string, more = ''): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`;
  const told = fields.map(([name, value]) => `${part(`name="${name}"`)}${value}\r\n`).join('');
  const name = `name="${file.field}"; filename="${nameOf(file.name)}"`;
  const head = Buffer.from(told + part(name, `Content-Type: ${typeOf(file.type)}\r\n`));
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield head;
    for await (const chunk of read()) yield chunk as Uint8Array;
    yield tail;
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: head.length + file.bytes + tail.length,
    open: () => Readable.from(whole(), { objectMode: false }),
  };
}

/** Servers tell the format by it. */
function nameOf(name: string): string {
  const plain = name.replaceAll(/[^\w .-]/g, '_').slice(-100);
  return plain === '' ? 'audio' : plain;
}

function typeOf(type: string): string {
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) && type.length <= 100 ? type : 'application/octet-stream';
}
