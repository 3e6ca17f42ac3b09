/**
 * The query parameters and headers of writes: dryRun, fieldValidation, fieldManager, If-Match, Idempotency-Key.
 * Bad ones are answered as kube-apiserver answers them.
 */
import { sha256 } from '../../src/api/sha256.js';
import { checkFieldManager } from '../../src/api/names.js';
import { refuse, type Cause } from '../../src/api/refusal.js';
import type { WriteRequest } from '../../actors/resource-service.js';
import type { Exchange } from '../exchange.js';

export type FieldValidation = WriteRequest['fieldValidation'];

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly fieldManager: string;
  readonly ifMatch: string | undefined;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | undefined;
}

const FIELD_VALIDATIONS: readonly string[] = ['Strict', 'Warn', 'Ignore'];

export function invalid(message: string, causes: readonly Cause[]): Error {
  return refuse('Invalid', message, { causes });
}

/** One wrong option: 422 with its cause. */
export function unsupportedValue(field: string, value: string, supported: readonly string[]): Error {
  const shown = value.slice(0, 64);
  const message = `Unsupported value: "${shown}": supported values: ${supported.map((word) => `"${word}"`).join(', ')}`;
  return invalid(`${field}: ${message}`, [{ field, reason: 'FieldValueNotSupported', message }]);
}

export function readDryRun(values: readonly string[]): boolean {
  for (const value of values) if (value !== 'All') throw unsupportedValue('dryRun', value, ['All']);
  return values.length > 0;
}

function readFieldValidation(value: string | null): FieldValidation {
  if (value === null || value === '') return 'Warn';
  if (!FIELD_VALIDATIONS.includes(value)) throw unsupportedValue('fieldValidation', value, FIELD_VALIDATIONS);
  return value as FieldValidation;
}

/** Clients repeat one header for ever. Full (200, about 30 kB): forgotten at once. */
const managers = new Map<string, string>();

/** The part of the User-Agent before the slash, as kube-apiserver takes it. */
function managerOfAgent(agent = ''): string {
  let manager = managers.get(agent);
  if (manager !== undefined) return manager;
  manager = (agent.split('/', 1)[0] ?? '')
    .replace(/[^\x20-\x7e]/g, '')
    .slice(0, 128)
    .trim();
  if (manager === '') manager = 'unknown';
  if (managers.size >= 200) managers.clear();
  if (agent.length <= 128) managers.set(agent, manager);
  return manager;
}

function readFieldManager(value: string | null, agent: string | undefined): string {
  if (value === null || value === '') return managerOfAgent(agent);
  const complaint = checkFieldManager(value);
  if (complaint === undefined) return value;
  throw invalid(`fieldManager: ${complaint}`, [
    { field: 'fieldManager', reason: 'FieldValueInvalid', message: complaint },
  ]);
}

/** `"123"`, a weak `W/"123"` or a bare `123`; `*` means any version of an object that exists. */
export function readIfMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (text === '*') return undefined;
  const tag = /^(?:W\/)?"([^"]{1,128})"$/.exec(text)?.[1] ?? (/^[\w.-]{1,128}$/.test(text) ? text : undefined);
  if (tag === undefined) throw refuse('BadRequest', 'If-Match must be one entity tag, for example "123"');
  return tag;
}

/** The method, the path with its query, and the body: the same key with any of them different is another request. */
export function fingerprintOf(x: Exchange, body: Buffer): string {
  return sha256(Buffer.concat([Buffer.from(`${x.method} ${x.url}\n`), body]));
}

export function checkIdempotencyKey(key: string): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw refuse('BadRequest', 'Idempotency-Key must be 1 to 255 printable ASCII characters without blanks');
  }
}

/** Of a request that runs or writes each time it comes: its client counts on a second one doing nothing, so the header is refused. */
export function refuseIdempotencyKey(x: Exchange, why: string, fix?: string): void {
  if (x.header('idempotency-key') !== undefined) throw refuse('BadRequest', why, { fix });
}

function readIdempotency(x: Exchange, body: Buffer): WriteOptions['idempotency'] {
  const key = x.header('idempotency-key');
  if (key === undefined) return undefined;
  checkIdempotencyKey(key);
  return { key, fingerprint: fingerprintOf(x, body) };
}

export function readWriteOptions(x: Exchange, body: Buffer): WriteOptions {
  const agent = x.req.headers['user-agent'];
  const rest = { ifMatch: readIfMatch(x.header('if-match')), idempotency: readIdempotency(x, body) };
  if (!x.hasQuery) return { dryRun: false, fieldValidation: 'Warn', fieldManager: managerOfAgent(agent), ...rest };
  const { query } = x;
  return {
    dryRun: readDryRun(query.getAll('dryRun')),
    fieldValidation: readFieldValidation(query.get('fieldValidation')),
    fieldManager: readFieldManager(query.get('fieldManager'), agent),
    ...rest,
  };
}
