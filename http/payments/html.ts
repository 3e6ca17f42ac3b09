/** HTML by a template that escapes every value put into it, but for what was made by the same template. */

export interface Html {
  readonly html: string;
}

type Value = Html | string | number | undefined | readonly Html[];

/** `undefined` is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.map((part, i) => part + (i < values.length ? render(values[i]) : '')).join('') };
}

function render(value: Value): string {
  if (value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escape(String(value));
  return 'html' in value ? value.html : value.map((one) => one.html).join('');
}

/** Good for text, and for attributes in double quotes. */
function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
