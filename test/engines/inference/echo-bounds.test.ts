/** What Model `echo` says because a schema or a choice of tools demands it: bounded, and refused where it makes no sense. */
import test from 'ava';
import { openEcho } from '../../../src/engines/inference/echo/open-echo.js';
import { smallestFor } from '../../../src/engines/inference/echo/smallest.js';

async function ask(body: object): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await openEcho({ now: () => 0 }).send({
    ...{ tenant: 'o-1', operation: '/v1/chat/completions', stream: false, headers: {} },
    body: Buffer.from(JSON.stringify({ model: 'echo', ...body })),
    signal: new AbortController().signal,
  });
  if (answer.outcome !== 'Answered') throw new Error(answer.message);
  let text = '';
  for await (const part of answer.body) text += part.toString();
  return { status: answer.status, body: JSON.parse(text) as unknown };
}

test('What a schema makes echo say is bounded in bytes, whichever way it asks for more', async (t) => {
  const long = 'x'.repeat(200_000);
  for (const items of [
    { const: long },
    { enum: [long] },
    { type: 'string', minLength: 1e9 },
    { const: 'x'.repeat(2_000) },
  ]) {
    const schema = { type: 'array', minItems: 1_000, items };
    const made = JSON.stringify(smallestFor(schema));
    t.true(made.length < 40 * 1024, `${made.length}`);
  }
  const names = Array.from({ length: 1_000 }, (_, at) => `${at}`.padEnd(1_000, 'n'));
  t.true(JSON.stringify(smallestFor({ type: 'object', required: names })).length < 40 * 1024);
  t.is((smallestFor({ type: 'string', minLength: 300 }) as string).length, 300);
});

test('A tool that has to be called is called, and a choice that is none is refused', async (t) => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
  const hello = [{ role: 'user', content: 'Hello' }];
  const called = (body: unknown): unknown =>
    (body as { choices: [{ message: { tool_calls?: [{ function: unknown }] } }] }).choices[0].message.tool_calls?.[0]
      .function;
  const allowed = {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'weather' } }] },
  };
  for (const choice of ['required', { type: 'function', function: { name: 'weather' } }, allowed]) {
    const answer = await ask({ messages: hello, tools, tool_choice: choice });
    t.deepEqual(called(answer.body), { name: 'weather', arguments: '{"city":""}' });
  }
  t.is(called((await ask({ messages: hello, tools, tool_choice: 'auto' })).body), undefined);
  for (const [members, param] of [
    [{ tools, tool_choice: 'must' }, 'tool_choice'],
    [{ tools, tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice'],
    [{ tools: [{ type: 'function' }] }, 'tools[0]'],
    [{ response_format: { type: 'xml' } }, 'response_format'],
    [{ messages: [{ role: 'king', content: 'a' }] }, 'messages[0].role'],
  ] as const) {
    const { error } = (await ask({ messages: hello, ...members })).body as { error: { param: string } };
    t.is(error.param, param);
  }
  const deep = `@echo {"json": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const refused = await ask({ messages: [{ role: 'user', content: deep }] });
  t.is(refused.status, 400);
});
