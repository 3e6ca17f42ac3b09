/** The name of content: `sha256:` and 64 lower-case hexadecimal digits. Nothing else reaches a path or a row. */

declare const digestBrand: unique symbol;
/** A checked name; safe as part of a path. */
export type Digest = string & { readonly [digestBrand]: true };

const DIGEST = /^sha256:[0-9a-f]{64}$/;

function isDigest(text: string): text is Digest {
  return DIGEST.test(text);
}

/** With or without `sha256:`, in any case of letters (as clients write `X-Content-SHA256`); undefined for anything else. */
export function parseDigest(text: string): Digest | undefined {
  const lower = text.trim().toLowerCase();
  const name = lower.startsWith('sha256:') ? lower : `sha256:${lower}`;
  return isDigest(name) ? name : undefined;
}
