/**
 * A request for an answer in the one form that is between all dialects: what is read of a client's body is written for an upstream of another
 * dialect. It holds what more than one dialect can say, and what only some of them can is refused by the one that cannot, by the name that
 * the client has used (`CannotCarry`): nothing is dropped in silence but hints that change no answer (ops/INFERENCE.md lists them).
 */
import { createHash } from 'node:crypto';
import type { RequestFault } from './dialect.js';

export interface Conversation {
  /** What the model is told beforehand. */
  readonly system: readonly string[];
  /** In turns: two of one role do not follow each other. */
  readonly turns: readonly Turn[];
  /** The member of the client's body that has the turns. */
  readonly saidIn: 'messages' | 'input';
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  /** False: one call of a tool in an answer. */
  readonly parallelTools: boolean | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stop: readonly string[];
  readonly format: Format | undefined;
  readonly reasoning: Reasoning | undefined;
  /** Who the client says that it asks for. */
  readonly user: string | undefined;
}

export type Turn =
  | { readonly role: 'User'; readonly parts: readonly UserPart[] }
  | { readonly role: 'Assistant'; readonly parts: readonly AssistantPart[] };

export type UserPart = TextPart | MediaPart | ToolResult;

export interface TextPart {
  readonly is: 'Text';
  readonly text: string;
}

/** An image, or a document of pages. */
export interface MediaPart {
  readonly is: 'Media';
  readonly media: 'Image' | 'Document';
  readonly source:
    | { readonly by: 'Data'; readonly type: string; readonly base64: string }
    | { readonly by: 'URL'; readonly url: string };
  /** Of a document. */
  readonly name?: string | undefined;
  /** Where it stands in the client's body. */
  readonly at: string;
}

export interface ToolResult {
  readonly is: 'ToolResult';
  readonly id: string;
  readonly parts: readonly (TextPart | MediaPart)[];
  readonly failed: boolean;
}

export type AssistantPart =
  | TextPart
  /** `signature`: by its vendor; without one it is told to nobody. */
  | { readonly is: 'Thinking'; readonly text: string; readonly signature: string | undefined }
  | { readonly is: 'HiddenThinking'; readonly data: string }
  /** `arguments`: JSON text. */
  | { readonly is: 'ToolCall'; readonly id: string; readonly name: string; readonly arguments: string };

export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  /** A JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
  readonly strict: boolean | undefined;
}

export type ToolChoice =
  | { readonly is: 'Auto' | 'None' | 'Any' }
  /** It has to be called. */
  | { readonly is: 'Tool'; readonly name: string };

export interface Format {
  readonly name: string | undefined;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly strict: boolean | undefined;
}

export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface Reasoning {
  readonly effort: Effort;
  /** The member that asks for it. */
  readonly at: string;
}

/** Who asks, where a vendor is not to be told as the client has. */
export function hashedUser(user: string): string {
  return createHash('sha256').update(user).digest('hex');
}

/** A dialect cannot say it. */
export class CannotCarry extends Error {
  readonly fault: RequestFault;
  constructor(param: string, message: string) {
    super(message);
    this.name = 'CannotCarry';
    this.fault = { param, message: `${param} ${message}` };
  }
}

/** `parts`: of a place in the request where the other dialect takes texts alone. */
export function textsAlone(parts: readonly (TextPart | MediaPart)[], at: string): readonly string[] {
  return parts.map((part) => {
    if (part.is === 'Text') return part.text;
    throw new CannotCarry(at, 'must be text');
  });
}

/** Joins what one role says in several messages that follow each other; a role that says nothing has no turn. */
export function inTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    if (turn.parts.length === 0) continue;
    const last = joined.at(-1);
    if (last?.role === 'User' && turn.role === 'User')
      joined[joined.length - 1] = { role: 'User', parts: [...last.parts, ...turn.parts] };
    else if (last?.role === 'Assistant' && turn.role === 'Assistant')
      joined[joined.length - 1] = { role: 'Assistant', parts: [...last.parts, ...turn.parts] };
    else joined.push(turn);
  }
  return joined;
}

export function isEffort(value: unknown): value is Effort {
  return typeof value === 'string' && (EFFORTS as readonly string[]).includes(value);
}
