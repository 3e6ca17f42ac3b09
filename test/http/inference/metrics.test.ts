/** What `/metrics` says of requests to models: each is counted once, by how it ended, and no label holds what a client has written. */
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { LimitError } from '../../../actors/inference/limit-error.js';
import type { AdmittedRequest, InferenceService } from '../../../actors/inference/service.js';
import { refuse } from '../../../src/api/refusal.js';
import type { Forwarded } from '../../../src/engines/inference/router.js';
import { USD, ZERO } from '../../../src/money/usd.js';
import { until } from '../../e2e/until.js';
import { targetOn } from './support.js';
import { openTestApi, type TestApi } from '../support/test-api.js';

const COST = new USD('0.25');
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, prompt_tokens_details: { cached_tokens: 2 } };

/** Of a stream or a whole answer, in parts; it never ends after the last one when `silent`. */
function answered(parts: readonly string[], silent?: AbortSignal): Forwarded {
  async function* body(): AsyncGenerator<Buffer> {
    for (const part of parts) yield Buffer.from(part);
    if (silent !== undefined) {
      await new Promise((resolve) => silent.addEventListener('abort', resolve, { once: true }));
      throw new Error('given up');
    }
  }
  const asked = { dialect: 'OpenAI', operation: '/v1/chat/completions' } as const;
  const about = { ...asked, upstream: 'one', class: 'External', retries: 0, ended: () => undefined, conceal: String };
  return { outcome: 'Answered', status: 200, headers: {}, body: body(), discard: () => undefined, ...about };
}

const chunk = (members: object): string => `data: ${JSON.stringify(members)}\n\n`;
const TEXT = chunk({ choices: [{ index: 0, delta: { content: 'Hello' } }] });

const ADMITTED: AdmittedRequest = {
  ...{ limits: {}, priceOf: () => COST, progress: () => undefined },
  charge: () => COST,
  end: (usage) => (usage === undefined ? ZERO : COST),
};

type Way = Partial<Pick<InferenceService, 'admit' | 'forward'>>;

async function openModels(t: ExecutionContext): Promise<{ api: TestApi; way(next: Way): void }> {
  let now: Way = {};
  const api = await openTestApi(t, {
    inference: {
      ...{
        models: () => [],
        find: () => targetOn('OpenAI'),
        refused: () => undefined,
        follow: () => () => undefined,
        spool: () => Promise.reject(new Error('nothing is spooled here')),
      },
      admit: (target, ask) => now.admit?.(target, ask) ?? ADMITTED,
      forward: (call) => now.forward?.(call) ?? Promise.reject(new Error('no upstream')),
    },
  });
  return { api, way: (next) => (now = next) };
}

function send(api: TestApi, more: object = {}, signal?: AbortSignal): Promise<Response> {
  const body = { model: 'as-clients-call-it', messages: [{ role: 'user', content: 'secret words' }], ...more };
  return api.call('/v1/chat/completions', { method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) });
}

/** Metrics as they are now: their text is made anew once a second. */
async function metricsWith(api: TestApi, line: string): Promise<string> {
  let text = '';
  await until(`the metrics say ${line}`, async () => {
    text = await (await api.call('/metrics')).text();
    return text.includes(`${line}\n`);
  });
  return text;
}

const counted = (outcome: string, times: number): string =>
  `troupe_inference_requests_total{model="small",operation="/v1/chat/completions",outcome="${outcome}"} ${times}`;

