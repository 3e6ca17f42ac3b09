/** What Model `echo` answers: tokens of text, a tool call, and why it stopped. Pure. */
import type { Directive } from './directive.js';
import { madeTokens, tokensOf } from './tokens.js';
import type { EchoRequest } from './request.js';
import { smallestFor } from './smallest.js';

export interface EchoAnswer {
  readonly tokens: readonly string[];
  /** `tokens`: of the arguments as JSON. */
  readonly tool: { readonly name: string; readonly tokens: readonly string[] } | undefined;
  readonly finish: 'End' | 'Length' | 'Stop' | 'Tool';
  /** The sequence that stopped it. */
  readonly stop: string | undefined;
}

export function answerTo(prompt: string, request: EchoRequest): EchoAnswer {
  const { directive, schema, stops, most } = request;
  const tool = toolOf(request);
  const whole = textOf(prompt, directive, schema, tool !== undefined);
  const { text, stop } = cutAtStop(whole, stops);
  const tokens = typeof text === 'string' ? tokensOf(text, most + 1) : text;
  if (tokens.length > most)
    return { tokens: tokens.slice(0, most), tool: undefined, finish: 'Length', stop: undefined };
  if (stop !== undefined) return { tokens, tool: undefined, finish: 'Stop', stop };
  if (tool === undefined) return { tokens, tool: undefined, finish: 'End', stop: undefined };
  const left = most - tokens.length;
  const all = tokensOf(JSON.stringify(tool.arguments), left + 1);
  const cut = all.length > left;
  return {
    tokens,
    tool: { name: tool.name, tokens: all.slice(0, left) },
    finish: cut ? 'Length' : 'Tool',
    stop: undefined,
  };
}

/** One that has its result is not called again. */
function toolOf({ directive, afterTool, forcedTool }: EchoRequest): Directive['tool'] {
  if (afterTool) return undefined;
  if (directive.tool !== undefined || forcedTool === undefined) return directive.tool;
  const made = smallestFor(forcedTool.schema);
  const isObject = typeof made === 'object' && made !== null && !Array.isArray(made);
  return { name: forcedTool.name, arguments: isObject ? { ...made } : {} };
}

export function outputTokens({ tokens, tool }: EchoAnswer): number {
  return tokens.length + (tool?.tokens.length ?? 0);
}

function textOf(
  prompt: string,
  directive: EchoRequest['directive'],
  schema: unknown,
  callsTool: boolean,
): string | readonly string[] {
  if (directive.text !== undefined) return directive.text;
  if (directive.json !== undefined) return JSON.stringify(directive.json);
  if (directive.tokens !== undefined) return madeTokens(directive.tokens);
  if (callsTool) return '';
  return schema === undefined ? prompt : JSON.stringify(smallestFor(schema));
}

/** Before the sequence that comes first. */
function cutAtStop(
  whole: string | readonly string[],
  stops: readonly string[],
): { readonly text: string | readonly string[]; readonly stop: string | undefined } {
  if (stops.length === 0) return { text: whole, stop: undefined };
  const text = typeof whole === 'string' ? whole : whole.join('');
  let end = text.length;
  let stop: string | undefined;
  for (const sequence of stops) {
    const at = text.indexOf(sequence);
    if (at < 0 || at >= end) continue;
    end = at;
    stop = sequence;
  }
  return { text: text.slice(0, end), stop };
}
