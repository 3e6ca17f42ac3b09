/**
 * Reading one YAML document (1.2, core schema) as a plain value. Duplicate members are told and not refused, as in
 * JSON; tags of its own, member names that are no plain text, and aliases beyond a bound are refused.
 *
 * The nesting is bounded before the parser sees the text: a parser that runs out of stack can take the whole process
 * with it (V8 aborts when it compiles a regular expression with no stack left), and its time grows with depth squared.
 */
import { isMap, isPair, isScalar, isSeq, Lexer, LineCounter, parseAllDocuments } from 'yaml';
import type { Document } from 'yaml';
import { below } from './path.js';
import { extentOf, MAX_DEPTH, MAX_VALUES, TOO_MANY_VALUES } from './safe-value.js';

/** Reading YAML blocks for 1 to 3 ms per kilobyte, a hundred times as long as JSON; what is larger has to come as JSON. */
export const MAX_YAML_BYTES = 128 * 1024;

/** Uses of anchors that one body may make, so that a small text cannot stand for a huge value. */
const MAX_ALIASES = 100;

export type YamlResult =
  | { readonly outcome: 'Read'; readonly value: unknown; readonly duplicates: readonly string[] }
  | { readonly outcome: 'Malformed'; readonly problem: string }
  /** It has more than MAX_VALUES members and elements. */
  | { readonly outcome: 'TooLarge'; readonly problem: string };

const TOO_DEEP = `the body is nested deeper than ${MAX_DEPTH} levels`;

export function readYaml(text: string): YamlResult {
  if (nestingOf(text) > MAX_NESTING) return malformed(TOO_DEEP);
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter,
  });
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (document === undefined) return malformed('the body is empty');
  if (second !== undefined) return malformed('the body must be one YAML document, and has several');
  const error = document.errors[0] ?? document.warnings[0];
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    return malformed(`the body is not valid YAML: line ${line}, column ${col}: ${wordsOf(error.code)}`);
  }
  const duplicates: string[] = [];
  const problem = checkNames(document.contents, '', duplicates);
  return problem === undefined ? toValue(document, duplicates) : malformed(problem);
}

function toValue(document: Document.Parsed, duplicates: readonly string[]): YamlResult {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    return malformed('the body is not valid YAML: its aliases are unknown or too many');
  }
  // Aliases make a value deeper and larger than its text.
  const extent = extentOf(value, { values: MAX_VALUES, depth: MAX_DEPTH });
  if (extent.depth > MAX_DEPTH) return malformed(TOO_DEEP);
  if (extent.values > MAX_VALUES) return { outcome: 'TooLarge', problem: TOO_MANY_VALUES };
  return { outcome: 'Read', value, duplicates };
}

/** Texts that nest deeper never come to the parser. A value below the deepest level may count for one more, and so may its anchor or tag. */
const MAX_NESTING = MAX_DEPTH + 2;

/**
 * Reads the tokens, which needs no recursion, and answers how deep they nest: open brackets, and the columns at which open
 * block collections may have begun. A list may begin at the column of the map that holds it, so the true depth is at
 * most twice the answer. Stops one level above the bound.
 */
export function nestingOf(text: string): number {
  let deepest = 0;
  let flow = 0;
  let column = 0;
  let mayOpen = true;
  let scalar = false;
  const columns: number[] = [];
  for (const token of new Lexer().lex(text)) {
    if (scalar) scalar = false;
    else if (token === SCALAR) {
      scalar = true;
      continue;
    } else if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow -= 1;
    // A comment opens nothing, wherever it stands; text that begins so is behind a mark of its own.
    const blank = token.trim() === '' || token.startsWith('#') || token === DOCUMENT || token === FLOW_END;
    if (!blank && flow <= 0 && mayOpen) {
      while ((columns.at(-1) ?? -1) > column) columns.pop();
      if (columns.at(-1) !== column) columns.push(column);
    }
    deepest = Math.max(deepest, flow + columns.length);
    if (deepest > MAX_NESTING) return deepest;
    const newline = token.lastIndexOf('\n');
    if (newline >= 0) {
      column = token.length - newline - 1;
      mayOpen = true;
    } else {
      column += token.length;
      if (!blank) mayOpen = token === '-' || token === '?' || token === ':';
    }
  }
  return deepest;
}

/** Marks that the lexer puts between tokens; they stand for no characters of the text. */
const DOCUMENT = '\u0002';
const FLOW_END = '\u0018';
const SCALAR = '\u001f';

/** Names of members must be plain text; the ones that repeat are told. */
function checkNames(node: unknown, path: string, duplicates: string[]): string | undefined {
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) {
      const problem = checkNames(item, below(path, index), duplicates);
      if (problem !== undefined) return problem;
    }
  }
  if (!isMap(node)) return undefined;
  const seen = new Set<string>();
  for (const pair of node.items) {
    if (!isPair(pair) || !isScalar(pair.key)) return `${path || 'the body'}: the names of members must be plain text`;
    const name = String(pair.key.value);
    if (seen.has(name)) duplicates.push(below(path, name));
    seen.add(name);
    const problem = checkNames(pair.value, below(path, name), duplicates);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** `BAD_INDENT` → `bad indent`. The parser's own messages quote the text, which may hold a secret. */
function wordsOf(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

function malformed(problem: string): YamlResult {
  return { outcome: 'Malformed', problem };
}
