/** Values that many tables of rules need: lists of a length, names at their limits, texts in special forms. */

export function many<Value>(count: number, make: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Distinct names of objects. */
export function names(count: number): string[] {
  return many(count, (index) => `n${index}`);
}

export function variables(count: number): { name: string; value: string }[] {
  return many(count, (index) => ({ name: `V${index}`, value: 'x' }));
}

export const DIGEST = `sha256:${'a'.repeat(64)}`;

/** A public key for SSH that differs from others by its number. */
export function sshKey(number = 0): string {
  const type = Buffer.from('ssh-ed25519');
  const key = Buffer.alloc(32, number);
  const length = (size: number): Buffer => Buffer.from([0, 0, 0, size]);
  return `ssh-ed25519 ${Buffer.concat([length(type.length), type, length(32), key]).toString('base64')} n${number}`;
}
