/**
 * Holds the rules of a spec against what a write changes, and not against what it leaves as it was stored (Kubernetes calls
 * this ratcheting). A rule may be younger than an object: such an object must still be cancelled, stopped and labelled.
 * Pure.
 */
import type { z } from 'zod';
import { causesOf, TELLING, valueAt } from '../../api/causes.js';
import { equalJson } from '../../api/equal.js';
import { readLoosely } from '../../api/zod-internals.js';

type Issue = z.core.$ZodIssue;

export interface Ratcheted {
  /** Complaints about what the write brought. */
  readonly issues: readonly Issue[];
  /** The spec with its defaults; to be used where no complaint is left. */
  readonly spec: unknown;
}

/** `issues` are those of reading `given`. One is dropped where the stored spec breaks the same rule with the same value. */
export function ratchet(schema: z.ZodType, given: unknown, stored: unknown, issues: readonly Issue[]): Ratcheted {
  const before = schema.safeParse(stored, TELLING);
  if (before.success) return { issues, spec: undefined };
  const known = new Set(before.error.issues.map((issue) => wordsOf(issue, stored)));
  const spec = readLoosely(schema, given);
  const stands = (issue: Issue): boolean => {
    if (!known.has(wordsOf(issue, given))) return false;
    // Of what is missing, the object that lacks it; of the spec itself everything may change around it.
    const { path } = issue;
    const lacks = path.length > 1 && valueAt(given, path) === undefined;
    const judged = lacks ? path.slice(0, -1) : path;
    const old = valueAt(stored, judged);
    return equalJson(valueAt(given, judged), old) && equalJson(valueAt(spec, judged), old);
  };
  return { issues: issues.filter((issue) => !stands(issue)), spec };
}

function wordsOf(issue: Issue, root: unknown): string {
  return JSON.stringify(causesOf([issue], root, ''));
}
