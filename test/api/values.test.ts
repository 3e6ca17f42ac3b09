import test from 'ava';
import * as fc from 'fast-check';
import { canonicalJson } from '../../src/api/canonical-json.js';
import { formatDuration, LONGEST_MS, parseDuration, readDuration } from '../../src/api/duration.js';
import { formatBytes, formatMilliCpu, parseBytes, parseMilliCpu, parseQuantity } from '../../src/api/quantity.js';
import { parseTime, rfc3339, rfc3339Millis } from '../../src/api/time.js';
import { findUnsafe, toStorable } from '../../src/api/safe-value.js';
import { formatUsd, parseUsd } from '../../src/api/usd.js';
import { tries } from '../support/extent.js';

test('durations read as the spec writes them', (t) => {
  for (const [text, ms] of [
    ['0s', 0],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['168h', 604_800_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['1h1m1s1ms', 3_661_001],
  ] as const) {
    t.is(parseDuration(text), ms, text);
  }
});

test('what is no duration is undefined, and so is one that no timer can hold', (t) => {
  for (const text of [
    '',
    '5',
    'm',
    '-1s',
    '+1s',
    '1 h',
    '1d',
    '1H',
    '1h ',
    '1e3s',
    '.5s',
    '900000h',
    '9'.repeat(40) + 's',
  ]) {
    t.is(parseDuration(text), undefined, text);
  }
});

test('a formatted duration reads back as the same', (t) => {
  t.is(formatDuration(0), '0s');
  t.is(formatDuration(86_400_000), '24h');
  t.is(formatDuration(5_400_000), '1h30m');
  fc.assert(fc.property(fc.nat({ max: 1e12 }), (ms) => parseDuration(formatDuration(ms)) === ms));
});

test('quantities read as Kubernetes reads them, rounded up to the unit', (t) => {
  t.is(parseMilliCpu('500m'), 500);
  t.is(parseMilliCpu('1'), 1000);
  t.is(parseMilliCpu('1.5'), 1500);
  t.is(parseMilliCpu('0.0001'), 1, 'rounded up');
  t.is(parseMilliCpu('1u'), 1);
  t.is(parseBytes('512Mi'), 512 * 2 ** 20);
  t.is(parseBytes('1k'), 1000);
  t.is(parseBytes('1e3'), 1000);
  t.is(parseBytes('1E'), 1e18 > Number.MAX_SAFE_INTEGER ? undefined : 1e18, 'more than a number holds exactly');
  t.is(parseBytes('2Ti'), 2 * 2 ** 40);
  t.is(parseBytes('.5Gi'), 2 ** 29);
  t.is(parseBytes('5.'), 5);
  for (const text of [
    '',
    'Mi',
    '-1',
    '1 Gi',
    '1gi',
    '1GB',
    '0x10',
    '1e999',
    'NaN',
    'Infinity',
    '1.2.3',
    '1'.repeat(50),
  ]) {
    t.is(parseBytes(text), undefined, text);
  }
});

test('plain quantities read the same on the fast way as on the exact one', (t) => {
  const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti');
  fc.assert(
    fc.property(fc.nat({ max: 999_999_999 }), suffix, (amount, unit) => {
      const exact = parseQuantity(`${amount}${unit}`);
      const bytes = exact?.ceil();
      t.is(parseBytes(`${amount}${unit}`), bytes?.lte(Number.MAX_SAFE_INTEGER) ? bytes.toNumber() : undefined);
      const milli = exact?.times(1000).ceil();
      t.is(parseMilliCpu(`${amount}${unit}`), milli?.lte(Number.MAX_SAFE_INTEGER) ? milli.toNumber() : undefined);
    }),
    { numRuns: tries(1000) },
  );
});

test('formatted quantities read back as the same', (t) => {
  t.is(formatBytes(512 * 2 ** 20), '512Mi');
  t.is(formatBytes(1000), '1000');
  t.is(formatBytes(0), '0');
  t.is(formatMilliCpu(1500), '1500m');
  t.is(formatMilliCpu(2000), '2');
  fc.assert(fc.property(fc.nat(), (n) => parseBytes(formatBytes(n)) === n && parseMilliCpu(formatMilliCpu(n)) === n));
});

test('USD has at least two decimals and as many more as are not zero', (t) => {
  for (const [text, shown] of [
    ['1', '1.00'],
    ['1.5', '1.50'],
    ['0.0005', '0.0005'],
    ['12.340000000', '12.34'],
    ['-0.1', '-0.10'],
    ['0', '0.00'],
    ['-0', '0.00'],
    ['99999999999.999999999', '99999999999.999999999'],
  ] as const) {
    t.is(formatUsd(text), shown, text);
  }
  t.is(formatUsd('0.1234567895'), '0.12345679');
  t.is(
    parseUsd('0.1')
      ?.plus(parseUsd('0.2') ?? 0)
      .toString(),
    '0.3',
    'exact',
  );
  for (const text of ['', '.5', '1.', '1e3', '1,000', '$1', ' 1', '1.0000000001', '100000000000', 'NaN', '+1', '--1']) {
    t.is(parseUsd(text), undefined, text);
  }
});

test('times are whole seconds in UTC and read back', (t) => {
  const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  t.is(rfc3339(ms), '2026-01-02T03:04:05Z');
  t.is(rfc3339(ms + 1000), '2026-01-02T03:04:06Z');
  t.is(rfc3339Millis(ms), '2026-01-02T03:04:05.678Z');
  t.is(parseTime('2026-01-02T03:04:05.678999Z'), ms);
  t.is(parseTime('2026-01-02T05:04:05.678+02:00'), ms);
  t.is(parseTime('2026-01-01T23:34:05.678-03:30'), ms);
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }),
      (date) => parseTime(rfc3339Millis(date.getTime())) === date.getTime(),
    ),
  );
});

