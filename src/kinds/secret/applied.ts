/**
 * The cleaning of `kubectl apply`'s note. kubectl writes the whole applied object into an annotation, values
 * included; what is stored must hold none (I11). What kubectl needs of the note is which keys it set, so that a key that
 * leaves the file leaves the Secret: values become KEPT_VALUE, and `stringData` is noted as `data`, because that is
 * where a later patch can remove it.
 */
import { KEPT_VALUE } from './schema.js';

export const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Only what is named here is taken over; anything else in the note might hold a value under a misspelt name. */
function cleaned(note: Record<string, unknown>): Record<string, unknown> {
  const metadata = isRecord(note['metadata']) ? note['metadata'] : {};
  const spec = isRecord(note['spec']) ? note['spec'] : {};
  const keys = [spec['data'], spec['stringData']].flatMap((values) => (isRecord(values) ? Object.keys(values) : []));
  const data = Object.fromEntries([...new Set(keys)].toSorted().map((key) => [key, KEPT_VALUE]));
  return {
    ...pick(note, ['apiVersion', 'kind']),
    metadata: pick(metadata, ['annotations', 'labels', 'name', 'namespace']),
    spec: { ...(keys.length > 0 ? { data } : {}), ...pick(spec, ['type']) },
  };
}

function pick(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(from, name)).map((name) => [name, from[name]]));
}

/** The annotations without values; undefined when they may stay as they are. A note that cannot be read is left out. */
export function withoutAppliedValues(
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  const note = annotations?.[APPLIED];
  if (annotations === undefined || note === undefined) return undefined;
  const { [APPLIED]: _, ...others } = annotations;
  let parsed: unknown;
  try {
    parsed = JSON.parse(note);
  } catch {
    return others;
  }
  if (!isRecord(parsed)) return others;
  // kubectl ends the note with a newline.
  const clean = `${JSON.stringify(cleaned(parsed))}\n`;
  return clean === note ? undefined : { ...others, [APPLIED]: clean };
}
