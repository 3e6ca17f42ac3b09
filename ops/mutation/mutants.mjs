/**
 * Finds the small faults that can be put into a built file: a bound off by one, a condition turned round, a call left out. Pure.
 *
 * A mutant is a piece of text in place of another. Words for people (descriptions, messages) are left alone, and so are imports.
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
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    // Words for people.
    if (ts.isCallExpression(node) && /\.(describe|meta)$/.test(node.expression.getText(file))) {
      return visit(node.expression);
    }
    mutate(node, put, file);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
};

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
