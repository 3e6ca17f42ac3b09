/**
 * Names in a spec: of objects, of projects, of objects of the catalog at a version, of scopes, and labels with their selectors.
 * Whether what is named exists is for admission (`references.ts`). Source: spec, "AgentRun", "AgentGroup", "Versioning" 5.
 */
import { z } from 'zod';
import { isScope } from '../../api/access/scope.js';
import { checkLabelKey, checkLabelValue, checkSubdomainName, SUBDOMAIN_NAME_PATTERN } from '../../api/names.js';
import { zMap, zName } from '../../api/schema.js';
import { BRAND, CATALOG_PROJECT } from '../../brand.js';
import type { Reference } from '../kind.js';
import { MOST_LABELS, MOST_REQUIREMENTS, MOST_VALUES } from './bounds.js';
import { addIssue, rules } from './rules.js';

/** `what`: a sentence, such as "Name of a Secret in the project." */
export function objectName(what: string): z.ZodType<string, string> {
  return zName().describe(what);
}

const LONGEST_VERSION = 128;
const SEMVER =
  /^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;

export function isSemVer(text: string): boolean {
  return text.length <= LONGEST_VERSION && SEMVER.test(text);
}

export const semVer = z.string().max(LONGEST_VERSION).regex(SEMVER, 'must be a semantic version such as 1.2.0');

const PREFIX = `${BRAND}/`;
const BODY = SUBDOMAIN_NAME_PATTERN.replace(/^\^/, '').replace(/\$$/, '');

export interface CatalogName {
  /** Undefined: the object's own project. */
  readonly project: string | undefined;
  readonly name: string;
  readonly version: string | undefined;
}

export function splitName(text: string): CatalogName {
  const project = text.startsWith(PREFIX) ? CATALOG_PROJECT : undefined;
  const rest = project === undefined ? text : text.slice(PREFIX.length);
  const at = rest.indexOf('@');
  return at < 0
    ? { project, name: rest, version: undefined }
    : { project, name: rest.slice(0, at), version: rest.slice(at + 1) };
}

/** `name`, or `svc/name` for one of the catalog. */
export const catalogName: z.ZodType<string, string> = z
  .string()
  .check(({ value, issues }) => {
    const { name, version } = splitName(value);
    const complaint = version === undefined ? checkSubdomainName(name) : 'must be a name without a version';
    if (complaint !== undefined) issues.push({ code: 'custom', input: value, message: complaint });
  })
  .meta({ pattern: `^(${PREFIX})?${BODY}$`, maxLength: PREFIX.length + 253 });

/** `name` or `name@1.2.0`, or `svc/name@1.2.0` for one of the catalog. */
export const versionedName: z.ZodType<string, string> = z
  .string()
  .check(({ value, issues }) => {
    const complaint = versionedComplaint(splitName(value));
    if (complaint !== undefined) issues.push({ code: 'custom', input: value, message: complaint });
  })
  .meta({ pattern: `^((${PREFIX})?${BODY}@[0-9A-Za-z.+-]+|${BODY})$`, maxLength: PREFIX.length + 253 + 129 });

function versionedComplaint({ project, name, version }: CatalogName): string | undefined {
  if (version === undefined && project !== undefined) return `must name a version: ${PREFIX}<name>@<version>`;
  if (version !== undefined && !isSemVer(version)) return 'must name a semantic version such as 1.2.0 after the @';
  return checkSubdomainName(name);
}

/** The reference of `field` to an object of this kind. A version that is named must be the one that the object has. */
export function catalogReference(kind: string, field: string, text: string): Reference {
  const { project, name, version } = splitName(text);
  return {
    field,
    kind,
    name,
    project,
    objection(found) {
      const { version: actual } = found.spec as { readonly version?: unknown };
      if (version === undefined || version === actual) return undefined;
      return `${kind} "${name}" is of version ${String(actual)}, not ${version}`;
    },
  };
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** Labels of an object, or labels that an object must have. */
export const labels = zMap(z.string(), z.string(), MOST_LABELS).check((ctx) => {
  for (const [key, value] of Object.entries(ctx.value)) {
    const badKey = checkLabelKey(key);
    const badValue = checkLabelValue(value);
    if (badKey !== undefined) ctx.issues.push({ code: 'custom', path: [key], message: badKey, input: key });
    else if (badValue !== undefined) ctx.issues.push({ code: 'custom', path: [key], message: badValue, input: value });
  }
});

const requirement = z
  .object({
    key: z.string().describe('Key of a label.'),
    operator: z.enum(OPERATORS).describe('How its value is compared.'),
    values: z.array(z.string()).max(MOST_VALUES).optional().describe('With In and NotIn, at least one; else none.'),
  })
  .check(
    rules(({ value: { key, operator, values = [] }, issues }) => {
      const badKey = checkLabelKey(key);
      if (badKey !== undefined) addIssue(issues, ['key'], badKey, 'FieldValueInvalid', key);
      const compares = operator === 'In' || operator === 'NotIn';
      const stands = operator === 'Exists' || operator === 'DoesNotExist';
      if (compares && values.length === 0) addIssue(issues, ['values'], `must have a value with operator ${operator}`);
      if (stands && values.length > 0) addIssue(issues, ['values'], `must be empty with operator ${operator}`);
      for (const [index, value] of values.entries()) {
        const badValue = checkLabelValue(value);
        if (badValue !== undefined) addIssue(issues, ['values', index], badValue, 'FieldValueInvalid', value);
      }
    }),
  );

/** All of it must hold; an empty one selects everything. */
export const labelSelector = z.object({
  matchLabels: labels.optional().describe('Labels with exactly these values.'),
  matchExpressions: z.array(requirement).max(MOST_REQUIREMENTS).optional().describe('Requirements on labels.'),
});

export type LabelSelectorSpec = z.infer<typeof labelSelector>;

/** The name of a project, where a spec names one. */
export const projectNameField = zName({ form: 'label', description: 'Name of a project.' });

/** Projects that something is held to. */
export const projectsField = z.array(projectNameField).max(256).nullable().optional();

/** More patterns than there are plurals and verbs say nothing new. */
const MOST_SCOPES = 128;

/** `spec.scopes` of keys and ServiceAccounts. */
export const scopesField = z
  .array(
    z
      .string()
      .refine(
        isScope,
        'must be `<plural>:read|write|exec`, `inference:invoke`, `billing:read|write`, `keys:write`, with `*` for either half',
      ),
  )
  .max(MOST_SCOPES);
