/** Whole billionths of a USD in BigInt, and the times of the plain ledger. It shares no arithmetic with `src/money`. */
export const nano = (text: string): bigint => {
  const negative = text.startsWith('-');
  const [whole = '0', part = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
  return negative ? -value : value;
};
export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;
export const up = (ms: bigint, increment: number): bigint => ceilDiv(ms, BigInt(increment)) * BigInt(increment);
export const month = (at: number): string => new Date(at).toISOString().slice(0, 7);
export const monthEnd = (at: number): number => Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth() + 1);
export const uidOf = (counter: string): string => counter.split('/')[1] ?? '';
export const isMonthly = (counter: string): boolean => /^budget\/.*\/\d/.test(counter);
