/** The YAML of a JSON document. Pure. */
import { stringify } from 'yaml';

export function yamlOf(json: Uint8Array): Uint8Array {
  return new TextEncoder().encode(
    stringify(JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString())),
  );
}
