/** Field paths as causes and warnings write them: `spec.env[3].name`, `metadata.labels[example.com/tier]`. */

const PLAIN = /^[A-Za-z0-9_-]+$/;

/** The path of a member or element below `base`; the empty base is the whole body. */
export function below(base: string, key: string | number): string {
  if (typeof key === 'number') return `${base}[${key}]`;
  if (!PLAIN.test(key)) return `${base}[${key}]`;
  return base === '' ? key : `${base}.${key}`;
}

export function fieldPath(base: string, keys: readonly PropertyKey[]): string {
  let path = base;
  for (const key of keys) path = below(path, typeof key === 'symbol' ? String(key) : key);
  return path;
}
