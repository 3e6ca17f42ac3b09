/**
 * Reads the one thing that kubectl sends as protobuf: `kubectl create namespace` (its typed clients for core kinds
 * have used `application/vnd.kubernetes.protobuf` since 1.32 and do not fall back). Name, labels and annotations of a core
 * object are read out of it; its spec and status are not, because a Namespace of ours has none.
 *
 * Envelope: `k8s\0`, then `runtime.Unknown` {1: TypeMeta {1: apiVersion, 2: kind}, 2: raw, 3: encoding, 4: content type};
 * raw is the object: {1: ObjectMeta {1: name, 2: generateName, 3: namespace, 11: labels, 12: annotations}}.
 * Source: Kubernetes, "Protobuf encoding"; field numbers from apimachinery's generated.proto.
 */
import { refuse } from '../../src/api/refusal.js';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

const MAGIC = Buffer.from('k8s\0', 'latin1');

function malformed(): Error {
  return refuse('BadRequest', 'the request body is not valid protobuf', { fix: 'Send it as JSON or YAML.' });
}

/** A varint and the offset behind it. At most five bytes: no length here needs more. */
function varint(bytes: Buffer, from: number): readonly [number, number] {
  let value = 0;
  for (let at = from; at < from + 5; at++) {
    const byte = bytes[at];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * (at - from));
    if (byte < 0x80) return [value, at + 1];
  }
  throw malformed();
}

/** The length-delimited fields of a message by number; others (numbers, fixed) are passed over. */
function fields(bytes: Buffer): Map<number, Buffer[]> {
  const found = new Map<number, Buffer[]>();
  let at = 0;
  while (at < bytes.length) {
    const [tag, behind] = varint(bytes, at);
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0: {
        at = behind;
        while ((bytes[at] ?? 0) >= 0x80) at += 1;
        at += 1;
        break;
      }
      case 1:
        at = behind + 8;
        break;
      case 2: {
        const [length, start] = varint(bytes, behind);
        if (start + length > bytes.length) throw malformed();
        const before = found.get(number);
        const part = bytes.subarray(start, start + length);
        if (before) before.push(part);
        else found.set(number, [part]);
        at = start + length;
        break;
      }
      case 5:
        at = behind + 4;
        break;
      default:
        throw malformed();
    }
  }
  return found;
}

function text(message: Map<number, Buffer[]>, number: number): string {
  const value = message.get(number)?.at(-1)?.toString('utf8') ?? '';
  // Not UTF-8, or what cannot be stored: the same words as for any other body.
  if (value.includes('\ufffd') || value.includes('\0')) throw malformed();
  return value;
}

function strings(message: Map<number, Buffer[]>, number: number): Record<string, string> | undefined {
  const entries = message.get(number)?.map((entry) => {
    const pair = fields(entry);
    return [text(pair, 1), text(pair, 2)] as const;
  });
  if (entries?.some(([key]) => key === '__proto__')) throw malformed();
  return entries && Object.fromEntries(entries);
}

/** Refuses with BadRequest. */
export function parseProtobuf(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, 4).equals(MAGIC)) throw malformed();
  const envelope = fields(body.subarray(4));
  const type = fields(envelope.get(1)?.[0] ?? Buffer.alloc(0));
  const object = fields(envelope.get(2)?.[0] ?? Buffer.alloc(0));
  const meta = fields(object.get(1)?.[0] ?? Buffer.alloc(0));
  const metadata: Record<string, unknown> = { name: text(meta, 1) };
  if (text(meta, 2) !== '') metadata['generateName'] = text(meta, 2);
  const labels = strings(meta, 11);
  const annotations = strings(meta, 12);
  if (labels) metadata['labels'] = labels;
  if (annotations) metadata['annotations'] = annotations;
  return { apiVersion: text(type, 1), kind: text(type, 2), metadata };
}
