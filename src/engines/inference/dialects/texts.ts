/**
 * Everything of a body that can become a prompt, for a tokenizer: all of it but the data of images, the name of the model, and short words of the dialect
 * such as roles. What is no text itself counts as its JSON. Nothing is left out because it is not known, since a server may put it into the prompt.
 */
import { isObject } from '../../../api/safe-value.js';
import { type Body, isGiven, listOf } from './body.js';
import type { Image, Part } from './images.js';

type ImageOf = (part: Part) => Image | undefined;

/** `user`, `tool_result`: counted with what a template puts around a text. */
const LONGEST_WORD = 32;

export function* textsOf(body: Body, imageOf: ImageOf): Generator<string> {
  for (const [member, value] of Object.entries(body)) {
    if (member === 'model' || !isGiven(value)) continue;
    if (member === 'messages') yield* textsOfMessages(listOf(value), imageOf);
    else if (member === 'system') yield* textsOfContent(value, imageOf);
    // Token ids: each has one digit at least, and a comma.
    else if (Array.isArray(value) && value.every((one) => typeof one !== 'number')) yield* value.map(asText);
    else if (typeof value === 'string' || typeof value === 'object') yield asText(value);
  }
}

function* textsOfMessages(messages: readonly unknown[], imageOf: ImageOf): Generator<string> {
  for (const message of messages) {
    if (!isObject(message)) {
      yield asText(message);
      continue;
    }
    const { content, role, ...rest } = message;
    yield* textsOfContent(content, imageOf);
    yield* textsOfRest(isWord(role) ? rest : { role, ...rest });
  }
}

function* textsOfContent(content: unknown, imageOf: ImageOf): Generator<string> {
  if (!isGiven(content)) return;
  if (!Array.isArray(content)) yield asText(content);
  else for (const part of content) yield* textsOfPart(part, imageOf);
}

function* textsOfPart(part: unknown, imageOf: ImageOf): Generator<string> {
  if (!isObject(part)) {
    yield asText(part);
    return;
  }
  const shown = imageOf(part) === undefined ? part : withoutData(part);
  const { type, text, content, source, cache_control: _, ...rest } = shown;
  if (isGiven(text)) yield asText(text);
  yield* textsOfContent(content, imageOf);
  if (isObject(source) && Array.isArray(source['content'])) {
    const { content: inside, ...others } = source;
    yield* textsOfContent(inside, imageOf);
    yield* textsOfRest(others);
  } else if (isGiven(source)) yield asText(source);
  yield* textsOfRest(isWord(type) ? rest : { type, ...rest });
}

/** An image without its data, wherever its dialect keeps them. */
function withoutData(part: Part): Part {
  const { image_url: url, file, source, ...rest } = part;
  return {
    ...rest,
    ...(isObject(url) ? { image_url: without(url, 'url') } : {}),
    ...(isObject(file) ? { file: without(file, 'file_data') } : {}),
    ...(isObject(source) ? { source: without(source, 'data') } : {}),
  };
}

function without(members: Part, name: string): Part {
  const { [name]: _, ...rest } = members;
  return rest;
}

function* textsOfRest(rest: Part): Generator<string> {
  if (Object.values(rest).some(isGiven)) yield asText(rest);
}

function isWord(value: unknown): boolean {
  return !isGiven(value) || (typeof value === 'string' && value.length <= LONGEST_WORD);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
