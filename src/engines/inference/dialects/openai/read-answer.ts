/**
 * Reads the answer to a chat completion as events, from the chunks of a stream or from the whole. Only the first choice is read: several
 * answers are asked for in this dialect alone. Calls of tools whose pieces come in turns are put one behind the other.
 */
import { isObject } from '../../../../api/safe-value.js';
import type { AnswerEvent, AnswerReader, Finish, ReadState } from '../answer-event.js';
import { listOf } from '../body.js';
import { BrokenStreamError } from '../dialect.js';
import { readExactData, writeExact } from '../exact-json.js';
import { COMPLETE, OPEN, parse } from '../frames.js';
import { countOr } from '../numbers.js';
import { readUpstreamError, unknownUpstreamError } from '../upstream-error.js';
import { usageOf } from './usage.js';

const FINISH = new Map<string, Finish>(
  Object.entries({
    stop: 'End',
    length: 'Length',
    tool_calls: 'Tool',
    function_call: 'Tool',
    content_filter: 'Refused',
  }),
);

/** I10: calls of one answer; further ones are passed over. */
const MOST_CALLS = 1_024;
/** How often it is looked whether the arguments of a call are whole, while another one waits: each look reads all of them. */
const MOST_LOOKS = 256;

interface Call {
  readonly id: string;
  /** As the upstream has it. */
  readonly told: unknown;
  name: string;
  json: string;
  /** Its arguments are known to be JSON. */
  whole: boolean;
}

export function readChatStream(callId: (n: number) => string): AnswerReader {
  let state: ReadState = OPEN;
  const calls = openCalls(callId);
  return {
    frame({ event, data }) {
      if (state.is !== 'Open' || data === '') return [];
      if (data.length < 16 && data.trim() === '[DONE]') {
        state = COMPLETE;
        return [];
      }
      if (event === 'error') {
        state = { is: 'Failed', error: readUpstreamError(parse(data)) ?? unknownUpstreamError(data) };
        return [];
      }
      const chunk = readExactData(data);
      const error = 'choices' in chunk && !chunk['error'] ? undefined : readUpstreamError(chunk);
      if (error !== undefined) {
        state = { is: 'Failed', error };
        return [];
      }
      if (hasBroken(chunk)) {
        state = { is: 'Failed', error: unknownUpstreamError('') };
        return [];
      }
      return eventsOf(chunk, 'delta', calls);
    },
    get state() {
      return state;
    },
  };
}

/** Routers say so of an answer that broke off upstream of them. */
function hasBroken(chunk: Readonly<Record<string, unknown>>): boolean {
  return listOf(chunk['choices']).some((choice) => isObject(choice) && choice['finish_reason'] === 'error');
}

/** A whole answer, which is known to be no error. Throws a BrokenStreamError for one without a message. */
export function readChatAnswer(
  answer: Readonly<Record<string, unknown>>,
  callId: (n: number) => string,
): readonly AnswerEvent[] {
  const [choice] = listOf(answer['choices']);
  if (!isObject(choice) || !isObject(choice['message'])) throw new BrokenStreamError('its answer has no message');
  return eventsOf(answer, 'message', openCalls(callId));
}

function eventsOf(
  chunk: Readonly<Record<string, unknown>>,
  member: 'delta' | 'message',
  calls: Calls,
): readonly AnswerEvent[] {
  const events: AnswerEvent[] = [];
  const choice = listOf(chunk['choices']).find((one) => isObject(one) && (one['index'] ?? 0) === 0);
  if (isObject(choice)) {
    const said = choice[member] ?? choice[member === 'delta' ? 'message' : 'delta'];
    if (isObject(said)) addSaid(events, said, calls);
    const { finish_reason: reason, stop_reason: stop } = choice;
    if (typeof reason === 'string') {
      events.push(...calls.end());
      // Nobody asks for this older form of a call.
      if (reason === 'function_call' && !calls.any())
        throw new BrokenStreamError('it calls a function that is no tool');
      const asked = FINISH.get(reason) ?? 'End';
      const told = asked === 'Tool' && !calls.any() ? 'End' : asked;
      // Some servers say "stop" of an answer that calls tools; vLLM names the sequence that stopped it.
      if (calls.any() && told === 'End') events.push({ type: 'Finish', finish: 'Tool' });
      else if (told === 'End' && typeof stop === 'string') events.push({ type: 'Finish', finish: 'Stop', stop });
      else events.push({ type: 'Finish', finish: told });
    }
  }
  const usage = usageOf(chunk['usage']);
  if (usage !== undefined) events.push({ type: 'Usage', usage, reasoningTokens: reasoningOf(chunk['usage']) });
  return events;
}

function reasoningOf(usage: unknown): number {
  const details: unknown = isObject(usage) ? usage['completion_tokens_details'] : undefined;
  return (isObject(details) ? countOr(details['reasoning_tokens'], 0) : 0) ?? 0;
}

