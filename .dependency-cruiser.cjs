// The floors of the house: an import never goes up, and there are no circles.
// src/api ← src/money, src/kinds ← storage, src/engines ← actors ← http ← src/main.ts; ops and test may import any floor.
const above = {
  '^src/(api|brand)': '^(src/(money|kinds|engines|config|main)|storage|actors|http|ops|test)/?',
  '^src/money': '^(src/(kinds|engines|main)|storage|actors|http|ops|test)/?',
  '^src/kinds': '^(src/(engines|main)|storage|actors|http|ops|test)/?',
  '^src/engines': '^(src/main|storage|actors|http|ops|test)/?',
  '^storage': '^(src/(engines|main)|actors|http|ops|test)/?',
  '^actors': '^(src/main|http|ops|test)/?',
  '^http': '^(src/main|ops|test)/?',
  '^ops': '^(test)/?',
};

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...Object.entries(above).map(([from, to]) => ({
      name: `floor ${from}`,
      severity: 'error',
      comment: 'An import never goes up a floor.',
      from: { path: from },
      to: { path: to },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
