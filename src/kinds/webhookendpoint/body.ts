/**
 * The body of a delivery: made once per event, the same in each attempt and replay, at most 64 KiB. Pure.
 * Source: spec, "Delivery".
 */
import { rfc3339Millis } from '../../api/time.js';

export const MOST_BODY_BYTES = 64 * 1024;

export interface DeliveredEvent {
  /** `job.failed`. */
  readonly type: string;
  /** ms since the epoch. */
  readonly time: number;
  readonly reason: string;
  readonly message: string;
  /** Which occurrence of this event on this object it is. */
  readonly count: number;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    /** Empty: an object of the org. */
    readonly project: string;
    readonly uid: string;
    readonly status: Readonly<Record<string, unknown>>;
  };
}

/** What a cut message ends with. */
const CUT = '…';

/** JSON text. A message that does not fit is cut between two characters; nothing else can be long. */
export function deliveryBody(event: DeliveredEvent): string {
  const whole = bodyWith(event, event.message);
  const over = Buffer.byteLength(whole) - MOST_BODY_BYTES;
  if (over <= 0) return whole;
  const room = Buffer.byteLength(JSON.stringify(event.message)) - 2 - over - Buffer.byteLength(CUT);
  return bodyWith(event, cutMessage(event.message, room) + CUT);
}

function bodyWith({ type, time, reason, count, object }: DeliveredEvent, message: string): string {
  const { apiVersion, kind, name, project, uid, status } = object;
  const metadata = { name, ...(project === '' ? {} : { namespace: project }), uid };
  return JSON.stringify({
    type,
    timestamp: rfc3339Millis(time),
    data: { event: { reason, message, count }, object: { apiVersion, kind, metadata, status } },
  });
}

/** As many whole characters from the beginning as take at most `room` bytes within a JSON string. */
function cutMessage(message: string, room: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of message) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > room) break;
    end += character.length;
  }
  return message.slice(0, end);
}
