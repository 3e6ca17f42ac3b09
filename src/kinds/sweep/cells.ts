/**
 * The cells of a Sweep: every combination of its matrix, each repeated. Their order is part of the interface: the accelerators vary slowest,
 * then the parameters by name, then the regions, and the repetitions fastest; values stand as they were written. A cell is computed from its
 * index alone, so that 10,000 of them cost nothing. Pure. Source: spec, "Sweep".
 */
/** What one cell has in place of its template's values. */
export interface Cell {
  readonly index: number;
  readonly gpu?: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly region?: string | undefined;
  /** From 0. */
  readonly repetition: number;
}

/** As in the spec; an empty dimension keeps the value of the template. */
export interface Matrix {
  readonly gpu?: readonly string[] | undefined;
  readonly params?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly regions?: readonly string[] | undefined;
}

export interface Cells {
  readonly total: number;
  /** `index` is below `total`. */
  at(index: number): Cell;
}

interface Dimension {
  readonly name: string;
  readonly values: readonly string[];
}

/** As many as `cellsOf` has; also of a matrix that makes too many. */
export function countCells(matrix: Matrix | undefined, repetitions: number): number {
  const { gpu = [], params = {}, regions = [] } = matrix ?? {};
  const sizes = [gpu, regions, ...Object.values(params)].map((values) => Math.max(1, values.length));
  return sizes.reduce((product, size) => product * size, repetitions);
}

export function cellsOf({
  matrix,
  repetitions,
}: {
  readonly matrix?: Matrix | undefined;
  readonly repetitions: number;
}): Cells {
  const { gpu = [], params = {}, regions = [] } = matrix ?? {};
  const names = Object.keys(params).toSorted();
  const given = names
    .map((name): Dimension => ({ name, values: params[name] ?? [] }))
    .filter(({ values }) => values.length > 0);
  return {
    total: countCells(matrix, repetitions),
    at(index) {
      // The fastest first: each dimension takes its digit of the index.
      let rest = index;
      const digit = (size: number): number => {
        const value = rest % size;
        rest = (rest - value) / size;
        return value;
      };
      const pick = (values: readonly string[]): string | undefined =>
        values.length === 0 ? undefined : values[digit(values.length)];
      const repetition = digit(repetitions);
      const region = pick(regions);
      const picked = given.toReversed().map(({ name, values }): [string, string] => [name, pick(values) ?? '']);
      const chosen = pick(gpu);
      return {
        index,
        params: Object.fromEntries(picked.toReversed()),
        repetition,
        ...(chosen !== undefined && { gpu: chosen }),
        ...(region !== undefined && { region }),
      };
    },
  };
}
