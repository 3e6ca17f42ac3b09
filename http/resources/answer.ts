/** How one object is answered, in the form that the client asked for, with its ETag. */
import { readVersion } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { acceptForm, type Form } from '../accept.js';
import { notAcceptable } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { replyObject, type Headers } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import type { IncludeObject } from '../table/rendering.js';
import { unsupportedValue } from './options.js';

const INCLUDES = ['None', 'Metadata', 'Object'];

export function readForm(x: Exchange): Form {
  const form = acceptForm(x.req.headers.accept);
  if (form === undefined) throw notAcceptable();
  return form;
}

export function readIncludeObject(x: Exchange): IncludeObject {
  const value = x.hasQuery ? (x.query.get('includeObject') ?? '') : '';
  if (value === '') return 'Metadata';
  if (!INCLUDES.includes(value)) throw unsupportedValue('includeObject', value, INCLUDES);
  return value as IncludeObject;
}

/** `status.resourceVersion` of stamped bytes, as text. */
export function etagOf(body: Buffer): string {
  return String(readVersion(body) ?? '');
}

/** Refuses with Unavailable what is large and asked for as YAML, when too much of that is under way. */
export async function answerObject(
  x: Exchange,
  context: ServerContext,
  kind: KindDefinition,
  form: Form,
  status: number,
  body: Buffer,
  etag: string,
  headers: Headers = {},
): Promise<void> {
  if (form.form !== 'object') {
    replyObject(x, status, context.renderings.of(form, kind, readIncludeObject(x)).single(body), etag, headers);
  } else if (form.yaml) {
    const written = await context.yaml.write(x.caller?.org ?? '', body);
    const text = Buffer.from(written.buffer, written.byteOffset, written.length);
    headers['content-type'] = 'application/yaml';
    replyObject(x, status, text, etag, headers);
  } else {
    replyObject(x, status, body, etag, headers);
  }
}
