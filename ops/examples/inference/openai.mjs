// Calls a model through Troupe by OpenAI's client: one answer, then a stream, each with what it cost.
// Needs Node 20, the package `openai` (npm install openai) and a running service. ENDPOINT=default/assistant goes through that InferenceEndpoint.
//   KEY=$(cat .data/admin.key) node ops/examples/inference/openai.mjs
import OpenAI from 'openai';

const { URL: service = 'http://127.0.0.1:8080', KEY, MODEL = 'echo', ENDPOINT } = process.env;
const base = ENDPOINT === undefined ? service : `${service}/endpoints/${ENDPOINT}`;
const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: KEY });
const messages = [{ role: 'user', content: 'Say hello to the team.' }];
const say = (text) => process.stdout.write(text);

try {
  const { data, response } = await client.chat.completions
    .create({ model: MODEL, messages, max_tokens: 100 })
    .withResponse();
  say(`${data.choices[0].message.content} (${response.headers.get('x-svc-cost-usd')} USD)\n`);

  const options = { stream: true, stream_options: { include_usage: true }, max_tokens: 100 };
  for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, ...options })) {
    say(chunk.choices[0]?.delta.content ?? '');
    // The last chunk has the usage and no choice.
    if (chunk.usage) say(` (${chunk.usage['x-svc-cost-usd']} USD)\n`);
  }
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error;
  // 429: a limit, which the client has tried again twice by itself. 402: money, which it has not.
  say(`${error.status} ${error.code}: ${error.error?.message ?? error.message}\n`);
  process.exitCode = 1;
}
