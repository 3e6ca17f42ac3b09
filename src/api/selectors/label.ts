/**
 * Label selectors with the whole grammar of Kubernetes: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`,
 * `!a`, `a>1`, `a<1`, joined by commas. A selector is compiled once and then asked for many objects.
 */
import { checkLabelKey, checkLabelValue } from '../names.js';
import type { Refusal } from '../refusal.js';

export type Labels = Readonly<Record<string, string>> | undefined;

export interface LabelSelector {
  /** True for the selector that selects everything. */
  readonly everything: boolean;
  matches(labels: Labels): boolean;
}

export type LabelSelectorResult =
  | { readonly outcome: 'Selector'; readonly selector: LabelSelector }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

export type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

/** Requirements of one selector: each is asked of every object of a list. How many values one has does not matter. */
export const MAX_REQUIREMENTS = 100;

interface Requirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export const EVERYTHING: LabelSelector = { everything: true, matches: () => true };

/** Parses `labelSelector`. The empty text selects everything. */
export function parseLabelSelector(text: string): LabelSelectorResult {
  if (text.trim() === '') return { outcome: 'Selector', selector: EVERYTHING };
  try {
    return { outcome: 'Selector', selector: compileRequirements(new Parser(text).requirements()) };
  } catch (error) {
    if (!(error instanceof BadSelector)) throw error;
    return {
      outcome: 'Refused',
      refusal: {
        code: 'BadRequest',
        message: `unable to parse labelSelector: ${error.message}`,
        causes: [{ field: 'labelSelector', reason: 'FieldValueInvalid', message: error.message }],
        fix: FIX,
      },
    };
  }
}

const FIX = 'Write requirements such as `app=web,tier in (a,b),!legacy`, joined by commas.';

export function compileRequirements(requirements: readonly Requirement[]): LabelSelector {
  const tests = requirements.map(compile);
  return {
    everything: tests.length === 0,
    matches: (labels) => tests.every((test) => test(labels)),
  };
}

function compile({ key, operator, values }: Requirement): (labels: Labels) => boolean {
  const read = (labels: Labels): string | undefined =>
    labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
  const [first = ''] = values;
  const known = new Set(values);
  const number = Number(first);
  switch (operator) {
    case '=':
      return (labels) => read(labels) === first;
    case '!=':
      return (labels) => read(labels) !== first;
    case 'in':
      return (labels) => {
        const value = read(labels);
        return value !== undefined && known.has(value);
      };
    case 'notin':
      return (labels) => {
        const value = read(labels);
        return value === undefined || !known.has(value);
      };
    case 'exists':
      return (labels) => read(labels) !== undefined;
    case '!':
      return (labels) => read(labels) === undefined;
    case '>':
      return (labels) => isInteger(read(labels)) && Number(read(labels)) > number;
    default:
      return (labels) => isInteger(read(labels)) && Number(read(labels)) < number;
  }
}

/** Unwinds the parser; never leaves this file. */
class BadSelector extends Error {}

/** Blanks are passed over one by one: a pattern that took them along would begin again at each. */
const TOKEN = /==|!=|=|!|<|>|\(|\)|,|[^\s=!<>(),]+/g;
const SIGNS = new Set(['==', '!=', '=', '!', '<', '>', '(', ')', ',']);

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(TOKEN) ?? [];
  }

  requirements(): Requirement[] {
    const found: Requirement[] = [];
    for (;;) {
      found.push(this.#requirement());
      if (found.length > MAX_REQUIREMENTS) {
        throw new BadSelector(`a selector may have at most ${MAX_REQUIREMENTS} requirements`);
      }
      const next = this.#take();
      if (next === undefined) return found;
      if (next !== ',') throw new BadSelector(`found '${next}', expected: ',' or the end`);
      if (this.#peek() === undefined) throw new BadSelector("found '', expected: a requirement after ','");
    }
  }

  #requirement(): Requirement {
    if (this.#peek() === '!') {
      this.#take();
      return { key: this.#key(), operator: '!', values: [] };
    }
    const key = this.#key();
    const sign = this.#peek();
    if (sign === undefined || sign === ',') return { key, operator: 'exists', values: [] };
    this.#take();
    switch (sign) {
      case '=':
      case '==':
        return { key, operator: '=', values: [this.#value()] };
      case '!=':
        return { key, operator: '!=', values: [this.#value()] };
      case 'in':
      case 'notin':
        return { key, operator: sign, values: this.#values() };
      case '>':
      case '<': {
        const value = this.#value();
        if (!isInteger(value)) throw new BadSelector(`for '${sign}' the value must be an integer, and is '${value}'`);
        return { key, operator: sign, values: [value] };
      }
      default:
        throw new BadSelector(`found '${sign}', expected: in, notin, =, ==, !=, >, <`);
    }
  }

  #key(): string {
    const key = this.#take();
    if (key === undefined || SIGNS.has(key)) throw new BadSelector(`found '${key ?? ''}', expected: identifier`);
    const complaint = checkLabelKey(key);
    if (complaint !== undefined) throw new BadSelector(`key '${key}': ${complaint}`);
    return key;
  }

  /** `a=` and `a=,b` ask for the empty value. */
  #value(): string {
    const next = this.#peek();
    if (next === undefined || next === ',') return '';
    if (SIGNS.has(next)) throw new BadSelector(`found '${next}', expected: identifier`);
    this.#take();
    return checkedValue(next);
  }

  #values(): readonly string[] {
    if (this.#take() !== '(') throw new BadSelector("expected '(' after in or notin");
    const values = new Set<string>();
    let open = true;
    for (;;) {
      const next = this.#take();
      if (next === ')' || next === ',') {
        // Kubernetes reads `(a,,b)` and `(,)` as holding the empty value.
        if (open) values.add('');
        open = next === ',';
        if (next === ')') return [...values];
      } else if (next === undefined || SIGNS.has(next)) {
        throw new BadSelector(`found '${next ?? ''}', expected: ',', ')' or identifier`);
      } else {
        if (!open) throw new BadSelector(`found '${next}', expected: ',' or ')'`);
        values.add(checkedValue(next));
        open = false;
      }
    }
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(): string | undefined {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    return token;
  }
}

function checkedValue(value: string): string {
  const complaint = checkLabelValue(value);
  if (complaint !== undefined) throw new BadSelector(`value '${value}': ${complaint}`);
  return value;
}

function isInteger(text: string | undefined): boolean {
  return text !== undefined && /^-?\d{1,18}$/.test(text);
}
