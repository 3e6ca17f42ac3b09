/** The operator's key reaches no client, also where an upstream repeats it in an error behind a status of 200. */
import test from 'ava';
import type { Forwarded, ForwardCall } from '../../../src/engines/inference/router.js';
import { ADMITTED, targetOn } from './support.js';
import { openTestApi } from '../support/test-api.js';

const KEY = 'token-abc123';
test('an error behind a status of 200 is told without the key of its upstream, whole and in a stream', async (t) => {
  const ERROR = `{"error":{"message":"no right for Bearer ${KEY}"}}`;
  let answer = '';
  const forward = async ({ ways: [way] }: ForwardCall): Promise<Forwarded> => {
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from(answer);
    }
    if (way === undefined) throw new Error('it can be said to no upstream');
    const { dialect, operation } = way;
    return {
      ...{ outcome: 'Answered', status: 200, headers: {}, body: body(), discard: () => undefined },
      ...{ dialect, operation, upstream: 'one', class: 'External', retries: 0, ended: () => undefined },
      conceal: (text) => text.replaceAll(KEY, '…'),
    };
  };
  const api = await openTestApi(t, {
    inference: {
      ...{ models: () => [], find: () => targetOn('OpenAI'), refused: () => undefined, follow: () => () => undefined },
      ...{ spool: () => Promise.reject(new Error('nothing is spooled here')), admit: () => ADMITTED, forward },
    },
  });
  const chunk = `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n`;
  for (const [path, more] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/messages', { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }],
    ['/v1/responses', { input: 'Hi' }],
  ] as const)
    for (const [said, stream] of [
      [ERROR, false],
      [`{"error":"no right for ${KEY}"}`, false],
      [`data: ${ERROR}\n\n`, true],
      [`${chunk}data: ${ERROR}\n\n`, true],
    ] as const) {
      answer = said;
      const body = JSON.stringify({ model: 'm', stream, ...more });
      const text = await (await api.call(path, { method: 'POST', body })).text();
      t.true(text.includes('no right for'), text);
      t.false(text.includes(KEY), text);
    }
});
