/**
 * Owns names of objects that are either in the object's own project (`name`) or in the catalog (`svc/name`), and, where
 * the kind has versions, at which one (`name@1.2.0`). In the catalog such a version must be named.
 * Source: spec, "AgentRun", "AgentGroup", "Versioning" 5.
 */
import { z } from 'zod';
import { checkSubdomainName, SUBDOMAIN_NAME_PATTERN } from '../../api/names.js';
import { BRAND, CATALOG_PROJECT } from '../../brand.js';
import type { Reference } from '../kind.js';
import { isSemVer } from './semver.js';

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
