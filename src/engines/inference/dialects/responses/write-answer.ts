/**
 * Writes an answer as a response, in events of a stream or whole. Items come one after the other, numbered from 0, each with an id of its own; a part
 * is added before its text, and each item and part is told whole when it is done. A response that breaks off ends with `response.failed`.
 */
import { promptTokens, type Usage } from '../../../../money/model-prices.js';
import type { AnswerAbout, AnswerEvent, AnswerWriter, Finish, ShowCost } from '../answer-event.js';
import { COST_MEMBER, ESTIMATED_MEMBER } from '../cost-member.js';
import { BrokenStreamError } from '../dialect.js';
import { writeExact } from '../exact-json.js';
import { writeFrame } from '../frames.js';
import { writeEncrypted } from './encrypted.js';

type Item =
  | { is: 'Message'; id: string; parts: { type: 'output_text' | 'refusal'; text: string }[] }
  | { is: 'Reasoning'; id: string; text: string; encrypted: string | undefined }
  | { is: 'Call'; id: string; callId: string; name: string; json: string };

type Emit = (type: string, members: object) => void;

export function writeResponseStream(about: AnswerAbout, costOf: ShowCost): AnswerWriter {
  let frames = '';
  let sequence = -1;
  const emit: Emit = (type, members) => {
    sequence += 1;
    frames += writeFrame(type, writeExact({ type, sequence_number: sequence, ...members }));
  };
  const taken = (): string => {
    const all = frames;
    frames = '';
    return all;
  };
  const items = openItems(about.id, emit);
  let finish: Finish = 'End';

  return {
    begin() {
      const response = responseOf(about, 'in_progress', []);
      emit('response.created', { response });
      emit('response.in_progress', { response });
      return taken();
    },
    event(event) {
      if (event.type === 'Finish') ({ finish } = event);
      else items.take(event);
      return taken();
    },
    end(usage, reasoningTokens, isEstimate) {
      const status = statusOf(finish);
      items.close(status === 'incomplete');
      const cost = { [COST_MEMBER]: costOf(usage), ...(isEstimate ? { [ESTIMATED_MEMBER]: true } : {}) };
      const counted = { ...responseUsage(usage, reasoningTokens), ...cost };
      const response = responseOf(about, status, items.all(), { usage: counted, finish });
      emit(`response.${status}`, { response });
      return taken();
    },
    fail({ code, message }) {
      items.close(true);
      const response = { ...responseOf(about, 'failed', items.all()), error: { code, message } };
      emit('response.failed', { response });
      return taken();
    },
  };
}

/** `usage`: the upstream's, else our count. */
export function writeResponseAnswer(
  events: readonly AnswerEvent[],
  about: AnswerAbout,
  usage: Usage,
  reasoningTokens: number,
): Record<string, unknown> {
  const items = openItems(about.id, () => undefined);
  let finish: Finish = 'End';
  for (const event of events) {
    if (event.type === 'Finish') ({ finish } = event);
    else items.take(event);
  }
  items.close(statusOf(finish) === 'incomplete');
  const told = { usage: responseUsage(usage, reasoningTokens), finish };
  return responseOf(about, statusOf(finish), items.all(), told);
}

function statusOf(finish: Finish): 'completed' | 'incomplete' {
  return finish === 'Length' || finish === 'Refused' ? 'incomplete' : 'completed';
}

interface Items {
  take(event: Exclude<AnswerEvent, { type: 'Finish' }>): void;
  /** The last one is done, or was cut off. */
  close(isCut?: boolean): void;
  /** As they are shown. */
  all(): readonly Record<string, unknown>[];
}

/** I10: the last event of a stream repeats the whole answer. No model generates as much in one answer. */
const MOST_ITEMS = 1_024;
const MOST_KEPT = 2 ** 20;

