/** What a body says of its object's own name and project, and what the URL and the body must agree on. */
import { refuse } from '../../src/api/refusal.js';
import { invalid } from './options.js';
import { isRecord } from './parse.js';

/** `name`, or what a name is to be made of. */
export function nameIn(body: Record<string, unknown>): { name: string | undefined; base: string } {
  const metadata = body['metadata'];
  if (isRecord(metadata)) {
    const { name, generateName: base } = metadata;
    if (typeof name === 'string' && name !== '') return { name, base: '' };
    if (isUnset(name) && typeof base === 'string' && base !== '') return { name: undefined, base };
    if (!isUnset(name)) throw notText('metadata.name');
    if (!isUnset(base)) throw notText('metadata.generateName');
  }
  const message = 'name or generateName is required';
  throw invalid(`metadata.name: Required value: ${message}`, [
    { field: 'metadata.name', reason: 'FieldValueRequired', message },
  ]);
}

function notText(field: string): Error {
  const message = 'Invalid value: must be a string';
  return invalid(`${field}: ${message}`, [{ field, reason: 'FieldValueTypeInvalid', message }]);
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

export function named(body: Record<string, unknown>, name: string): Record<string, unknown> {
  return { ...body, metadata: { ...(body['metadata'] as Record<string, unknown>), name } };
}

/** The project stands in the URL; a body that names another one is a mistake. */
export function sameProject(body: Record<string, unknown>, project: string): void {
  const metadata = body['metadata'];
  const said = isRecord(metadata) ? metadata['namespace'] : undefined;
  if (isUnset(said) || said === project) return;
  throw refuse('BadRequest', 'the namespace of the provided object does not match the namespace sent on the request');
}
