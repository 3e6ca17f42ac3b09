/**
 * The HTTP client beneath the `stripe` package: Node's, with what the package's own lacks, an end to each request when its signal is aborted
 * and a bound on the answer. I10: an answer has at most MOST_ANSWER bytes, else the connection is cut; at most MOST_SOCKETS connections are
 * open, and further requests wait for one until their signal ends them.
 */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Stripe } from 'stripe';

/** A page of events is the largest answer, some hundred KiB. */
const MOST_ANSWER = 8 * 1024 * 1024;
const MOST_SOCKETS = 16;

type HttpClient = NonNullable<Stripe.StripeConfig['httpClient']>;
type Answer = Awaited<ReturnType<HttpClient['makeRequest']>>;

/** Connections, shared by all calls of one processor; idle ones keep no process alive. */
export function openAgent(protocol: 'http' | 'https'): http.Agent {
  const settings = { keepAlive: true, maxSockets: MOST_SOCKETS, maxFreeSockets: 4 };
  return protocol === 'http' ? new http.Agent(settings) : new https.Agent(settings);
}

/** For the requests that end with `signal`. */
export function httpClient(agent: http.Agent, signal: AbortSignal): HttpClient {
  return {
    getClientName: () => 'node',
    makeRequest: (host, port, path, method, headers, body, protocol) =>
      new Promise((resolve, reject) => {
        const { request } = protocol === 'http' ? http : https;
        const sent = request({ host, port, path, method, headers: { ...headers }, agent, signal }, (answer) =>
          resolve(answerOf(answer)),
        );
        sent.on('error', reject);
        sent.end(body);
      }),
  };
}

function answerOf(answer: IncomingMessage): Answer {
  return {
    getStatusCode: () => answer.statusCode ?? 0,
    getHeaders: () => answer.headers as ReturnType<Answer['getHeaders']>,
    getRawResponse: () => answer,
    toStream() {
      throw new Error('no answer of Stripe is read as a stream');
    },
    toJSON: () => readJson(answer),
    dispose: () => void answer.resume().on('error', () => {}),
  };
}

/** An object, as all answers are; rejects for an answer that is cut short, too large, or anything else. */
async function readJson(answer: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_ANSWER) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  if (!answer.complete) throw new Error('the answer was cut short');
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
  if (typeof value !== 'object' || value === null) throw new Error('the answer is no object');
  return value;
}
