/** The operator's key reaches no client, also where an upstream repeats it in an error behind a status of 200. */
import test from 'ava';
import type { AdmittedRequest, InferenceTarget } from '../../../actors/inference/service.js';
import type { Forwarded, ForwardCall } from '../../../src/engines/inference/router.js';
import { ZERO } from '../../../src/money/usd.js';
import { openTestApi } from '../support/test-api.js';

const KEY = 'token-abc123';
const TARGET: InferenceTarget = {
  model: { name: 'small', uid: 'u', spec: {}, created: '2026-01-02T03:04:05Z' },
  ...{ endpoint: undefined, project: 'default', price: {} },
  payer: {
    ...{ org: 'acme', id: 'n', owner: { uid: 'n', kind: 'Namespace', project: '', name: 'default' } },
    payer: { project: 'default', labels: {}, costs: [] },
  },
  routes: { dialects: new Set(['OpenAI']), fetching: new Set(), countTokens: undefined },
};
const ADMITTED: AdmittedRequest = {
  limits: {},
  ...{ priceOf: () => ZERO, progress: () => undefined, charge: () => ZERO, end: () => ZERO },
};

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
      ...{ models: () => [], find: () => TARGET, refused: () => undefined, follow: () => () => undefined },
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
