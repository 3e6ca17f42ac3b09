/** Reads answers in tests without casts: a path into unknown JSON. */

/** The value at a path such as `metadata.resourceVersion` or `items.0.metadata.name`; undefined when it is not there. */
export function at(value: unknown, path: string): unknown {
  let here = value;
  for (const part of path.split('.')) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = Reflect.get(here, part);
  }
  return here;
}

export function text(value: unknown, path: string): string {
  const found = at(value, path);
  if (typeof found !== 'string') throw new Error(`${path} is not a string but ${JSON.stringify(found)}`);
  return found;
}

export function list(value: unknown, path: string): readonly unknown[] {
  const found = at(value, path);
  if (!Array.isArray(found)) throw new Error(`${path} is not a list`);
  return found;
}

export async function json(answer: Response | Promise<Response>): Promise<unknown> {
  const body: unknown = await (await answer).json();
  return body;
}
