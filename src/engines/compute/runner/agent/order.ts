/**
 * Owns the form in which an order goes to the agent of a box: four bytes of length (big endian), then fields, each with four bytes of
 * its own length before it. Pure.
 */
import type { TerminalSize } from '../../engine.js';

/** What one connection with an agent is for. */
export type AgentOrder =
  | {
      readonly kind: 'command';
      readonly command: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly workingDir: string;
      readonly terminal?: TerminalSize | undefined;
    }
  | { readonly kind: 'port'; readonly port: number };

/** Bytes; the kernel takes less. */
export const MAX_ORDER = 8 * 1024 * 1024;

/** Undefined: it is longer than any that could be executed. */
export function encodeOrder(order: AgentOrder): Buffer | undefined {
  const fields = fieldsOf(order).map((text) => Buffer.from(text));
  const length = fields.reduce((sum, field) => sum + 4 + field.length, 0);
  if (length > MAX_ORDER) return undefined;
  const bytes = Buffer.allocUnsafe(4 + length);
  let at = bytes.writeUInt32BE(length, 0);
  for (const field of fields) {
    at = bytes.writeUInt32BE(field.length, at);
    at += field.copy(bytes, at);
  }
  return bytes;
}

function fieldsOf(order: AgentOrder): readonly string[] {
  if (order.kind === 'port') return ['port', String(order.port)];
  const { command, env, workingDir, terminal } = order;
  const size = [terminal?.columns ?? 0, terminal?.rows ?? 0].map(String);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ['command', workingDir, ...size, String(command.length), ...command, ...variables];
}
