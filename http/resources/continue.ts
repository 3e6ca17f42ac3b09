/**
 * The `continue` token: which version the list is true at, the last key that was shown, and how many are left. Opaque to clients and
 * checked on return; it grants nothing (org and project come from the request), so it needs no signature.
 */
import { refuse } from '../../src/api/refusal.js';
import { isName } from '../target.js';

export interface PageMark {
  readonly version: number;
  readonly project: string;
  readonly name: string;
  /** Objects after it, when that is known. */
  readonly left?: number | undefined;
}

/** Changes when the meaning changes; older tokens are then BadRequest. */
const FORMAT = 1;

export function writeContinue({ version, project, name, left }: PageMark): string {
  return Buffer.from(JSON.stringify([FORMAT, version, project, name, ...(left === undefined ? [] : [left])])).toString(
    'base64url',
  );
}

function parse(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** `project` is the one listed, or undefined for every project: a token of another place is refused. */
export function readContinue(token: string, project: string | undefined): PageMark {
  const read = token.length <= 1024 ? parse(token) : undefined;
  if (Array.isArray(read) && (read.length === 4 || read.length === 5)) {
    const [format, version, at, name, left] = read as unknown[];
    if (
      format === FORMAT &&
      typeof version === 'number' &&
      Number.isSafeInteger(version) &&
      version > 0 &&
      typeof at === 'string' &&
      (at === '' || isName(at)) &&
      (project === undefined || at === project) &&
      typeof name === 'string' &&
      isName(name) &&
      (left === undefined || (typeof left === 'number' && Number.isSafeInteger(left) && left > 0))
    ) {
      return { version, project: at, name, left };
    }
  }
  throw invalidContinue();
}

export function invalidContinue(): Error {
  return refuse('BadRequest', 'continue key is not valid', {
    causes: [{ field: 'continue', reason: 'FieldValueInvalid', message: 'is not a continue token of this list' }],
    fix: 'Pass metadata.continue of the previous page unchanged, or list again without continue.',
  });
}
