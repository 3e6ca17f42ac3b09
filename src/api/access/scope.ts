/**
 * The grammar of scopes and their algebra: which scope a pattern covers, and what two patterns have in common.
 *
 *   scope   = left ":" right
 *   left    = a plural | "inference" | "billing" | "keys" | "operator" | "*"
 *   right   = "read" | "write" | "exec" | "invoke" | "*"
 *
 * `*` stands for every word on its side, with one exception: `operator:*` is a word of its own. It is matched literally
 * and covered by no star, so that an org's Owner (`*:*`) is not an operator.
 * Source: spec, "Authentication"; the meaning of each right half is in the docs ("read": get, list, watch, logs; "write":
 * create, replace, patch, delete; "exec": exec, files, terminal, calls, messages).
 */
import { ORG_PLURALS, PROJECT_PLURALS } from './plurals.js';

export const OPERATOR_SCOPE = 'operator:*';

const OBJECT_VERBS: ReadonlySet<string> = new Set(['read', 'write', 'exec', '*']);

/** Right halves that each left half may have. */
const VERBS: ReadonlyMap<string, ReadonlySet<string>> = new Map<string, ReadonlySet<string>>([
  ...[...PROJECT_PLURALS, ...ORG_PLURALS, 'events', 'blobs'].map((plural) => [plural, OBJECT_VERBS] as const),
  ['inference', new Set(['invoke', '*'])],
  ['billing', new Set(['read', 'write', '*'])],
  ['keys', new Set(['write', '*'])],
  ['operator', new Set(['*'])],
  ['*', new Set(['read', 'write', 'exec', 'invoke', '*'])],
]);

function halves(scope: string): readonly [string, string] {
  const at = scope.indexOf(':');
  return at < 0 ? [scope, ''] : [scope.slice(0, at), scope.slice(at + 1)];
}

/** True for a pattern that someone may hold. */
export function isScope(text: string): boolean {
  const [left, right] = halves(text);
  return VERBS.get(left)?.has(right) ?? false;
}

/** True when whoever holds `pattern` may do everything that `scope` (itself maybe a pattern) names. */
export function covers(pattern: string, scope: string): boolean {
  if (pattern === scope) return true;
  const [left, right] = halves(pattern);
  const [wantedLeft, wantedRight] = halves(scope);
  if (left === 'operator' || wantedLeft === 'operator') return false;
  return (left === '*' || left === wantedLeft) && (right === '*' || right === wantedRight);
}

export function anyCovers(patterns: readonly string[], scope: string): boolean {
  return patterns.some((pattern) => covers(pattern, scope));
}

/** Every scope without a star, and `operator:*`, which is a word. */
const WORDS: readonly string[] = [...VERBS].flatMap(([left, verbs]) =>
  left === '*' ? [] : [...verbs].filter((verb) => verb !== '*' || left === 'operator').map((verb) => `${left}:${verb}`),
);

/** True when the patterns together allow everything that `scope` names: three verbs of a plural make its star. */
export function allCover(patterns: readonly string[], scope: string): boolean {
  return WORDS.every((word) => !covers(scope, word) || anyCovers(patterns, word));
}

/** The widest pattern that both cover; undefined when they have nothing in common. */
function meet(a: string, b: string): string | undefined {
  if (a === b) return a;
  const [leftA, rightA] = halves(a);
  const [leftB, rightB] = halves(b);
  if (leftA === 'operator' || leftB === 'operator') return undefined;
  const left = leftA === '*' ? leftB : leftB === '*' || leftA === leftB ? leftA : undefined;
  const right = rightA === '*' ? rightB : rightB === '*' || rightA === rightB ? rightA : undefined;
  if (left === undefined || right === undefined) return undefined;
  const both = `${left}:${right}`;
  // `*:invoke` and `jobs:*` meet in `jobs:invoke`, which names nothing.
  return isScope(both) ? both : undefined;
}

/** Scopes that both lists cover, without those that another one of the result covers; in the order of `asked`. */
export function cutScopes(asked: readonly string[], ceiling: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const a of asked) {
    for (const b of ceiling) {
      const both = meet(a, b);
      if (both !== undefined) found.add(both);
    }
  }
  const all = [...found];
  return all.filter((scope) => !all.some((other) => other !== scope && covers(other, scope)));
}

/** The scope that an operation on objects of this plural needs. API keys are made and ended with `keys:write`. */
export function scopeOf(plural: string, verb: 'read' | 'write' | 'exec'): string {
  return plural === 'apikeys' && verb === 'write' ? 'keys:write' : `${plural}:${verb}`;
}
