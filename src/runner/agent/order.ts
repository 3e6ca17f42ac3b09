/**
 * The form in which an order goes to the agent of a box: one field that holds the others (`../protocol/fields.ts`).
 */
import type { TerminalSize } from '../../engines/compute/contract/engine.js';
import { encodeFields } from '../protocol/fields.js';

/** What one connection with an agent is for, where both sides speak in frames. */
export type SessionOrder =
  | {
      readonly kind: 'command';
      readonly command: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly workingDir: string;
      readonly terminal?: TerminalSize | undefined;
      /** The name under which it has a data connection. */
      readonly data?: string | undefined;
    }
  | { readonly kind: 'port'; readonly port: number };

export type AgentOrder =
  | SessionOrder
  /** Carries the data of the command that was ordered with this name. */
  | { readonly kind: 'data'; readonly name: string };

/** Bytes; the kernel takes less. */
export const MAX_ORDER = 8 * 1024 * 1024;

/** Undefined: it is longer than any that could be executed. */
export function encodeOrder(order: AgentOrder): Buffer | undefined {
  const fields = encodeFields(fieldsOf(order));
  return fields.length > MAX_ORDER ? undefined : encodeFields([fields]);
}

function fieldsOf(order: AgentOrder): readonly string[] {
  if (order.kind === 'port') return ['port', String(order.port)];
  if (order.kind === 'data') return ['data', order.name];
  const { command, env, workingDir, terminal, data = '' } = order;
  const size = [terminal?.columns ?? 0, terminal?.rows ?? 0].map(String);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ['command', workingDir, ...size, data, String(command.length), ...command, ...variables];
}
