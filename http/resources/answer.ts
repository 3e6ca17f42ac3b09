/** Owns how one object is answered, in the form that the client asked for, with its ETag. */
import { stringify } from 'yaml';
import { readVersion } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { acceptForm, type Form } from '../accept.js';
import { notAcceptable } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { replyObject, type Headers } from '../reply.js';
import type { Room } from '../room.js';
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

export function answerObject(
  x: Exchange,
  room: Room,
  kind: KindDefinition,
  form: Form,
  status: number,
  body: Buffer,
  etag: string,
  headers: Headers = {},
): void {
  if (form.form !== 'object') {
    replyObject(x, status, room.renderings.of(form, kind, readIncludeObject(x)).single(body), etag, headers);
  } else if (form.yaml) {
    headers['content-type'] = 'application/yaml';
    replyObject(x, status, Buffer.from(stringify(JSON.parse(body.toString('utf8')))), etag, headers);
  } else {
    replyObject(x, status, body, etag, headers);
  }
}
