import test from 'ava';
import * as fc from 'fast-check';
import { deliveryBody, MOST_BODY_BYTES, type DeliveredEvent } from '../../../src/kinds/webhookendpoint/body.js';
import { tries } from '../../support/extent.js';

const event = (message: string, project = 'default'): DeliveredEvent => ({
  type: 'job.failed',
  time: Date.parse('2026-01-02T03:04:05.678Z'),
  reason: 'Failed',
  message,
  count: 3,
  object: { apiVersion: 'svc.dev/v1', kind: 'Job', name: 'j', project, uid: 'u', status: { phase: 'Failed' } },
});

test('a body is what the specification says', (t) => {
  t.deepEqual(JSON.parse(deliveryBody(event('it broke'))), {
    type: 'job.failed',
    timestamp: '2026-01-02T03:04:05.678Z',
    data: {
      event: { reason: 'Failed', message: 'it broke', count: 3 },
      object: {
        apiVersion: 'svc.dev/v1',
        kind: 'Job',
        metadata: { name: 'j', namespace: 'default', uid: 'u' },
        status: { phase: 'Failed' },
      },
    },
  });
  t.false(deliveryBody(event('', '')).includes('namespace'));
});

test('whatever the message, the body is JSON of at most 64 KiB that begins as the message does', (t) => {
  const unit = fc.constantFrom('a', '"', '\\', '\n', '\u0001', 'ü', '…', '😀', '\ud800');
  const length = fc.integer({ min: 0, max: 70_000 });
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 20 }), length, (units, long) => {
      const message = units.join('').repeat(Math.ceil(long / units.length));
      const body = deliveryBody(event(message));
      t.true(Buffer.byteLength(body) <= MOST_BODY_BYTES);
      const parsed = JSON.parse(body) as { data: { event: { message: string } } };
      const shown = parsed.data.event.message;
      if (shown === message) return;
      t.true(shown.endsWith('…') && message.startsWith(shown.slice(0, -1)));
      // Cut no more than had to be: one more character of the longest kind would not fit.
      t.true(Buffer.byteLength(body) > MOST_BODY_BYTES - 24, String(Buffer.byteLength(body)));
    }),
    { numRuns: tries(200) },
  );
});
