/**
 * Whether a body speaks of the object that its URL names: apiVersion, kind, name, namespace, and the name of a new
 * object. What is given must match; what is absent is filled from the URL. Mismatches are BadRequest, as in Kubernetes.
 */
import type { Address } from '../../api/address.js';
import { invalid } from '../../api/causes.js';
import type { MetadataInput } from '../../api/metadata.js';
import { checkLabelName, checkSubdomainName, generateName, MAX_LABEL, SUFFIX_LENGTH } from '../../api/names.js';
import type { Cause, Refusal } from '../../api/refusal.js';
import { isObject } from '../../api/safe-value.js';
import type { KindDefinition } from '../kind.js';
import { refused, targetOf } from './prepared.js';
import type { RefusedWrite, Target } from './prepared.js';

export function checkType(
  kind: KindDefinition,
  apiVersion: string,
  body: Readonly<Record<string, unknown>>,
): Refusal | undefined {
  const given = body['apiVersion'];
  if (absent(given) || given === apiVersion) {
    const word = body['kind'];
    if (absent(word) || word === kind.kind) return undefined;
    return badRequest(`the kind in the body (${show(word)}) does not match the kind of the URL (${kind.kind})`);
  }
  return badRequest(`the apiVersion in the body (${show(given)}) does not match that of the URL (${apiVersion})`);
}

export function checkAddress(address: Address, metadata: MetadataInput): Refusal | undefined {
  const { name, namespace } = metadata;
  if (!absent(name) && name !== address.name) {
    return badRequest(`the name in the body (${show(name)}) does not match the name of the URL (${address.name})`);
  }
  if (!absent(namespace) && namespace !== address.project) {
    return badRequest(
      address.project === ''
        ? `the body names a namespace (${show(namespace)}), and objects of this kind belong to the org`
        : `the namespace in the body (${show(namespace)}) does not match the namespace of the URL (${address.project})`,
    );
  }
  return undefined;
}

/**
 * Names are DNS subdomains; those of projects are labels, and those of kinds that run work have at most 63 characters,
 * because they become label values of their Attempts.
 */
export function checkName(
  kind: KindDefinition,
  name: string,
  field = 'metadata.name',
  shown = name,
): Cause | undefined {
  const complaint =
    kind.group === 'core'
      ? checkLabelName(name)
      : kind.runsWork === true
        ? checkSubdomainName(name, MAX_LABEL)
        : checkSubdomainName(name);
  if (complaint === undefined) return undefined;
  const value = JSON.stringify(shown.length <= 300 ? shown : `${shown.slice(0, 300)}…`);
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${complaint}` };
}

/** The same of a new object: what its name was made from is blamed for what it brought in. */
export function checkNewName(kind: KindDefinition, name: string, base: string | null | undefined): Cause | undefined {
  const cause = checkName(kind, name);
  if (base === undefined || base === null || base === '') return cause;
  const kept = name.slice(0, -SUFFIX_LENGTH);
  // Beside a name that a client chose it is stored as well.
  if (kept === '' || !base.startsWith(kept)) return cause ?? checkBase(kind, base);
  return cause && (checkName(kind, `${kept}a`, 'metadata.generateName', base) ?? cause);
}

/** However long: it is cut when a name is made from it. */
function checkBase(kind: KindDefinition, base: string): Cause | undefined {
  return checkName(kind, `${base.slice(0, MAX_LABEL - SUFFIX_LENGTH)}a`, 'metadata.generateName', base);
}

/** The name under which a create is addressed: `metadata.name`, or one made from `metadata.generateName`. */
export function nameForCreate(
  kind: KindDefinition,
  body: Readonly<Record<string, unknown>>,
  randomBytes: (length: number) => Uint8Array,
): { readonly outcome: 'Named'; readonly name: string } | RefusedWrite {
  const metadata = body['metadata'];
  const { name, generateName: base } = isObject(metadata) ? metadata : { name: undefined, generateName: undefined };
  if (typeof name === 'string' && name !== '') return named(kind, name);
  if (absent(name) && typeof base === 'string' && base !== '')
    return named(kind, generateName(base, randomBytes), base);
  const wrongType = !absent(name) || !absent(base);
  const cause: Cause = wrongType
    ? {
        field: absent(name) ? 'metadata.generateName' : 'metadata.name',
        reason: 'FieldValueTypeInvalid',
        message: 'Invalid value: must be a string',
      }
    : {
        field: 'metadata.name',
        reason: 'FieldValueRequired',
        message: 'Required value: name or generateName is required',
      };
  return refused(invalid(target(kind, ''), [cause]));
}

function named(
  kind: KindDefinition,
  name: string,
  base?: string,
): { readonly outcome: 'Named'; readonly name: string } | RefusedWrite {
  const cause = checkNewName(kind, name, base);
  return cause === undefined ? { outcome: 'Named', name } : refused(invalid(target(kind, name.slice(0, 300)), [cause]));
}

function target(kind: KindDefinition, name: string): Target {
  return targetOf(kind, { name });
}

function absent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function show(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 300) : typeof value;
}

function badRequest(message: string): Refusal {
  return { code: 'BadRequest', message };
}
