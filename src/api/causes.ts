/**
 * How complaints about fields are worded: zod's issues and our own checks become causes with Kubernetes' paths,
 * reasons and messages, and causes become the one refusal `Invalid`. A bad value is named only where it helps and is no
 * secret (I11): short scalars, and never below a field that carries values of secrets or environment.
 */
import { z } from 'zod';
import { causeLine } from './errors/cause-line.js';
import { fieldPath } from './path.js';
import type { Cause, Refusal } from './refusal.js';

export type CauseReason =
  | 'FieldImmutable'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueInvalid'
  | 'FieldValueNotFound'
  | 'FieldValueNotSupported'
  | 'FieldValueRequired'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid';

/** Most causes of one refusal: a client mends these first. */
export const MAX_CAUSES = 100;

/** Members under these names hold what must not be shown: data of Secrets, values of environment, credentials, input. */
const HIDDEN: ReadonlySet<PropertyKey> = new Set([
  'data',
  'stringData',
  'value',
  'token',
  'password',
  'apiKey',
  'stdin',
]);
const LONGEST_SHOWN = 80;

export function isHidden(keys: readonly PropertyKey[]): boolean {
  // `env`: an environment that is a map; in a list its `value` is hidden.
  return keys.some((key, at) => HIDDEN.has(key) || (key === 'env' && typeof keys[at + 1] === 'string'));
}

type Issue = z.core.$ZodIssue;

/** Causes for the issues of a parse of `root`, whose own path is `base`. */
export function causesOf(issues: readonly Issue[], root: unknown, base: string): Cause[] {
  const causes: Cause[] = [];
  for (const issue of issues) {
    if (causes.length >= MAX_CAUSES) break;
    addCauses(issue, issue.path, root, base, causes);
  }
  return causes;
}

/** To be given to a parse whose issues become causes: lists are told with their elements, and integers as such. */
export const TELLING: { readonly error: z.core.$ZodErrorMap } = {
  error: (issue) => {
    if (issue.code !== 'invalid_type') return undefined;
    const schema: unknown = issue.inst;
    if (schema instanceof z.ZodNumberFormat) return 'must be an integer';
    return schema instanceof z.ZodArray ? `must be a list${elementsOf(schema.element)}` : undefined;
  },
};

function elementsOf(element: z.core.$ZodType): string {
  if (element instanceof z.ZodPipe) return elementsOf(element.out);
  if (element instanceof z.ZodString || element instanceof z.ZodEnum) return ' of strings';
  if (element instanceof z.ZodNumber) return ' of numbers';
  return element instanceof z.ZodObject ? ' of objects' : '';
}

function addCauses(issue: Issue, keys: readonly PropertyKey[], root: unknown, base: string, causes: Cause[]): void {
  switch (issue.code) {
    case 'unrecognized_keys':
      for (const key of issue.keys) causes.push(unknownField(fieldPath(base, [...keys, key])));
      return;
    case 'invalid_element':
      for (const inner of issue.issues) addCauses(inner, [...keys, ...inner.path], root, base, causes);
      return;
    case 'invalid_union':
      addUnion(issue, keys, root, base, causes);
      return;
    default: {
      const value = valueAt(root, keys);
      causes.push({ field: fieldPath(base, keys), ...word(issue, value, isHidden(keys) ? '' : show(value)) });
    }
  }
}

type PlainIssue = Exclude<Issue, { code: 'unrecognized_keys' | 'invalid_element' | 'invalid_union' }>;
type Words = Omit<Cause, 'field'>;

/** `shown` is the bad value as text, or empty when it is not to be shown. */
function word(issue: PlainIssue, value: unknown, shown: string): Words {
  const bad = `Invalid value${shown === '' ? '' : `: ${shown}`}`;
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return required(typeRule(issue));
      return { reason: 'FieldValueTypeInvalid', message: `${bad}: ${typeRule(issue)}${butNot(issue, value)}` };
    case 'invalid_value':
      if (value === undefined) return required(`must be ${oneOf(issue.values)}`);
      return {
        reason: 'FieldValueNotSupported',
        message: `Unsupported value${shown === '' ? '' : `: ${shown}`}: must be ${oneOf(issue.values)}`,
      };
    case 'too_big':
      return wordTooBig(issue, value, bad);
    case 'too_small':
      return wordTooSmall(issue, value, bad);
    case 'invalid_format':
      return wrong(bad, formatRule(issue));
    case 'not_multiple_of':
      return wrong(bad, `must be a multiple of ${issue.divisor}`);
    case 'invalid_key':
      return wrong('Invalid key', issue.issues[0]?.message ?? 'not allowed here');
    default: {
      const reason = reasonOf(issue.params);
      if (reason === 'FieldValueRequired') return required(issue.message);
      return reason === 'FieldValueInvalid' ? wrong(bad, issue.message) : { reason, message: issue.message };
    }
  }
}

