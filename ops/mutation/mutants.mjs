/**
 * Finds the small faults that can be put into a built file: a bound off by one, a condition turned round, a call left out. Pure.
 *
 * A mutant is a piece of text in place of another. Not planted, since no test should notice it:
 * - words for people: descriptions, and numbers and arithmetic inside a `message`, a `fix`, an event (`emit`) or a thrown error;
 * - when a cache begins anew: an `if` that only clears a map, and the constant that it compares with (I10 bounds it, and what is answered
 *   is the same before and after);
 * - imports and exports.
 */
import { createRequire } from 'node:module';

const { ts } = createRequire(import.meta.url)('@ts-morph/common');
const { SyntaxKind: Kind } = ts;

/** What stands in the place of an operator. */
const OPERATORS = new Map([
  [Kind.LessThanToken, '<='],
  [Kind.LessThanEqualsToken, '<'],
  [Kind.GreaterThanToken, '>='],
  [Kind.GreaterThanEqualsToken, '>'],
  [Kind.EqualsEqualsEqualsToken, '!=='],
  [Kind.ExclamationEqualsEqualsToken, '==='],
  [Kind.AmpersandAmpersandToken, '||'],
  [Kind.BarBarToken, '&&'],
  [Kind.PlusToken, '-'],
  [Kind.MinusToken, '+'],
  [Kind.AsteriskToken, '/'],
  [Kind.SlashToken, '*'],
]);
const METHODS = new Map([
  ['every', 'some'],
  ['some', 'every'],
  ['max', 'min'],
  ['min', 'max'],
  ['startsWith', 'endsWith'],
]);

/** @returns {{ start: number, end: number, text: string, line: number, was: string }[]} in the order of the file */
export const mutantsOf = (source) => {
  const file = ts.createSourceFile('x.js', source, ts.ScriptTarget.ESNext, true);
  const found = [];
  const put = (node, text, start = node.getStart(file)) => {
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    found.push({ start, end: node.getEnd(), text, line, was: source.slice(start, node.getEnd()) });
  };
  const bounds = boundsOfCaches(file);
  const visit = (node, inWords) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (onlyClears(node, file)) return;
    if (ts.isVariableDeclaration(node) && bounds.has(node.name.getText(file))) return;
    if (ts.isCallExpression(node) && /\.(describe|meta)$/.test(node.expression.getText(file))) {
      return visit(node.expression, inWords);
    }
    if (!inWords || !isReckoning(node)) mutate(node, put, file);
    ts.forEachChild(node, (child) => visit(child, inWords || beginsWords(node, file)));
  };
  visit(file, false);
  return found;
};

/** `if (… >= BOUND) map.clear();` */
const onlyClears = (node, file) =>
  ts.isIfStatement(node) &&
  node.elseStatement === undefined &&
  /^\{?\s*[\w.#]+\.clear\(\);\s*\}?$/.test(node.thenStatement.getText(file));

/** Names in the conditions of those. */
const boundsOfCaches = (file) => {
  const names = new Set();
  const visit = (node) => {
    if (onlyClears(node, file))
      for (const name of node.expression.getText(file).match(/\b[A-Z_]{2,}\b/g) ?? []) names.add(name);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return names;
};

/** What is below it is a text for people. */
const beginsWords = (node, file) =>
  (ts.isPropertyAssignment(node) && /^(message|fix)$/.test(node.name.getText(file))) ||
  (ts.isCallExpression(node) && node.expression.getText(file) === 'emit') ||
  ts.isThrowStatement(node);

const isReckoning = (node) =>
  ts.isNumericLiteral(node) ||
  (ts.isBinaryExpression(node) &&
    [Kind.PlusToken, Kind.MinusToken, Kind.AsteriskToken, Kind.SlashToken].includes(node.operatorToken.kind));

const mutate = (node, put, file) => {
  if (ts.isBinaryExpression(node)) {
    const other = OPERATORS.get(node.operatorToken.kind);
    const joinsText = [node.left, node.right].some(
      (side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side),
    );
    if (other !== undefined && !joinsText) put(node.operatorToken, other);
  } else if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken) {
    put(node, node.operand.getText(file));
  } else if (node.kind === Kind.TrueKeyword) put(node, 'false');
  else if (node.kind === Kind.FalseKeyword) put(node, 'true');
  else if (ts.isNumericLiteral(node)) put(node, `${Number(node.text.replaceAll('_', '')) + 1}`);
  else if (ts.isConditionalExpression(node)) {
    put(node.condition, `!(${node.condition.getText(file)})`);
  } else if (ts.isIfStatement(node)) put(node.expression, 'false');
  else if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) put(node, ';');
  else if (ts.isPropertyAccessExpression(node) && METHODS.has(node.name.text)) {
    put(node.name, METHODS.get(node.name.text));
  }
};
