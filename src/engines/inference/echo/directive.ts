/**
 * How people and tests steer Model `echo`: a line `@echo {…}` in the last message of the user, in the prompt, or in the system text. Pure.
 */
import { z } from 'zod';
import { depthOf } from '../../../api/safe-value.js';

export const MOST_TOKENS = 100_000;
const LONGEST_LINE = 1_000_000;
const DEEPEST = 128;

const tokens = (description: string) => z.int().min(0).max(MOST_TOKENS).optional().describe(description);

const schema = z.strictObject({
  text: z.string().optional().describe('The answer.'),
  tokens: tokens('Answers with so many tokens.'),
  rate: z.number().min(0.01).max(1_000_000).optional().describe('Tokens a second of a stream. Unset: all at once.'),
  delay: z.int().min(0).max(600_000).optional().describe('Milliseconds before the answer begins.'),
  fail: z.int().min(300).max(599).optional().describe('Answers with this status and an error.'),
  retryAfter: z.int().min(0).max(86_400).optional().describe('`retry-after` of the answer, in seconds.'),
  stallAfter: tokens('So many tokens, then silence.'),
  breakAfter: tokens('So many tokens, then the connection breaks.'),
  tool: z
    .strictObject({
      name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens'),
      arguments: z.record(z.string(), z.unknown()).default({}),
    })
    .optional()
    .describe('Calls this tool. Left out where the last message is the result of one.'),
  json: z.unknown().optional().describe('Answers with this as JSON.'),
  usage: z.unknown().optional().describe('Is reported as usage, whatever it is; null: none is reported.'),
  error200: z.boolean().optional().describe('Answers with status 200 and an error.'),
});

export type Directive = z.infer<typeof schema>;

export type ReadDirective =
  /** `rest`: the text without the line. */
  | { readonly outcome: 'Directive'; readonly directive: Directive; readonly rest: string }
  | { readonly outcome: 'None' }
  | { readonly outcome: 'Invalid'; readonly message: string };

const LINE = /^[ \t]*@echo[ \t]+(\{.*)$\n?/m;

export function readDirective(text: string): ReadDirective {
  if (!text.includes('@echo')) return { outcome: 'None' };
  const found = LINE.exec(text);
  const json = found?.[1];
  if (found === null || json === undefined) return { outcome: 'None' };
  if (json.length > LONGEST_LINE) return invalid(`is longer than ${LONGEST_LINE} characters`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return invalid('is not valid JSON. Write an object on one line, such as @echo {"tokens": 5}');
  }
  if (depthOf(value, DEEPEST) > DEEPEST) return invalid(`nests deeper than ${DEEPEST} levels`);
  const parsed = schema.safeParse(value);
  if (!parsed.success) return invalid(parsed.error.issues.slice(0, 5).map(wordsOf).join('; '));
  const rest = text.slice(0, found.index) + text.slice(found.index + found[0].length);
  return { outcome: 'Directive', directive: parsed.data, rest };
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `has no member ${issue.keys.join(', ')}; it takes ${Object.keys(schema.shape).join(', ')}`;
  }
  return `${issue.path.map(String).join('.')}: ${issue.message}`;
}

function invalid(message: string): ReadDirective {
  return { outcome: 'Invalid', message: `the @echo directive ${message}` };
}
