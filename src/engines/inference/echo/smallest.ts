/**
 * The smallest value that fits a simple JSON Schema: for answers that are held to one. Pure; bounded in depth, in number, and in bytes: what comes
 * behind MOST_BYTES is null, though that may not fit.
 */

const DEEPEST = 32;
const MOST_VALUES = 1_000;
const MOST_BYTES = 32 * 1024;

type Schema = Readonly<Record<string, unknown>>;

export function smallestFor(schema: unknown): unknown {
  const root = isSchema(schema) ? schema : {};
  let left = MOST_VALUES;
  let leftBytes = MOST_BYTES;

  /** What a schema gives as it is, as long as there is room. */
  const given = (value: unknown): unknown => {
    if (leftBytes <= 0) return null;
    leftBytes -= (JSON.stringify(value) ?? '').length;
    return leftBytes < 0 ? null : value;
  };

  function fit(value: unknown, depth: number): unknown {
    left -= 1;
    if (!isSchema(value) || depth > DEEPEST || left < 0) return null;
    if ('const' in value) return given(value['const']);
    if (Array.isArray(value['enum'])) return given((value['enum'] as readonly unknown[])[0]);
    if (typeof value['$ref'] === 'string') return fit(resolve(root, value['$ref']), depth + 1);
    for (const choice of [value['anyOf'], value['oneOf'], value['allOf']]) {
      if (Array.isArray(choice)) return fit((choice as readonly unknown[])[0], depth + 1);
    }
    switch (typeOf(value)) {
      case 'object':
        return object(value, depth);
      case 'array': {
        const length = Math.min(numberOf(value['minItems']) ?? 0, MOST_VALUES);
        return Array.from({ length }, () => (left > 0 ? fit(value['items'], depth + 1) : null));
      }
      case 'string':
        return 'a'.repeat(lengthFor(numberOf(value['minLength']) ?? 0));
      case 'number':
      case 'integer':
        return number(value);
      case 'boolean':
        return false;
      default:
        return null;
    }
  }
  function lengthFor(least: number): number {
    const length = Math.max(0, Math.min(Math.ceil(least), leftBytes));
    leftBytes -= length;
    return length;
  }
  function object(value: Schema, depth: number): unknown {
    const properties = isSchema(value['properties']) ? value['properties'] : {};
    const required = Array.isArray(value['required']) ? (value['required'] as readonly unknown[]) : [];
    const names = required
      .filter((name): name is string => typeof name === 'string' && (leftBytes -= name.length) > 0)
      .slice(0, MOST_VALUES);
    return Object.fromEntries(
      names.map((name) => [name, fit(Object.hasOwn(properties, name) ? properties[name] : {}, depth + 1)]),
    );
  }
  return fit(root, 0);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(schema: Schema): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return (type as readonly unknown[])[0];
  return type ?? ('properties' in schema || 'required' in schema ? 'object' : undefined);
}

function number(schema: Schema): number {
  const least = numberOf(schema['minimum']);
  const above = numberOf(schema['exclusiveMinimum']);
  const most = numberOf(schema['maximum']);
  const low = Math.max(
    least === undefined ? -Infinity : Math.ceil(least),
    above === undefined ? -Infinity : Math.floor(above) + 1,
  );
  if (low > 0) return low;
  return most !== undefined && most < 0 ? Math.floor(most) : 0;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** `#/$defs/name`. */
function resolve(root: Schema, reference: string): unknown {
  let value: unknown = root;
  for (const part of reference.replace(/^#\/?/, '').split('/')) {
    if (part === '') continue;
    if (!isSchema(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}