test('what is no time is undefined, also days that the month lacks', (t) => {
  for (const text of [
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+24:00',
    'tomorrow',
    '',
  ]) {
    t.is(parseTime(text), undefined, text);
  }
  t.is(parseTime('2024-02-29T00:00:00Z'), Date.UTC(2024, 1, 29));
});

test('whatever text a program or an engine gives, what is kept of it can be stored, and is the same where it could be', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }).map((all) => all.slice(0, 5)),
    fc.constant('a\0b\ud83d'),
  );
  fc.assert(
    fc.property(
      fc.record({ message: text, list: fc.array(text), inner: fc.record({ exitCode: fc.nat(), text }) }),
      (value) => {
        const stored = toStorable(value);
        t.is(findUnsafe(stored), undefined);
        if (findUnsafe(value) === undefined) t.deepEqual(stored, value);
      },
    ),
  );
  t.is(toStorable('x\u{1f600}'.slice(0, 2)), 'x\ufffd');
  t.deepEqual(toStorable({ at: undefined, n: null, b: true }), { at: undefined, n: null, b: true });
});

test('amounts of bytes are written in the largest unit that divides them, up to what a number holds', (t) => {
  for (const [bytes, text] of [
    [1023, '1023'],
    [1024, '1Ki'],
    [1025, '1025'],
    [1536 * 1024, '1536Ki'],
    [2 ** 40, '1Ti'],
    [2 ** 50, '1Pi'],
    [2 ** 60, '1Ei'],
    [2 ** 70, '1024Ei'],
  ] as const) {
    t.is(formatBytes(bytes), text);
  }
});

test('the most that is counted exactly is read, and one more is not, on the fast way and on the exact one', (t) => {
  t.is(parseBytes('9007199254740991'), Number.MAX_SAFE_INTEGER);
  t.is(parseBytes('9007199254740992'), undefined);
  t.is(parseBytes('8191Ti'), 8191 * 2 ** 40);
  t.is(parseBytes('8192Ti'), undefined);
  t.is(parseMilliCpu('9007199254740.991'), Number.MAX_SAFE_INTEGER);
  t.is(parseMilliCpu('9007199254740992m'), undefined);
  t.is(parseBytes(`0.${'0'.repeat(29)}1`), 1, '32 characters');
  t.is(parseBytes(`0.${'0'.repeat(30)}1`), undefined, '33 characters');
});

test('a duration of a hundred years is the longest, of 32 characters the longest text, and is read in whole milliseconds', (t) => {
  t.is(parseDuration('876000h'), 876_000 * 3_600_000);
  t.is(parseDuration('876000h1ms'), undefined);
  t.is(parseDuration(`${'0'.repeat(31)}s`), 0);
  t.is(parseDuration(`${'0'.repeat(32)}s`), undefined);
  t.is(parseDuration('0.0004s'), 0);
  t.is(parseDuration('0.0005s'), 1);
});

test('of what a client sends no part of a duration is a fraction of a millisecond', (t) => {
  for (const text of ['0.5ms', '1.5ms', '0.0004s', '0.0005s', '1s0.5ms', '0.5ms0.5ms', '0.00001m', '0.3333333h', 'x']) {
    t.is(readDuration(text), undefined, text);
  }
  for (const [text, ms] of [
    ['0s', 0],
    ['1.0ms', 1],
    ['0.001s', 1],
    ['0.0010s', 1],
    ['1.1h', 3_960_000],
    ['0.00005m', 3],
    ['1.005s', 1_005],
    ['876000h', LONGEST_MS],
  ] as const) {
    t.is(readDuration(text), ms, text);
  }
  t.is(readDuration('876000h1ms'), undefined);
  fc.assert(fc.property(fc.nat({ max: 1e12 }), (ms) => readDuration(formatDuration(ms)) === ms));
  fc.assert(fc.property(fc.nat({ max: 1e9 }), (ms) => readDuration(`${(ms / 1000).toFixed(3)}s`) === ms));
});

test('equal values have the same canonical text whatever the order of their members, and no others', (t) => {
  t.is(canonicalJson({ b: [2, 1], a: { d: null, c: undefined }, A: 'x' }), '{"A":"x","a":{"d":null},"b":[2,1]}');
  t.not(canonicalJson([1, 2]), canonicalJson([2, 1]));
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([key, member]) => [key, turned(member)] as const);
    return Object.fromEntries(members.toReversed());
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.is(canonicalJson(turned(value)), canonicalJson(value));
      t.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});
