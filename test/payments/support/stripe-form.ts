/** Reads the bodies and queries that Stripe takes: form-encoded, with names such as `line_items[0][price_data][currency]`. */

export type FormValue = string | FormNode;
export interface FormNode {
  readonly [name: string]: FormValue | undefined;
}

/** Lists are nodes whose names are numbers. */
export function parseForm(text: string): FormNode {
  const root: Record<string, FormValue> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const parts = name.replaceAll(']', '').split('[');
    const last = parts.pop() ?? '';
    let node = root;
    for (const part of parts) {
      const next = node[part];
      const inner = typeof next === 'object' ? (next as Record<string, FormValue>) : {};
      node[part] = inner;
      node = inner;
    }
    node[last === '' ? String(Object.keys(node).length) : last] = value;
  }
  return root;
}

export function textOf(node: FormNode | undefined, name: string): string | undefined {
  const value = node?.[name];
  return typeof value === 'string' ? value : undefined;
}

export function nodeOf(node: FormNode | undefined, name: string): FormNode | undefined {
  const value = node?.[name];
  return typeof value === 'object' ? value : undefined;
}

export function itemsOf(node: FormNode | undefined): readonly string[] {
  return Object.values(node ?? {}).filter((value): value is string => typeof value === 'string');
}

/** Metadata. */
export function textsOf(node: FormNode | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(node ?? {}).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
