/**
 * Kubernetes quantities (`500m`, `1.5`, `512Mi`, `10Gi`, `1e3`) and their two readings: thousandths of a core and bytes.
 * Fractions below the unit are rounded up, as Kubernetes does.
 */
import { Decimal } from 'decimal.js';

/** For OpenAPI; the same language as `parseQuantity` reads, without a sign. */
export const QUANTITY_PATTERN =
  '^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?$';

const QUANTITY = new RegExp(QUANTITY_PATTERN);
const LONGEST_TEXT = 32;

const SCALES: ReadonlyMap<string, Decimal> = new Map(
  Object.entries({
    n: '1e-9',
    u: '1e-6',
    m: '1e-3',
    k: '1e3',
    M: '1e6',
    G: '1e9',
    T: '1e12',
    P: '1e15',
    E: '1e18',
    Ki: 2 ** 10,
    Mi: 2 ** 20,
    Gi: 2 ** 30,
    Ti: 2 ** 40,
    Pi: 2 ** 50,
    Ei: '1152921504606846976',
  }).map(([suffix, scale]) => [suffix, new Decimal(scale)]),
);

/** The exact value; undefined for what is no quantity. Negative ones are none: no amount here may be below zero. */
export function parseQuantity(text: string): Decimal | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  const parts = QUANTITY.exec(text);
  if (parts === null) return undefined;
  const [, digits = '', , suffix] = parts;
  const number = new Decimal(digits.startsWith('.') ? `0${digits}` : digits.endsWith('.') ? `${digits}0` : digits);
  if (suffix === undefined) return number;
  return number.times(SCALES.get(suffix) ?? new Decimal(`1${suffix}`));
}

/** What nearly all quantities look like. What would leave the safe integers goes the exact way. */
const PLAIN = /^([0-9]{1,9})(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/;

/** Plain numbers are ten times as fast as decimals, and every write reads three quantities. */
function readPlain(text: string, unit: number): number | undefined {
  const parts = PLAIN.exec(text);
  if (parts === null) return undefined;
  const amount = Number(parts[1]);
  const scaled = parts[2] === 'm' ? Math.ceil((amount * unit) / 1000) : amount * unit * plainScale(parts[2]);
  return scaled <= Number.MAX_SAFE_INTEGER ? scaled : undefined;
}

function plainScale(suffix: string | undefined): number {
  switch (suffix) {
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    case 'Ki':
      return 2 ** 10;
    case 'Mi':
      return 2 ** 20;
    case 'Gi':
      return 2 ** 30;
    case 'Ti':
      return 2 ** 40;
    default:
      return 1;
  }
}

/** Thousandths of a core; undefined for what is no quantity or exceeds what a number holds exactly. */
export function parseMilliCpu(text: string): number | undefined {
  return readPlain(text, 1000) ?? roundUp(parseQuantity(text)?.times(1000));
}

/** Bytes; undefined for what is no quantity or exceeds what a number holds exactly. */
export function parseBytes(text: string): number | undefined {
  return readPlain(text, 1) ?? roundUp(parseQuantity(text));
}

/** `1500` → `1500m`, `2000` → `2`. */
export function formatMilliCpu(milliCpu: number): string {
  return milliCpu % 1000 === 0 ? String(milliCpu / 1000) : `${milliCpu}m`;
}

/** In the largest binary unit that divides it: `536870912` → `512Mi`, `1000` → `1000`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value !== 0 && value % 1024 === 0 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value}${BINARY[unit] ?? ''}`;
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

function roundUp(value: Decimal | undefined): number | undefined {
  if (value === undefined) return undefined;
  const whole = value.ceil();
  return whole.lte(Number.MAX_SAFE_INTEGER) ? whole.toNumber() : undefined;
}
