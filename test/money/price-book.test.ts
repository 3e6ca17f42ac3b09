import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { checkOfferings, FREE_BOOK, parsePriceBook, type PriceBook } from '../../src/money/price-book.js';
import { parseTerms, showTerms } from '../../src/kinds/attempts/terms.js';
import { rateOf, termsOf } from '../../src/money/pricing.js';
import { firstAmount } from '../../src/money/hold.js';
import { priceOfTime, type Terms } from '../../src/money/terms.js';
import { showUSD, USD } from '../../src/money/usd.js';

const OWN = readFileSync(fileURLToPath(new URL('../../../ops/catalog/pricebook.yaml', import.meta.url)), 'utf8');
const GIB = 2 ** 30;

function bookOf(text: string): PriceBook {
  const read = parsePriceBook(text);
  if (read.outcome !== 'Read') throw new Error(read.lines.join('\n'));
  return read.book;
}

function linesOf(text: string): readonly string[] {
  const read = parsePriceBook(text);
  return read.outcome === 'Read' ? [] : read.lines;
}

const REST = "storage: { perGiBMonthUSD: '0' }\nimages: { perBuildMinuteUSD: '0' }\nmodels: {}\n";

test("the program's own book asks a cent for a CPU and 0.002 USD for a GiB of memory, each hour", (t) => {
  const book = bookOf(OWN);
  t.is(book.version, '2026-01');
  const rate = (milliCpu: number, memory: number): string => showUSD(rateOf(book, 'cpu-local', { milliCpu, memory }));
  t.is(rate(1000, GIB), '0.012');
  t.is(rate(1000, GIB / 2), '0.011');
  t.is(rate(20, 64 * 2 ** 20), '0.000325');
  t.is(rate(1, 1), '0.00001', 'half of a nano USD is rounded up, less is nothing');
  t.is(rate(4_096_000, 8192 * GIB), '57.344');
  t.deepEqual(book.models['echo'], { inputPerMillionTokensUSD: '0.01', outputPerMillionTokensUSD: '0.01' });
  t.deepEqual(checkOfferings(book, ['cpu-local']), []);
  t.is(showUSD(rateOf(book, 'gpu-h100-80gb-8', { milliCpu: 1000, memory: GIB })), '23.20', 'the whole of it');
});

test('a book that does not fit is refused with the field, the reason and the next step, a line for each fault', (t) => {
  const faults = linesOf(
    `pricebookVersion: 2026\nofferings: { cpu-local: { perCpuHourUSD: 0.01, perHour: '1', incrementSeconds: 0 } }\n` +
      `storage: { perGiBMonthUSD: '-1' }\nimages: {}\nmodels: { m: { inputPerMillionTokensUSD: '0.0000000001' } }\n`,
  );
  for (const fault of [
    /^pricebookVersion: .*must be a string, not a number\. Write amounts and the version in quotes/,
    /^offerings\.cpu-local\.perCpuHourUSD: .*\. Write amounts and the version in quotes, such as "0\.01"\.$/,
    /^offerings\.cpu-local\.perHour: there is no such field\. Remove it, or correct its name\.$/,
    /^offerings\.cpu-local\.incrementSeconds: /,
    /^storage\.perGiBMonthUSD: .*must be an amount in USD/,
    /^images\.perBuildMinuteUSD: Required value: .*\. Add it\.$/,
    /^models\.m\.inputPerMillionTokensUSD: .*must be an amount in USD/,
  ]) {
    t.is(faults.filter((line) => fault.test(line)).length, 1, `${fault} in\n${faults.join('\n')}`);
  }
  t.is(faults.length, 7);
  t.deepEqual(linesOf('a: ['), linesOf('a: [').slice(0, 1));
  t.regex(linesOf('a: [')[0] ?? '', /^the file is not valid YAML: line 1/);
  t.deepEqual(linesOf(`pricebookVersion: 'a'\nofferings: {}\nofferings: {}\n${REST}`), [
    'offerings: stands there twice. Leave one of the two.',
  ]);
  t.deepEqual(checkOfferings(FREE_BOOK, ['cpu-local']), [
    'offerings.cpu-local: has no price. Add one; perHourUSD: "0.00" makes it free.',
  ]);
});

test('terms are those of the book, and an Offering without a price is free', (t) => {
  const amounts = { milliCpu: 500, memory: GIB };
  const offering = "{ perHourUSD: '1', perCpuHourUSD: '0.5', incrementSeconds: 60, minimumUSD: '0.10' }";
  const book = bookOf(`pricebookVersion: v1\nofferings: { x: ${offering} }\n${REST}`);
  t.deepEqual(termsOf(book, 'x', amounts), {
    rateUSDPerHour: '1.25',
    incrementMs: 60_000,
    minimumUSD: '0.10',
    unitMs: 60_000,
    reserveMs: 60_000,
  });
  const short = bookOf(`pricebookVersion: v1\nofferings: { x: { holdSeconds: 5, reserveSeconds: 90 } }\n${REST}`);
  t.like(termsOf(short, 'x', amounts), { unitMs: 5_000, reserveMs: 90_000 });
  t.regex(
    linesOf(`pricebookVersion: v1\nofferings: { x: { holdSeconds: 0 } }\n${REST}`)[0] ?? '',
    /^offerings\.x\.holdSec/,
  );
  for (const prices of [book, short]) {
    const admitted = { ...termsOf(prices, 'x', amounts), offering: 'x', pricebookVersion: 'v1' };
    t.deepEqual(parseTerms(showTerms(admitted)), admitted, 'as an Attempt carries them');
  }
  t.is(termsOf(book, 'y', amounts).rateUSDPerHour, '0.00');
  t.is(termsOf(FREE_BOOK, 'cpu-local', amounts).rateUSDPerHour, '0.00');
});

test('time is billed in whole increments, and a first hold is a minute or the minimum, and a minute for the end', (t) => {
  const terms: Terms = {
    rateUSDPerHour: '0.36',
    incrementMs: 1000,
    minimumUSD: '0.00',
    unitMs: 60_000,
    reserveMs: 60_000,
  };
  const shown = (amount: USD): string => showUSD(amount);
  t.is(shown(priceOfTime(terms, 1)), '0.0001');
  t.is(shown(priceOfTime(terms, 1001)), '0.0002');
  t.is(shown(firstAmount(terms)), '0.012');
  t.is(shown(firstAmount({ ...terms, minimumUSD: '1.00' })), '1.006');
  t.is(
    shown(firstAmount({ ...terms, incrementMs: 3_600_000 })),
    '0.366',
    'whole increments of the first, the reserve by time',
  );
  t.is(shown(firstAmount({ ...terms, rateUSDPerHour: '0.011' })), '0.000366668');
});
