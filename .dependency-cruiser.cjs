// The floors of the house: an import never goes up, and there are no circles.
// src/api ← src/money, src/kinds ← storage, src/engines ← actors ← http ← src/main.ts; ops and test may import any floor.
// TypeScript 7 has no interface for tools, so the sources are parsed by swc (types and their imports included).
const above = {
  '^src/(api/|brand|deadline|process-start)':
    '^(src/(money|kinds|engines)/|src/(config|main)|(storage|actors|http|ops|test)/)',
  '^src/money/': '^(src/(kinds|engines)/|src/main|(storage|actors|http|ops|test)/)',
  '^src/kinds/': '^(src/engines/|src/main|(storage|actors|http|ops|test)/)',
  '^src/engines/': '^(src/main|(storage|actors|http|ops|test)/)',
  '^storage/': '^(src/engines/|src/main|(actors|http|ops|test)/)',
  '^actors/': '^(src/main|(http|ops|test)/)',
  '^http/': '^(src/main|(ops|test)/)',
  '^ops/': '^test/',
};

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      // Our own files; packages are resolved by the build. `ops/start.mjs` imports what it has just built.
      to: { couldNotResolve: true, path: '^\\.', pathNot: '^\\.\\./dist/' },
    },
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
    exclude: { path: '^dist/' },
    parser: 'swc',
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
