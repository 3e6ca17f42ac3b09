/**
 * Reading the client's half of a body: metadata and spec against their schemas, with defaults, and the members that
 * nobody knows or that stand there twice. All complaints of one body are collected, so that one answer tells them all.
 */
import { catalogImages } from '../image/catalog.js';
import { causesOf, duplicateField, TELLING, unknownField } from '../../api/causes.js';
import type { MetadataInput } from '../../api/metadata.js';
import { below } from '../../api/path.js';
import type { Cause, Refusal } from '../../api/refusal.js';
import { tooMany } from '../../api/sizes.js';
import { dropNulls, MAX_UNKNOWN, unknownFields } from '../../api/strict.js';
import { CATALOG_PROJECT } from '../../brand.js';
import type { KindDefinition } from '../kind.js';
import { METADATA, METADATA_SHAPE, planOf } from './plan.js';
import type { Target, WriteContext } from './prepared.js';
import { ratchet } from './ratchet.js';

/** `status` may be sent back and is ignored whatever is in it. */
const MEMBERS = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/** Most warnings of one answer: each is a header. */
const MAX_WARNINGS = 20;

export interface Complaints {
  readonly causes: Cause[];
  readonly unknown: string[];
}

export function noComplaints(): Complaints {
  return { causes: [], unknown: [] };
}

export function readMembers(body: Readonly<Record<string, unknown>>, complaints: Complaints): void {
  for (const key in body) {
    if (MEMBERS.has(key)) continue;
    if (complaints.unknown.length >= MAX_UNKNOWN) return;
    complaints.unknown.push(below('', key));
  }
}

/** Undefined when it cannot be read; the causes say why. */
export function readMetadata(given: unknown, complaints: Complaints): MetadataInput | undefined {
  const metadata = given ?? {};
  const long = tooMany(METADATA_SHAPE, metadata, 'metadata');
  if (long.length > 0) return void complaints.causes.push(...long);
  const parsed = METADATA.safeParse(metadata);
  complaints.unknown.push(...unknownFields(METADATA_SHAPE, metadata, 'metadata'));
  if (parsed.success) return parsed.data;
  const { issues = [] } = METADATA.safeParse(metadata, TELLING).error ?? {};
  complaints.causes.push(...causesOf(issues, metadata, 'metadata'));
  return undefined;
}

/**
 * The spec with its defaults; undefined when it is not valid. A missing spec is an empty one. `stored` is the spec that the
 * write replaces: what breaks a rule there already may stay as it is.
 */
export function readSpec(kind: KindDefinition, given: unknown, complaints: Complaints, stored?: unknown): unknown {
  const { spec: schema, specShape } = planOf(kind);
  const spec = given ?? {};
  const long = tooMany(specShape, spec, 'spec');
  if (long.length > 0) return void complaints.causes.push(...long);
  complaints.unknown.push(...unknownFields(specShape, spec, 'spec'));
  const parsed = schema.safeParse(spec);
  if (parsed.success) return parsed.data;
  const withoutNulls = dropNulls(specShape, spec);
  const again = schema.safeParse(withoutNulls, TELLING);
  if (again.success) return again.data;
  const { issues } = again.error;
  const left =
    stored === undefined ? { issues, spec: undefined } : ratchet(kind.schema.spec, withoutNulls, stored, issues);
  if (left.issues.length === 0) return left.spec;
  complaints.causes.push(...causesOf(left.issues, withoutNulls, 'spec'));
  return undefined;
}

/** Applies field validation: adds causes under Strict, answers warnings under Warn, nothing under Ignore. */
export function judgeFields(complaints: Complaints, ctx: WriteContext): readonly string[] {
  const { unknown, causes } = complaints;
  if (ctx.fieldValidation === 'Ignore' || (unknown.length === 0 && ctx.duplicates.length === 0)) return NONE;
  const found = [...unknown.map(unknownField), ...ctx.duplicates.map(duplicateField)];
  if (ctx.fieldValidation === 'Strict') {
    causes.push(...found);
    return NONE;
  }
  return found.slice(0, MAX_WARNINGS).map((cause) => cause.message);
}

const NONE: readonly string[] = [];

/**
 * Fields that are valid and not built yet: 501 naming each. A dry run is not refused for it: the caller says in its answer that
 * the real write would be.
 */
export function checkSupported(
  kind: KindDefinition,
  project: string,
  spec: unknown,
  ctx: WriteContext,
  target: Target,
): Refusal | undefined {
  if (kind.unbuilt === true) {
    // What is in the catalog is only read, and needs no machinery.
    if (project === CATALOG_PROJECT) return undefined;
    return {
      code: 'Unsupported',
      message: `${kind.plural} are not served yet; a dry run (dryRun=All) checks one`,
      causes: [{ field: 'kind', reason: 'Unsupported', message: 'not supported yet' }],
      target,
    };
  }
  if (kind.unsupported === undefined) return undefined;
  const fields = kind.unsupported(spec, ctx.context.images ?? 'Catalog');
  if (fields.length === 0) return undefined;
  const image = fields.some(isImage);
  return {
    code: 'Unsupported',
    message: `${kind.kind} does not support yet: ${fields.map(worded).join(', ')}`,
    causes: fields.map((field) => ({
      field,
      reason: 'Unsupported',
      message: isImage(field) ? ONLY_CATALOG : 'not supported yet',
    })),
    ...(image ? { fix: OTHER_IMAGES } : {}),
    target,
  };
}

/** For a dry run. A kind without any machinery says it for every object, so that is no news of this one. */
export function warningOf(kind: KindDefinition, unsupported: Refusal | undefined): readonly string[] {
  return unsupported === undefined || kind.unbuilt === true
    ? NONE
    : [`the real request would be refused: ${unsupported.message}`];
}

/** The image of work, also of a template; that of a sidecar is another matter. */
function isImage(field: string): boolean {
  return /(?:^|\.)(?:spec|defaults|template)\.image$/.test(field);
}

/** kubectl shows the message alone. */
function worded(field: string): string {
  return isImage(field) ? `${field} (${ONLY_CATALOG})` : field;
}

const ONLY_CATALOG = `the embedded engine has the images ${catalogImages().join(' and ')} only`;
const OTHER_IMAGES = `Use ${catalogImages().join(' or ')}; for any other image the operator runs the service with TROUPE_COMPUTE=docker.`;
