import test from 'ava';
import fc from 'fast-check';
import {
  BrokenStreamError,
  openSseDecoder,
  type SseBounds,
  type SseFrame,
} from '../../../src/engines/inference/sse.js';
import { tries } from '../../support/extent.js';

const BOUNDS: SseBounds = { mostLineBytes: 1_000, mostFrameBytes: 2_000 };

function framesOf(chunks: readonly Buffer[], bounds: SseBounds = BOUNDS): SseFrame[] {
  const frames: SseFrame[] = [];
  const decoder = openSseDecoder(bounds, (frame) => frames.push(frame));
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return frames;
}

function read(text: string): SseFrame[] {
  return framesOf([Buffer.from(text)]);
}

const data = (...values: string[]): SseFrame[] => values.map((value) => ({ event: undefined, data: value }));

test('lines end with LF, CR or CRLF, one blank after the colon is no data, and comments and other fields are passed over', (t) => {
  t.deepEqual(read('data: a\n\ndata:b\r\rdata:  c\r\n\r\n'), data('a', 'b', ' c'));
  t.deepEqual(read(': quiet\n\nid: 7\nretry: 5\ndata: a\n: more\ndatas: b\n\n'), data('a'));
  t.deepEqual(read('event: ping\ndata: {}\n\ndata: a\n\n'), [{ event: 'ping', data: '{}' }, ...data('a')]);
  t.deepEqual(
    read('event: lost\n\ndata: a\n\n'),
    data('a'),
    'a name without data is no frame, and not that of the next one',
  );
  t.deepEqual(read('data: a\ndata\ndata: b\n\n'), data('a\n\nb'));
  t.deepEqual(read('data\n\n'), data(''));
  t.deepEqual(read('\n\n\r\n\r'), []);
});

test('a byte order mark is passed over at the start, and kept elsewhere', (t) => {
  t.deepEqual(read('\ufeffdata: a\n\ndata: \ufeffb\n\n'), data('a', '\ufeffb'));
  t.deepEqual(read('\ufeff\ndata: a\n\n'), data('a'));
});

test('a stream that ends without its empty line still gives its last frame', (t) => {
  t.deepEqual(read('data: [DONE]'), data('[DONE]'));
  t.deepEqual(read('event: a\r\ndata: b\r\n'), [{ event: 'a', data: 'b' }]);
});

test('a frame is there as soon as its empty line is, also when that ends with a CR', (t) => {
  const frames: SseFrame[] = [];
  const decoder = openSseDecoder(BOUNDS, (frame) => frames.push(frame));
  decoder.push(Buffer.from('data: a\r\n\r'));
  t.deepEqual(frames, data('a'));
  decoder.push(Buffer.from('\n'));
  t.deepEqual(frames, data('a'));
  decoder.push(Buffer.from('data: b\n\n'));
  t.deepEqual(frames, data('a', 'b'));
  decoder.end();
  t.deepEqual(frames, data('a', 'b'));
});

test('what ended before a fault has been taken, also when both came in one piece', (t) => {
  for (const fault of [Buffer.from([0xff, 10, 10]), Buffer.alloc(BOUNDS.mostLineBytes + 1, 'a')]) {
    const frames: SseFrame[] = [];
    const decoder = openSseDecoder(BOUNDS, (frame) => frames.push(frame));
    t.throws(() => decoder.push(Buffer.concat([Buffer.from('data: a\n\n'), fault])), { instanceOf: BrokenStreamError });
    t.deepEqual(frames, data('a'));
  }
});

const line = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  fc.constantFrom(
    '',
    '',
    '',
    'data',
    'data:',
    'data:{"a":"é😀"}',
    'event: x',
    'event:',
    ': note',
    'id: 1',
    '\ufeffdata: a',
    ':',
  ),
);
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 30 })
  .map((lines) => Buffer.from(lines.flat().join('')));

test('however the bytes are split, also in the midst of characters and of CRLF, the frames are the same', (t) => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(12), { maxLength: 40 }), (bytes, sizes) => {
      const whole = framesOf([bytes]);
      const chunks: Buffer[] = [];
      let at = 0;
      for (const size of sizes) {
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      t.deepEqual(framesOf([...chunks, bytes.subarray(at)]), whole);
      t.deepEqual(framesOf([...bytes].map((byte) => Buffer.of(byte))), whole);
    }),
    { numRuns: tries(300) },
  );
});

test('the frames are those that a plain reading of the standard finds', (t) => {
  const plain = (text: string): SseFrame[] => {
    const frames: SseFrame[] = [];
    let event: string | undefined;
    let lines: string[] = [];
    for (const one of [...text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/), '']) {
      const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(one) ?? [];
      if (one === '') {
        if (lines.length > 0) frames.push({ event, data: lines.join('\n') });
        [event, lines] = [undefined, []];
      } else if (name === 'data') lines.push(value);
      else if (name === 'event') event = value === '' ? undefined : value;
    }
    return frames;
  };
  fc.assert(
    fc.property(stream, (bytes) => t.deepEqual(framesOf([bytes]), plain(bytes.toString()))),
    { numRuns: tries(300) },
  );
});

test('what is no UTF-8 breaks the stream, wherever it is split', (t) => {
  for (const bytes of [
    Buffer.from([...Buffer.from('data: '), 0xff, 10, 10]),
    Buffer.from([...Buffer.from('data: '), 0xe2, 0x82, 10, 10]),
    Buffer.from([...Buffer.from('data: a\n\ndata: '), 0xed, 0xa0, 0x80]),
  ]) {
    t.throws(() => framesOf([bytes]), { instanceOf: BrokenStreamError, message: /not UTF-8/ });
    t.throws(() => framesOf([...bytes].map((byte) => Buffer.of(byte))), { instanceOf: BrokenStreamError });
  }
});

test('a line and a frame beyond their bounds break the stream, before more of it is kept', (t) => {
  const long = Buffer.from(`data: ${'a'.repeat(994)}`);
  t.is(framesOf([long, Buffer.from('\n\n')]).length, 1);
  const tooLong = { instanceOf: BrokenStreamError, message: /a line of the stream is longer than 1000 bytes/ };
  t.throws(() => framesOf([long, Buffer.from('a')]), tooLong);
  t.throws(() => framesOf([Buffer.from(`${long.toString()}a\n`)]), tooLong);
  t.throws(() => framesOf([Buffer.from(`:${'a'.repeat(1_000)}`)]), tooLong, 'also a comment');
  const part = Buffer.from(`data: ${'a'.repeat(494)}\n`);
  t.is(framesOf([part, part, part, part]).length, 1);
  t.throws(() => framesOf([part, part, part, part, part]), {
    message: /a frame of the stream is longer than 2000 bytes/,
  });
  const separate = Buffer.from(`${part.toString()}\n`);
  t.is(framesOf([separate, separate, separate, separate, separate]).length, 5);
});

test('a line of 4 MiB in chunks of 64 bytes takes time by its length, not by its square', (t) => {
  const bytes = Buffer.from(`data: ${'é'.repeat(2 * 2 ** 20)}\n\n`);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 64) chunks.push(bytes.subarray(at, at + 64));
  const began = process.cpuUsage();
  const [frame] = framesOf(chunks, { mostLineBytes: 16 * 2 ** 20, mostFrameBytes: 16 * 2 ** 20 });
  const { user, system } = process.cpuUsage(began);
  t.is(frame?.data.length, 2 * 2 ** 20);
  // Copying all that is there with each chunk would move 130 GB.
  t.true(user + system < 3_000_000, `${(user + system) / 1_000} ms`);
});
