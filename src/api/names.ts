/**
 * What may be a name: of objects, labels, annotations, finalizers and field managers; and generated suffixes.
 * Each check answers undefined, or a sentence saying what is wrong in the words that Kubernetes uses.
 */

const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export const LABEL_NAME_PATTERN = LABEL.source;
export const SUBDOMAIN_NAME_PATTERN = SUBDOMAIN.source;

export const MAX_LABEL = 63;
export const MAX_SUBDOMAIN = 253;

/** Bytes of all keys and values of labels and annotations together. */
export const MAX_METADATA_BYTES = 256 * 1024;

/** Finalizers of Kubernetes itself; all others are qualified with a domain. */
export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

type Complaint = string | undefined;

export function checkLabelName(name: string): Complaint {
  if (name.length > MAX_LABEL) return `must be no more than ${MAX_LABEL} characters`;
  if (LABEL.test(name)) return undefined;
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
}

export function checkSubdomainName(name: string, max: number = MAX_SUBDOMAIN): Complaint {
  if (name.length > max) return `must be no more than ${max} characters`;
  if (SUBDOMAIN.test(name)) return undefined;
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
}

/** Keys of labels: `[domain/]name`. */
export function checkLabelKey(key: string): Complaint {
  const slash = key.indexOf('/');
  if (slash < 0) return checkQualifiedPart(key);
  if (key.includes('/', slash + 1)) return "must be a name part with an optional domain prefix and '/'";
  const prefix = checkSubdomainName(key.slice(0, slash));
  return prefix === undefined ? checkQualifiedPart(key.slice(slash + 1)) : `prefix part ${prefix}`;
}

/** Keys of annotations: as labels, but the case of the prefix does not matter. */
export function checkAnnotationKey(key: string): Complaint {
  return checkLabelKey(key.toLowerCase());
}

export function checkLabelValue(value: string): Complaint {
  if (value === '') return undefined;
  if (value.length > MAX_LABEL) return `must be no more than ${MAX_LABEL} characters`;
  if (QUALIFIED.test(value)) return undefined;
  return "a label value must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
}

export function checkFinalizer(name: string): Complaint {
  if (name === FOREGROUND_FINALIZER || name === ORPHAN_FINALIZER || name === 'kubernetes') return undefined;
  const complaint = checkLabelKey(name);
  if (complaint !== undefined) return complaint;
  return name.includes('/')
    ? undefined
    : 'a finalizer must be qualified with a domain, for example `example.com/cleanup`';
}

/** `fieldManager` of a write. */
export function checkFieldManager(name: string): Complaint {
  if (name.length > 128) return 'must be no more than 128 characters';
  return /^[\x20-\x7e\u00a0-\ud7ff\ue000-\uffff]*$/u.test(name) ? undefined : 'must consist of printable characters';
}

/** Letters and digits without vowels and look-alikes, as Kubernetes chooses them. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
export const SUFFIX_LENGTH = 5;
/** Bytes from here on would make the first letters likelier than the others. */
const FAIR = 256 - (256 % SUFFIX_ALPHABET.length);

/** `base` (cut so that the whole is at most 63 characters) with five random characters. */
export function generateName(base: string, randomBytes: (length: number) => Uint8Array): string {
  let suffix = '';
  while (suffix.length < SUFFIX_LENGTH) {
    for (const byte of randomBytes(SUFFIX_LENGTH)) {
      if (byte < FAIR && suffix.length < SUFFIX_LENGTH) suffix += SUFFIX_ALPHABET.charAt(byte % SUFFIX_ALPHABET.length);
    }
  }
  return base.slice(0, MAX_LABEL - SUFFIX_LENGTH) + suffix;
}

function checkQualifiedPart(name: string): Complaint {
  if (name === '') return 'name part must be non-empty';
  if (name.length > MAX_LABEL) return `name part must be no more than ${MAX_LABEL} characters`;
  if (QUALIFIED.test(name)) return undefined;
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
}
