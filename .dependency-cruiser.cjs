// The floors of the house: an import never goes up, and there are no circles.
// src/api ← src/money, src/kinds ← storage, src/engines ← actors ← http ← src/app; ops and test may import any floor.
// src/runner is a program of its own: it shares with the engines what lies in compute/{contract,shared}, and the faults of attempts.
// TypeScript 7 has no interface for tools, so the sources are parsed by swc (types and their imports included).
const above = {
  '^src/(api/|brand|deadline|process-start|sparse-writer)':
    '^(src/(money|kinds|engines|runner|app)/|src/config\\.|(storage|actors|http|ops|test)/)',
  '^src/money/': '^(src/(kinds|engines|runner|app)/|(storage|actors|http|ops|test)/)',
  '^src/kinds/': '^(src/(engines|runner|app)/|(storage|actors|http|ops|test)/)',
  '^src/engines/compute/(contract|shared|docker)/': '^src/(runner/|engines/compute/embedded/)',
  '^src/engines/': '^(src/app/|(storage|actors|http|ops|test)/)',
  '^src/runner/':
    '^(src/(app|money|kinds/(?!attempt/faults))|src/engines/compute/(embedded|docker)/|(storage|actors|http|ops|test)/)',
  '^storage/': '^(src/(engines|runner|app)/|(actors|http|ops|test)/)',
  '^actors/': '^(src/(runner|app)/|(http|ops|test)/)',
  '^http/': '^(src/(runner|app)/|(ops|test)/)',
  '^src/app/': '^(ops|test)/',
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