test('a whole answer and a stream count as done, with their tokens, their cost and the time to the first byte', async (t) => {
  const { api, way } = await openModels(t);
  way({ forward: async () => answered([JSON.stringify({ choices: [], usage: USAGE })]) });
  t.is((await send(api)).status, 200);
  way({ forward: async () => answered([TEXT, chunk({ choices: [], usage: USAGE }), 'data: [DONE]\n\n']) });
  t.regex(await (await send(api, { stream: true })).text(), /\[DONE\]/);
  const text = await metricsWith(api, counted('Done', 2));
  t.true(text.includes('troupe_inference_tokens_total{model="small",direction="in"} 14\n'), text);
  t.true(text.includes('troupe_inference_tokens_total{model="small",direction="out"} 6\n'));
  t.true(text.includes('troupe_inference_charged_usd_total{model="small"} 0.5\n'));
  t.true(text.includes('troupe_inference_first_byte_seconds_count{model="small"} 2\n'));
});

test('what limits, money, the upstream or the request itself refuses counts once each, by its reason', async (t) => {
  const { api, way } = await openModels(t);
  const fails = async (status: number, next: Way, more: object = {}): Promise<void> => {
    way(next);
    t.is((await send(api, more)).status, status);
  };
  await fails(429, {
    admit() {
      throw new LimitError({ outcome: 'Refused', by: 'rpm', state: {}, retryAfterSeconds: 3 }, undefined);
    },
  });
  await fails(402, {
    admit() {
      throw refuse('BudgetExceeded', 'no money is left');
    },
  });
  await fails(503, {
    forward: async () => ({ outcome: 'Failed', reason: 'Unavailable', retryAfterSeconds: 1 }),
  });
  const error = { message: 'the prompt is too long' };
  await fails(400, { forward: async () => ({ outcome: 'Refused', status: 400, error, class: 'External' }) });
  await fails(400, {}, { max_tokens: 1e8 });
  for (const outcome of ['Limited', 'Unfunded', 'Failed']) await metricsWith(api, counted(outcome, 1));
  const text = await metricsWith(api, counted('Refused', 2));
  t.false(text.includes('outcome="Done"'));
  t.false(text.includes('troupe_inference_first_byte_seconds_count{'), 'no answer has begun');
});

test('a stream that its upstream leaves is broken, one that its client leaves is left, and both are charged', async (t) => {
  const { api, way } = await openModels(t);
  way({ forward: async () => answered([TEXT]) });
  t.regex(await (await send(api, { stream: true })).text(), /the model's upstream failed/);
  await metricsWith(api, counted('Broken', 1));
  const leaving = new AbortController();
  way({ forward: async ({ signal }) => answered([TEXT], signal) });
  const { body } = await send(api, { stream: true }, leaving.signal);
  await body?.getReader().read();
  leaving.abort();
  const text = await metricsWith(api, counted('Left', 1));
  t.true(text.includes('troupe_inference_charged_usd_total{model="small"} 0.5\n'), text);
});

test('a stream that goes on past what its request may use is cut with an error, its upstream is given up, and it counts as broken', async (t) => {
  const { api, way } = await openModels(t);
  let givenUp: AbortSignal | undefined;
  const long = chunk({ choices: [{ index: 0, delta: { content: 'x'.repeat(1_000) } }] });
  way({
    forward: async ({ signal }) => {
      givenUp = signal;
      return answered([TEXT, long, long], signal);
    },
  });
  const text = await (await send(api, { stream: true, max_tokens: 2 })).text();
  t.regex(text, /generated more than the request was admitted for/);
  t.false(text.includes('xxx'), 'what is too much is not handed on');
  t.true(givenUp?.aborted);
  await metricsWith(api, counted('Broken', 1));
});

test('no metric holds what a client has written, and a request without a known key counts for no model', async (t) => {
  const { api, way } = await openModels(t);
  way({ forward: async () => answered([JSON.stringify({ choices: [], usage: USAGE })]) });
  t.is(
    (await api.call('/v1/chat/completions', { method: 'POST', headers: { authorization: 'Bearer no' } })).status,
    401,
  );
  t.is((await send(api)).status, 200);
  const text = await metricsWith(api, counted('Done', 1));
  t.false(/as-clients-call-it|secret words/.test(text));
  t.is([...text.matchAll(/^troupe_inference_requests_total\{/gm)].length, 1);
});
