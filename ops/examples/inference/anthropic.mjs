// Calls a model through Troupe by Anthropic's client: counts tokens, which costs nothing, then streams an answer.
// Needs Node 20, the package `@anthropic-ai/sdk` (npm install @anthropic-ai/sdk) and a running service. ENDPOINT=default/assistant goes through that
// InferenceEndpoint.
//   KEY=$(cat .data/admin.key) node ops/examples/inference/anthropic.mjs
import Anthropic from '@anthropic-ai/sdk';

const { URL: service = 'http://127.0.0.1:8080', KEY, MODEL = 'echo', ENDPOINT } = process.env;
const base = ENDPOINT === undefined ? service : `${service}/endpoints/${ENDPOINT}`;
// This client adds /v1 by itself.
const client = new Anthropic({ baseURL: base, apiKey: KEY });
const messages = [{ role: 'user', content: 'Say hello to the team.' }];
const say = (text) => process.stdout.write(text);

try {
  const { input_tokens: tokens } = await client.messages.countTokens({ model: MODEL, messages });
  say(`${tokens} tokens: `);
  const stream = client.messages.stream({ model: MODEL, messages, max_tokens: 100 });
  let cost;
  stream.on('text', say).on('streamEvent', ({ type, usage }) => {
    if (type === 'message_delta') cost = usage['x-svc-cost-usd'];
  });
  await stream.finalMessage();
  say(` (${cost} USD)\n`);
} catch (error) {
  if (!(error instanceof Anthropic.APIError)) throw error;
  say(`${error.status} ${error.error?.error?.code}: ${error.error?.error?.message ?? error.message}\n`);
  process.exitCode = 1;
}
