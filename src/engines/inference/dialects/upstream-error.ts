/**
 * What an upstream says when it refuses, in whichever form: `{error: {message}}` of either dialect, `{error: "text"}`, `{object: "error"}`,
 * `{detail}` and `{message}` of web frameworks, a list of one of them, or plain text. Some send it with status 200.
 */
import { isObject } from '../../../api/safe-value.js';
import type { UpstreamError } from './dialect.js';

const LONGEST_MESSAGE = 2_000;
const LONGEST_WORD = 200;

/** Members of an answer: what has one of them is no error by its `message` or `detail` alone. */
const ANSWERS = ['choices', 'content', 'data', 'input_tokens', 'usage'];

/** Undefined: it is no error. */
export function readUpstreamError(body: unknown): UpstreamError | undefined {
  if (typeof body === 'string') return ofText(body);
  if (Array.isArray(body)) return body.length === 1 && isObject(body[0]) ? readUpstreamError(body[0]) : undefined;
  if (!isObject(body)) return undefined;
  const { error, type, object, detail, message } = body;
  if (isObject(error)) return ofObject(error);
  if (typeof error === 'string' && error !== '') return { ...ofObject(body), message: clean(error) };
  if (type === 'error' || object === 'error') return ofObject(body);
  if (ANSWERS.some((member) => member in body)) return undefined;
  if (typeof message === 'string') return ofObject(body);
  const said = firstDetail(detail);
  return said === undefined ? undefined : { message: clean(said) };
}

/** Of a stream that says so in no form that is known. */
export function unknownUpstreamError(text: string): UpstreamError {
  return ofText(text) ?? { message: UNSAID };
}

const UNSAID = 'the upstream gave no reason';

/** Pages for browsers say nothing to a client. */
function ofText(text: string): UpstreamError | undefined {
  const cleaned = clean(text).trim();
  return cleaned === '' || cleaned.startsWith('<') ? undefined : { message: cleaned };
}

function ofObject(error: Readonly<Record<string, unknown>>): UpstreamError {
  const { message, detail, type, code, param, metadata } = error;
  const said = typeof message === 'string' && message !== '' ? message : firstDetail(detail);
  return {
    message: said === undefined ? UNSAID : clean(said),
    type: type === 'error' ? undefined : word(type),
    code: word(code),
    param: word(param),
    ...(isOfContent(code, metadata) ? { isOfContent: true } : {}),
  };
}

/** OpenRouter lists the reasons of its moderation; Azure and OpenAI have a code. */
function isOfContent(code: unknown, metadata: unknown): boolean {
  if (code === 'content_filter' || code === 'content_policy_violation') return true;
  return isObject(metadata) && Array.isArray(metadata['reasons']);
}

/** `"text"`, or a list of `{msg, loc}`. */
function firstDetail(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail;
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined;
  return isObject(first) && typeof first['msg'] === 'string' ? first['msg'] : undefined;
}

function word(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' ? clean(value).slice(0, LONGEST_WORD) : undefined;
}

// eslint-disable-next-line no-control-regex -- it is what is taken out
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
/** Vendors repeat a part of the key that they refuse: it is the operator's. */
const KEY = /\b(?:sk|pk|gsk|xai|key)-[\w*.-]{4,}/gi;

/** Cut before it is searched, so that a long text costs no more than a short one; and never in the middle of a character. */
function clean(text: string): string {
  return text
    .slice(0, LONGEST_MESSAGE)
    .replace(/[\ud800-\udbff]$/, '')
    .replaceAll(CONTROL, ' ')
    .replaceAll(KEY, '[key]');
}
