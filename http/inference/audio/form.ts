/**
 * Reads a form with one file (`multipart/form-data`): fields into memory, the file into what it is given, piece by piece, as fast as that takes it.
 *
 * I10: MOST_FIELDS fields of MOST_FIELD bytes, one file of MOST_FILE bytes; what brings nothing for IDLE_MS is cut.
 */
import { Transform } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { refuse } from '../../../src/api/refusal.js';
import type { Exchange } from '../../exchange.js';

const MOST_FIELDS = 64;
const MOST_FIELD = 64 * 1024;
/** With the file, and the end of the form. */
const MOST_PARTS = MOST_FIELDS + 2;
export const MOST_FILE = 100 * 2 ** 20;
const IDLE_MS = 60_000;

/** Of clients' libraries: a list is one field for each entry. */
const LISTS = /\[\]$/;

export interface Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly file: { readonly field: string; readonly name: string; readonly type: string; readonly bytes: number };
}

/** `write`: takes a piece of the file. Rejects with a refusal, or when the client breaks off. */
export async function readForm(x: Exchange, write: (chunk: Uint8Array) => Promise<void>): Promise<Form> {
  const type = x.header('content-type') ?? '';
  const boundary = boundaryOf(type);
  if (boundary === undefined)
    throw refuse(
      'UnsupportedMediaType',
      `the content type "${type.split(';')[0]?.slice(0, 64)}" is not supported here`,
      {
        fix: 'Send a form: Content-Type: multipart/form-data, with the sound as the field file.',
      },
    );
  x.req.setTimeout(IDLE_MS, () => x.req.destroy());
  try {
    return await parse(x, boundary, write);
  } catch (error) {
    // What is left of the body is not read: the connection ends with the answer.
    if (!x.res.headersSent) x.res.setHeader('connection', 'close');
    throw error;
  }
}

function boundaryOf(type: string): string | undefined {
  if (!/^multipart\/form-data\s*;/i.test(type)) return undefined;
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = quoted ?? bare ?? '';
  return /^[\w'()+,./:=? -]{1,70}$/.test(boundary) ? boundary : undefined;
}

/**
 * Passes a form on and counts its parts, named or not, before the parser sees them: it takes a thousand times as long over a part as over as many
 * bytes of a file.
 */
function countParts(boundary: string): Transform {
  const mark = Buffer.from(`\r\n--${boundary}`);
  // The first one begins the form.
  let end: Uint8Array = Buffer.from('\r\n');
  let parts = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      const seen = Buffer.concat([end, chunk]);
      for (let at = seen.indexOf(mark); at >= 0; at = seen.indexOf(mark, at + mark.length)) {
        parts += 1;
        if (parts > MOST_PARTS) return done(refuse('BadRequest', `the form has more than ${MOST_FIELDS} fields`));
      }
      end = seen.subarray(Math.max(0, seen.length - mark.length + 1));
      return done(null, chunk);
    },
  });
}

function parse(x: Exchange, boundary: string, write: (chunk: Uint8Array) => Promise<void>): Promise<Form> {
  return new Promise((resolve, reject) => {
    const fields: (readonly [string, string])[] = [];
    let file: Form['file'] | undefined;
    let writing: Promise<void> = Promise.resolve();
    const parser = new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      limits: {
        fieldNameSize: 100,
        fieldSize: MOST_FIELD,
        fields: MOST_FIELDS,
        files: 1,
        fileSize: MOST_FILE,
        headerPairs: 16,
      },
    });
    const counter = countParts(boundary);
    const fail = (error: unknown): void => {
      x.req.unpipe(counter);
      counter.unpipe(parser);
      parser.destroy();
      reject(error instanceof Error ? error : new Error('the form could not be read'));
    };
    const bad = (message: string, field = ''): void =>
      fail(refuse('BadRequest', message, { causes: [{ field, reason: 'FieldValueInvalid', message }] }));

    parser.on('field', (name, value, isNameCut, isCut) => {
      if (isNameCut || isCut)
        bad(`the field ${name.slice(0, 64)} is longer than ${MOST_FIELD} bytes`, name.slice(0, 64));
      else if (!LISTS.test(name) && fields.some(([other]) => other === name))
        bad(`the field ${name.slice(0, 64)} is there twice: servers differ in which they take`, name.slice(0, 64));
      else fields.push([name, value]);
    });
    parser.on('fieldsLimit', () => bad(`the form has more than ${MOST_FIELDS} fields`));
    parser.on('filesLimit', () => bad('the form has more than one file', 'file'));
    parser.on('file', (field, stream, name, _encoding, mime) => {
      const take = async (): Promise<void> => {
        let bytes = 0;
        for await (const chunk of stream as AsyncIterable<Uint8Array>) {
          bytes += chunk.length;
          await write(chunk);
        }
        if (stream.truncated)
          throw refuse('RequestEntityTooLarge', `the file is larger than ${MOST_FILE} bytes`, {
            fix: 'Send it in parts.',
          });
        file = { field, name: name ?? '', type: mime, bytes };
      };
      writing = take();
      writing.catch(fail);
    });
    counter.on('error', fail);
    parser.on('error', (error) =>
      bad(`the form could not be read: ${error instanceof Error ? error.message.slice(0, 200) : 'it is no form'}`),
    );
    parser.on('finish', () => {
      writing.then(() => {
        if (file === undefined) bad('the form has no file: send the sound as the field file', 'file');
        else resolve({ fields, file });
      }, fail);
    });
    // What has been received whole may still be lost: the connection ends with what comes behind it and is no request.
    const gone = (): void => {
      if (!x.req.readableEnded) fail(new Error('the client has left'));
    };
    x.req.once('close', gone);
    // The request may have ended while the file was being opened: then it emits no further event.
    if (x.req.destroyed) gone();
    else x.req.pipe(counter).pipe(parser);
  });
}
