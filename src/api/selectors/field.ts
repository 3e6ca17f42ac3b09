/**
 * Field selectors: `path=value`, `path==value`, `path!=value`, joined by commas; `\\`, `\,` and `\=` stand for these
 * signs in values. Which paths may be asked for belongs to the caller, as a map from path to reader.
 */
import type { Refusal } from '../refusal.js';

export interface FieldTerm {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

export type FieldReader<Thing> = (thing: Thing) => string | undefined;

export interface FieldSelector<Thing> {
  readonly everything: boolean;
  readonly terms: readonly FieldTerm[];
  matches(thing: Thing): boolean;
  /** The value that `field` must have, when the selector says so with `=`: lets a list read one name instead of all. */
  exact(field: string): string | undefined;
}

export type FieldSelectorResult<Thing> =
  | { readonly outcome: 'Selector'; readonly selector: FieldSelector<Thing> }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

/** Terms of one selector: each is asked of every object of a list. */
const MAX_TERMS = 100;

/** Parses `fieldSelector` and compiles it against the readers. A field that nobody reads counts as the empty text. */
export function parseFieldSelector<Thing>(
  text: string,
  readers: ReadonlyMap<string, FieldReader<Thing>>,
): FieldSelectorResult<Thing> {
  const terms: FieldTerm[] = [];
  for (const part of splitTerms(text)) {
    if (part === '') continue;
    const term = parseTerm(part);
    if (term === undefined) return refused(`invalid selector: '${text}'; can't understand '${part}'`);
    if (!readers.has(term.field)) return refused(`field label not supported: ${term.field}`, [...readers.keys()]);
    terms.push(term);
    if (terms.length > MAX_TERMS) return refused(`a selector may have at most ${MAX_TERMS} terms`);
  }
  return { outcome: 'Selector', selector: compile(terms, readers) };
}

function compile<Thing>(
  terms: readonly FieldTerm[],
  readers: ReadonlyMap<string, FieldReader<Thing>>,
): FieldSelector<Thing> {
  const tests = terms.map(({ field, operator, value }) => {
    const read = readers.get(field);
    const wanted = operator === '=';
    return (thing: Thing): boolean => ((read?.(thing) ?? '') === value) === wanted;
  });
  return {
    everything: terms.length === 0,
    terms,
    matches: (thing) => tests.every((test) => test(thing)),
    exact: (field) => terms.find((term) => term.field === field && term.operator === '=')?.value,
  };
}

/** At commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

const TERM = /^((?:[^=!\\]|\\.)*?)(!=|==|=)(.*)$/s;

function parseTerm(part: string): FieldTerm | undefined {
  const [, field, sign, raw] = TERM.exec(part) ?? [];
  if (field === undefined || raw === undefined || field.trim() === '') return undefined;
  const value = unescape(raw);
  return value === undefined ? undefined : { field: field.trim(), operator: sign === '!=' ? '!=' : '=', value };
}

/** Undefined for a bare `=` and for a backslash before anything but the three signs, as in Kubernetes. */
function unescape(text: string): string | undefined {
  if (!/^(?:[^\\,=]|\\[\\,=])*$/s.test(text)) return undefined;
  return text.replaceAll(/\\([\\,=])/g, '$1');
}

function refused(message: string, known?: readonly string[]): { outcome: 'Refused'; refusal: Refusal } {
  const fix =
    known === undefined ? 'Write terms such as `metadata.name=a`, joined by commas.' : `Select by ${known.join(', ')}.`;
  const causes = [{ field: 'fieldSelector', reason: 'FieldValueInvalid', message }];
  return { outcome: 'Refused', refusal: { code: 'BadRequest', message, causes, fix } };
}