/** What an answer is made of, each item told from its beginning to its end. */
function openItems(id: string, emit: Emit): Items {
  const items: Item[] = [];
  /** The answer ended within it: a client must not carry such a call out. */
  const cut = new Set<Item>();
  const shownNow = (item: Item): Record<string, unknown> => shown(item, cut.has(item) ? 'incomplete' : 'completed');
  let open: Item | undefined;
  const at = (): { output_index: number; item_id: string } => ({
    output_index: items.length - 1,
    item_id: open?.id ?? '',
  });

  let kept = 0;
  const keep = (text: string): void => {
    kept += text.length;
    if (kept > MOST_KEPT) throw new BrokenStreamError('its answer is larger than a response');
  };

  const begin = <Kind extends Item>(item: Kind): Kind => {
    close();
    if (items.length === MOST_ITEMS) throw new BrokenStreamError('its answer has more items than a response');
    items.push(item);
    open = item;
    emit('response.output_item.added', { output_index: items.length - 1, item: shown(item, 'in_progress') });
    return item;
  };

  function closePart(item: Extract<Item, { is: 'Message' }>): void {
    const part = item.parts.at(-1);
    if (part === undefined) return;
    const place = { ...at(), content_index: item.parts.length - 1 };
    if (part.type === 'refusal') emit('response.refusal.done', { ...place, refusal: part.text });
    else emit('response.output_text.done', { ...place, text: part.text, logprobs: [] });
    emit('response.content_part.done', { ...place, part: shownPart(part) });
  }

  function close(isCut = false): void {
    if (open === undefined) return;
    if (isCut) cut.add(open);
    switch (open.is) {
      case 'Message':
        closePart(open);
        break;
      case 'Reasoning':
        if (open.text !== '') {
          emit('response.reasoning_summary_text.done', { ...at(), summary_index: 0, text: open.text });
          const part = { type: 'summary_text', text: open.text };
          emit('response.reasoning_summary_part.done', { ...at(), summary_index: 0, part });
        }
        break;
      case 'Call':
        if (open.json === '') open.json = '{}';
        emit('response.function_call_arguments.done', { ...at(), name: open.name, arguments: open.json });
        break;
    }
    emit('response.output_item.done', { output_index: items.length - 1, item: shownNow(open) });
    open = undefined;
  }

  function say(type: 'output_text' | 'refusal', text: string): void {
    const item = open?.is === 'Message' ? open : begin({ is: 'Message', id: `msg_${id}_${items.length}`, parts: [] });
    let part = item.parts.at(-1);
    if (part?.type !== type) {
      closePart(item);
      part = { type, text: '' };
      item.parts.push(part);
      const place = { ...at(), content_index: item.parts.length - 1 };
      emit('response.content_part.added', { ...place, part: shownPart(part) });
    }
    keep(text);
    part.text += text;
    const place = { ...at(), content_index: item.parts.length - 1, delta: text };
    emit(`response.${type}.delta`, type === 'refusal' ? place : { ...place, logprobs: [] });
  }

  function think(text: string): void {
    const isOpen = open?.is === 'Reasoning' && open.encrypted === undefined;
    const item =
      isOpen && open?.is === 'Reasoning'
        ? open
        : begin({ is: 'Reasoning', id: `rs_${id}_${items.length}`, text: '', encrypted: undefined });
    if (item.text === '')
      emit('response.reasoning_summary_part.added', {
        ...at(),
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      });
    keep(text);
    item.text += text;
    emit('response.reasoning_summary_text.delta', { ...at(), summary_index: 0, delta: text });
  }

  return {
    take(event) {
      switch (event.type) {
        case 'Text':
          return say('output_text', event.text);
        case 'Refusal':
          return say('refusal', event.text);
        case 'Thinking':
          return think(event.text);
        case 'Signature': {
          const { signature } = event;
          const item =
            open?.is === 'Reasoning'
              ? open
              : begin({ is: 'Reasoning', id: `rs_${id}_${items.length}`, text: '', encrypted: undefined });
          keep(signature);
          item.encrypted = writeEncrypted({ thinking: item.text, signature });
          return undefined;
        }
        case 'HiddenThinking': {
          keep(event.data);
          const encrypted = writeEncrypted({ data: event.data });
          begin({ is: 'Reasoning', id: `rs_${id}_${items.length}`, text: '', encrypted });
          return undefined;
        }
        case 'ToolCall': {
          const { id: callId, name } = event;
          begin({ is: 'Call', id: `fc_${id}_${items.length}`, callId, name, json: '' });
          return undefined;
        }
        case 'Arguments':
          if (open?.is !== 'Call') return undefined;
          keep(event.json);
          open.json += event.json;
          emit('response.function_call_arguments.delta', { ...at(), delta: event.json });
          return undefined;
        case 'Usage':
          return undefined;
      }
    },
    close,
    all: () => items.map(shownNow),
  };
}

function shown(item: Item, status: 'in_progress' | 'incomplete' | 'completed'): Record<string, unknown> {
  const isDone = status !== 'in_progress';
  switch (item.is) {
    case 'Message': {
      const content = item.parts.map(shownPart);
      return { id: item.id, type: 'message', role: 'assistant', status, content };
    }
    case 'Reasoning':
      return {
        ...{ id: item.id, type: 'reasoning' },
        summary: item.text === '' ? [] : [{ type: 'summary_text', text: item.text }],
        ...(item.encrypted === undefined ? {} : { encrypted_content: item.encrypted }),
      };
    case 'Call':
      return {
        ...{ id: item.id, type: 'function_call', status },
        ...{ call_id: item.callId, name: item.name, arguments: isDone && item.json === '' ? '{}' : item.json },
      };
  }
}

function shownPart({ type, text }: { type: 'output_text' | 'refusal'; text: string }): Record<string, unknown> {
  return type === 'refusal' ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };
}

function responseOf(
  { id, created, model, asked }: AnswerAbout,
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed',
  output: readonly unknown[],
  told?: { readonly usage: Record<string, unknown>; readonly finish: Finish },
): Record<string, unknown> {
  const reason = told?.finish === 'Length' ? 'max_output_tokens' : 'content_filter';
  return {
    ...{ id: `resp_${id}`, object: 'response', created_at: created, status, background: false, error: null },
    incomplete_details: status === 'incomplete' ? { reason } : null,
    ...{ instructions: null, max_output_tokens: null, metadata: {}, parallel_tool_calls: true, temperature: null },
    ...{ tool_choice: 'auto', tools: [], top_p: null, text: { format: { type: 'text' } } },
    ...asked,
    ...{ model, output, previous_response_id: null, service_tier: 'default', store: false, truncation: 'disabled' },
    usage: told?.usage ?? null,
  };
}

function responseUsage(usage: Usage, reasoningTokens: number): Record<string, unknown> {
  const input = promptTokens(usage);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: input + usage.outputTokens,
  };
}
