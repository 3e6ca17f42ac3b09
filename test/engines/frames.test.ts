/** Frames of a connection that carries a command: however the bytes are cut, the same frames come out. */
import fc from 'fast-check';
import test from 'ava';
import { encodeFrame, FrameReader, MAX_FRAME, roomFrame } from '../../src/engines/compute/shared/frames.js';

test('frames come out as they went in, wherever the stream is cut', (t) => {
  const frame = fc.record({ type: fc.nat(255), data: fc.uint8Array({ maxLength: 40 }) });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.integer({ min: 1, max: 60 }), (frames, step) => {
      const bytes = Buffer.concat(frames.map(({ type, data }) => encodeFrame(type, data)));
      const reader = new FrameReader();
      const found = [];
      for (let at = 0; at < bytes.length; at += step) found.push(...reader.read(bytes.subarray(at, at + step)));
      t.deepEqual(
        found.map(({ type, data }) => ({ type, data: [...data] })),
        frames.map(({ type, data }) => ({ type, data: [...data] })),
      );
    }),
  );
});

test('a frame that is too long is refused by its head, before its bytes come', (t) => {
  const head = encodeFrame(0, Buffer.alloc(MAX_FRAME)).subarray(0, 5);
  t.deepEqual(new FrameReader().read(head), []);
  head.writeUInt32BE(MAX_FRAME + 1, 1);
  t.throws(() => new FrameReader().read(head), { message: 'frame too long' });
  t.is(new FrameReader().read(roomFrame(70_000))[0]?.data.readUInt32BE(0), 70_000);
});
