/** Random conversations and answers that every dialect can say, for tests of translation. */
import fc from 'fast-check';
import type { AnswerEvent, Finish } from '../../../../src/engines/inference/dialects/answer-event.js';
import type {
  AssistantPart,
  Conversation,
  MediaPart,
  TextPart,
  Tool,
  Turn,
  UserPart,
} from '../../../../src/engines/inference/dialects/conversation.js';

export const words = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).map((text) => `w${text}`);
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,16}$/);
const text: fc.Arbitrary<TextPart> = words.map((said) => ({ is: 'Text', text: said }));

const image: fc.Arbitrary<MediaPart> = fc.oneof(
  fc.constant<MediaPart>({
    ...{ is: 'Media', media: 'Image', at: '' },
    source: { by: 'Data', type: 'image/png', base64: 'iVBORw0KGgo=' },
  }),
  fc.constant<MediaPart>({
    ...{ is: 'Media', media: 'Image', at: '' },
    source: { by: 'URL', url: 'https://example.com/a.png' },
  }),
);

const json = fc
  .dictionary(name, fc.oneof(fc.integer(), fc.string(), fc.boolean()), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

const tool: fc.Arbitrary<Tool> = fc.record({
  name,
  description: fc.option(words, { nil: undefined }),
  parameters: fc.constant({ type: 'object', properties: { a: { type: 'string' } } }),
  strict: fc.constantFrom(undefined, true),
});

/** What the assistant says, with the results of what it calls, in which the next turn begins. */
const exchange = fc
  .record({
    said: fc.option(text, { nil: undefined }),
    calls: fc.array(fc.record({ name, json, result: words }), { maxLength: 3 }),
    next: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
  })
  .filter(({ said, calls }) => said !== undefined || calls.length > 0);

export const conversations: fc.Arbitrary<Conversation> = fc
  .record({
    system: fc.option(words, { nil: undefined }),
    first: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
    exchanges: fc.array(exchange, { maxLength: 4 }),
    tools: fc.uniqueArray(tool, { selector: (one) => one.name, maxLength: 3 }),
    choice: fc.constantFrom('Auto' as const, 'None' as const, 'Any' as const, undefined),
    parallel: fc.constantFrom(undefined, false),
    most: fc.integer({ min: 1, max: 10_000 }),
    temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
    topP: fc.option(fc.constantFrom(0.5, 0.9), { nil: undefined }),
    stop: fc.array(words, { maxLength: 2 }),
    format: fc.option(fc.constant({ name: undefined, schema: { type: 'object' }, strict: true }), { nil: undefined }),
  })
  .map(({ system, first, exchanges, tools, choice, parallel, most, temperature, topP, stop, format }): Conversation => {
    const turns: Turn[] = [{ role: 'User', parts: first }];
    let calls = 0;
    for (const { said, calls: called, next } of exchanges) {
      const made = called.map((one) => ({ ...one, id: `call_${(calls += 1)}` }));
      const spoken: AssistantPart[] = said === undefined ? [] : [said];
      turns.push({
        role: 'Assistant',
        parts: [
          ...spoken,
          ...made.map((one): AssistantPart => ({ is: 'ToolCall', id: one.id, name: one.name, arguments: one.json })),
        ],
      });
      const results = made.map(({ id, result }): UserPart => ({
        is: 'ToolResult',
        id,
        parts: [{ is: 'Text', text: result }],
        failed: false,
      }));
      turns.push({ role: 'User', parts: [...results, ...next] });
    }
    const chosen = tools.length === 0 || choice === undefined ? undefined : { is: choice };
    return {
      ...{ system: system === undefined ? [] : [system], turns, saidIn: 'messages', tools, toolChoice: chosen },
      // One that is not told has no choice to stand in.
      parallelTools: chosen?.is === 'Auto' || chosen?.is === 'Any' ? parallel : undefined,
      ...{ maxOutputTokens: most, temperature, topP, stop, format, reasoning: undefined, user: undefined },
    };
  });

export interface RandomAnswer {
  readonly events: readonly AnswerEvent[];
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly json: string }[];
  readonly finish: Finish;
  readonly usage: { readonly input: number; readonly read: number; readonly output: number };
}

const pieces = (whole: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> =>
  fc.tuple(whole, fc.integer({ min: 1, max: 7 })).map(([said, size]) => {
    const points = Array.from(said);
    return Array.from({ length: Math.ceil(points.length / size) }, (_, at) =>
      points.slice(at * size, (at + 1) * size).join(''),
    );
  });

const NONE: readonly string[] = [];

/** As a model makes it: thinking, then text, then calls. */
export const answers: fc.Arbitrary<RandomAnswer> = fc
  .record({
    thinking: fc.option(pieces(words), { nil: NONE }),
    text: fc.option(pieces(words), { nil: NONE }),
    calls: fc.array(fc.record({ name, json: pieces(json) }), { maxLength: 4 }),
    cut: fc.boolean(),
    input: fc.integer({ min: 1, max: 5_000 }),
    read: fc.integer({ min: 0, max: 500 }),
    output: fc.integer({ min: 1, max: 900 }),
  })
  .map(({ thinking, text: said, calls, cut, input, read, output }): RandomAnswer => {
    const finish: Finish = cut ? 'Length' : calls.length > 0 ? 'Tool' : 'End';
    const usage = {
      inputTokens: input,
      cacheReadTokens: read,
      cacheWriteTokens: 0,
      longCacheWriteTokens: 0,
      outputTokens: output,
    };
    return {
      events: [
        ...thinking.map((one): AnswerEvent => ({ type: 'Thinking', text: one })),
        ...said.map((one): AnswerEvent => ({ type: 'Text', text: one })),
        ...calls.flatMap(({ name: called, json: parts }, at): AnswerEvent[] => [
          { type: 'ToolCall', id: `call_${at}`, name: called },
          ...parts.map((one): AnswerEvent => ({ type: 'Arguments', json: one })),
        ]),
        { type: 'Finish', finish },
        { type: 'Usage', usage, reasoningTokens: 0 },
      ],
      ...{ thinking: thinking.join(''), text: said.join(''), finish, usage: { input, read, output } },
      calls: calls.map(({ name: called, json: parts }) => ({ name: called, json: parts.join('') })),
    };
  });