function wordTooBig(issue: Extract<Issue, { code: 'too_big' }>, value: unknown, bad: string): Words {
  if (issue.origin === 'string') {
    return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${issue.maximum} characters` };
  }
  if (isCollection(issue.origin)) {
    return {
      reason: 'FieldValueTooMany',
      message: `Too many: ${sizeOf(value)}must have at most ${sayItems(issue.maximum)}`,
    };
  }
  if (!issue.message.startsWith('Too big')) return wrong(bad, issue.message);
  return wrong(bad, `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`);
}

function wordTooSmall(issue: Extract<Issue, { code: 'too_small' }>, value: unknown, bad: string): Words {
  if (issue.origin === 'string') {
    return value === '' ? required('must not be empty') : wrong(bad, `must have at least ${issue.minimum} characters`);
  }
  if (isCollection(issue.origin))
    return wrong('Too few', `${sizeOf(value)}must have at least ${sayItems(issue.minimum)}`);
  if (!issue.message.startsWith('Too small')) return wrong(bad, issue.message);
  return wrong(bad, `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`);
}

function required(rule: string): Words {
  return { reason: 'FieldValueRequired', message: rule === '' ? 'Required value' : `Required value: ${rule}` };
}

function wrong(subject: string, rule: string): Words {
  return { reason: 'FieldValueInvalid', message: `${subject}: ${rule}` };
}

/** Of the options of a union, the one that came closest: whose complaints all lie deepest. */
function addUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  keys: readonly PropertyKey[],
  root: unknown,
  base: string,
  causes: Cause[],
): void {
  const options = issue.errors.filter((option) => option.length > 0);
  const closest = options.toSorted((one, other) => depthOfIssues(other) - depthOfIssues(one))[0];
  if (closest !== undefined && depthOfIssues(closest) > 0) {
    for (const inner of closest) addCauses(inner, [...keys, ...inner.path], root, base, causes);
    return;
  }
  const value = valueAt(root, keys);
  const field = fieldPath(base, keys);
  const types = options.flatMap((option) => option.map(expectedType)).filter((type) => type !== '');
  const words = [...new Set(types)].join(' or ');
  if (value === undefined) causes.push({ field, ...required(words === '' ? '' : `must be ${words}`) });
  else if (words === '') causes.push({ field, ...wrong('Invalid value', unionRule(issue)) });
  else {
    const message = `Invalid value: must be ${words}, not ${typeOf(value)}`;
    causes.push({ field, reason: 'FieldValueTypeInvalid', message });
  }
}

/** Of a union whose options are told apart by one member. */
function unionRule(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
  return options.length === 0 ? issue.message : `must be ${oneOf(options)}`;
}

function depthOfIssues(issues: readonly Issue[]): number {
  return Math.min(...issues.map((issue) => issue.path.length));
}

function expectedType(issue: Issue): string {
  if (issue.code === 'invalid_type') return typeName(issue.expected);
  return issue.code === 'invalid_value' ? oneOf(issue.values) : '';
}

export function unknownField(field: string): Cause {
  return { field, reason: 'FieldValueInvalid', message: `unknown field "${field}"` };
}

export function duplicateField(field: string): Cause {
  return { field, reason: 'FieldValueDuplicate', message: `duplicate field "${field}"` };
}

/** `Job.svc.dev "a" is invalid: spec.b: Required value`, as Kubernetes words it, with every cause. */
export function invalid(
  target: { readonly kind: string; readonly name: string; readonly group: string },
  causes: readonly Cause[],
): Refusal {
  const immutable = causes.length > 0 && causes.every((cause) => cause.reason === 'FieldImmutable');
  const subject = `${target.kind}${target.group === '' ? '' : `.${target.group}`} "${target.name}"`;
  const told = causes.slice(0, MAX_CAUSES);
  const lines = told.map(causeLine);
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return {
    code: immutable ? 'FieldImmutable' : 'Invalid',
    message: `${subject} is invalid: ${list}`,
    causes: told,
    target,
  };
}

/** The value at this path; undefined where there is none. */
export function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function show(value: unknown): string {
  if (typeof value === 'string') return value.length <= LONGEST_SHOWN ? JSON.stringify(value) : '';
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? String(value) : '';
}

function reasonOf(params: Readonly<Record<string, unknown>> | undefined): string {
  const reason = params?.['reason'];
  return typeof reason === 'string' ? reason : 'FieldValueInvalid';
}

/** The rule of a schema that has words of its own, else by the type. */
function typeRule(issue: Extract<Issue, { code: 'invalid_type' }>): string {
  return issue.message.startsWith('Invalid ') ? `must be ${typeName(issue.expected)}` : issue.message;
}

/** That 1.5 is a number does not help who was asked for an integer; nor does it after an example. */
function butNot({ expected, message }: Extract<Issue, { code: 'invalid_type' }>, value: unknown): string {
  const said = (expected === 'int' && typeof value === 'number') || message.includes('for example');
  return said ? '' : `, not ${typeOf(value)}`;
}

/** `1 item`, `2 items`. */
export function sayItems(count: number | bigint): string {
  return count === 1 ? '1 item' : `${count} items`;
}

function typeName(expected: string): string {
  switch (expected) {
    case 'int':
      return 'an integer';
    case 'array':
      return 'a list';
    case 'object':
      return 'an object';
    case 'record':
      return 'a map';
    default:
      return `a ${expected}`;
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value)));
  return words.length === 1 ? words.join('') : `one of ${words.join(', ')}`;
}

function isCollection(origin: string): boolean {
  return origin === 'array' || origin === 'set' || origin === 'map';
}

function sizeOf(value: unknown): string {
  return Array.isArray(value) ? `${value.length}: ` : '';
}

function formatRule(issue: Extract<Issue, { code: 'invalid_format' }>): string {
  if (!issue.message.startsWith('Invalid ')) return issue.message;
  if (issue.format === 'regex' && issue.pattern !== undefined) return `must match ${issue.pattern}`;
  return issue.format === 'email'
    ? 'must be an email address, for example ada@example.org'
    : `must be a valid ${issue.format}`;
}