function addSaid(events: AnswerEvent[], said: Readonly<Record<string, unknown>>, calls: Calls): void {
  const { content, reasoning_content: reasoning, reasoning: other, refusal, tool_calls: given } = said;
  const spoken: AnswerEvent[] = [];
  const thinking = textOf(reasoning) || textOf(other);
  if (thinking !== '') spoken.push({ type: 'Thinking', text: thinking });
  const text = textOf(content);
  if (text !== '') spoken.push({ type: 'Text', text });
  if (typeof refusal === 'string' && refusal !== '') spoken.push({ type: 'Refusal', text: refusal });
  events.push(...calls.say(spoken));
  for (const [at, call] of listOf(given).entries()) if (isObject(call)) events.push(...calls.take(call, at));
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

interface Calls {
  take(piece: Readonly<Record<string, unknown>>, at: number): readonly AnswerEvent[];
  /** What is said beside calls: at once, or when the call that is being told is whole. */
  say(spoken: readonly AnswerEvent[]): readonly AnswerEvent[];
  /** What waits. */
  end(): readonly AnswerEvent[];
  any(): boolean;
}

/**
 * The reader emits one tool call at a time. Pieces of later calls, and text between pieces of a call, wait until the arguments of the current call are
 * complete JSON, or the answer ends.
 */
function openCalls(callId: (n: number) => string): Calls {
  let count = 0;
  /** The last call of each index. */
  const latest = new Map<number, Call>();
  let current: Call | undefined;
  const ids = new Set<string>();
  const waiting = new Set<Call>();
  let spoken: AnswerEvent[] = [];
  let looks = 0;

  const begin = (call: Call): AnswerEvent[] => {
    const { id, name, json } = call;
    current = call;
    waiting.delete(call);
    return [{ type: 'ToolCall', id, name }, ...(json === '' ? [] : [{ type: 'Arguments', json } as const])];
  };
  const isWhole = (call: Call | undefined): boolean => {
    if (call === undefined || call.whole) return true;
    if (!call.json.endsWith('}') || looks >= MOST_LOOKS) return false;
    looks += 1;
    call.whole = parse(call.json) !== undefined;
    return call.whole;
  };
  const flush = (): AnswerEvent[] => {
    const said = spoken;
    spoken = [];
    return said;
  };
  const goOn = (): AnswerEvent[] => {
    const events: AnswerEvent[] = [];
    for (const call of waiting) {
      // Its name may be still to come.
      if (!isWhole(current) || call.name === '') break;
      events.push(...begin(call));
    }
    if (waiting.size === 0 && spoken.length > 0 && isWhole(current)) events.push(...flush());
    return events;
  };
  /** Servers repeat an index, or give none; a name that comes with another id, or behind a call that is whole, begins a call. */
  const isAnother = (call: Call, id: unknown, name: unknown, hasIndex: boolean): boolean => {
    if (typeof name !== 'string' || name === '' || call.name === '') return false;
    if (typeof id === 'string' && id !== '') return id !== call.told;
    return !hasIndex && isWhole(call);
  };

  return {
    take(piece, at) {
      const hasIndex = typeof piece['index'] === 'number';
      const index = typeof piece['index'] === 'number' ? piece['index'] : at;
      const called = isObject(piece['function']) ? piece['function'] : {};
      const { name, arguments: given } = called;
      const { id } = piece;
      const json = typeof given === 'string' ? given : isObject(given) ? writeExact(given) : '';
      const call = latest.get(index);
      if (call === undefined || isAnother(call, id, name, hasIndex)) {
        if (count >= MOST_CALLS) return [];
        // Two of one id could not be told apart in what the client sends back.
        const isNew = typeof id === 'string' && id !== '' && !ids.has(id);
        const named = isNew ? id : callId(count);
        ids.add(named);
        const next: Call = { id: named, told: id, name: typeof name === 'string' ? name : '', json, whole: false };
        count += 1;
        latest.set(index, next);
        waiting.add(next);
        return goOn();
      }
      call.json += json;
      if (json !== '') call.whole = false;
      if (call === current) return [...(json === '' ? [] : [{ type: 'Arguments', json } as const]), ...goOn()];
      if (!waiting.has(call) && json.trim() !== '')
        throw new BrokenStreamError('a piece of a call came after its arguments were whole');
      // The name may come in pieces too.
      if (typeof name === 'string') call.name ||= name;
      return goOn();
    },
    say(said) {
      if (said.length === 0) return said;
      if (waiting.size === 0 && spoken.length === 0 && isWhole(current)) return said;
      spoken.push(...said);
      return goOn();
    },
    end() {
      if ([...waiting].some(({ name }) => name === '')) throw new BrokenStreamError('a call of a tool has no name');
      const events = [...waiting].flatMap(begin);
      return [...events, ...flush()];
    },
    any: () => count > 0,
  };
}
