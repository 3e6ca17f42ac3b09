/** What both dialects check of a request's body: its form, members that would take the request elsewhere, and numbers within bounds. */
import { depthOf, isObject } from '../../../api/safe-value.js';
import type { RequestFault } from './dialect.js';

export type Body = Readonly<Record<string, unknown>>;

/** Deeper than any schema of a tool; what walks or writes a body relies on it. */
export const DEEPEST = 128;
/**
 * I10: objects, lists and strings of one body, so that the memory of the thread that reads it suffices whatever they are: `JSON.parse` that finds
 * none ends the whole process, not the thread. Conversations that fill the largest models have a fifth of it.
 */
export const MOST_PIECES = 250_000;
export const LONGEST_MODEL = 200;
/** Of one answer. More than any model gives. */
const MOST_TOKENS = 1_000_000_000;

/**
 * Members by which proxies and servers are told where to send a request, with which key, to which other model, or what to load: where it goes is the
 * operator's. In lower case and without `_` and `-`.
 */
const ROUTING = new Set([
  ...['apibase', 'baseurl', 'apikey', 'apiversion', 'apitype', 'organization', 'proxy', 'customllmprovider'],
  ...['headers', 'extraheaders', 'defaultheaders', 'extraquery', 'extrabody'],
  ...['models', 'modellist', 'fallbacks', 'route', 'provider', 'plugins', 'transforms', 'mockresponse'],
  // Of one's turn at a server that others use too, and of weights that it loads.
  ...['priority', 'lorarequest', 'lora', 'loras', 'lorapath', 'adapter', 'adapterid', 'customlogitprocessor'],
  ...['modelid', 'deploymentid', 'engine', 'userconfig', 'fallbackmodels'],
  ...['chattemplate', 'kvtransferparams', 'bootstraphost', 'bootstrapport', 'bootstraproom'],
  ...['litellmparams', 'additionaldropparams', 'allowedopenaiparams', 'dropparams'],
]);
/** What some vendors look up or run beside the model when they are told so, at a price of its own. */
const AT_VENDORS = new Set([
  ...[
    'searchparameters',
    'enablesearch',
    'searchoptions',
    'websearch',
    'datasources',
    'compoundcustom',
    'vectorstoreids',
    ...['forcesearchenhancement', 'enableenhancement', 'enablecodeinterpreter'],
  ],
]);
const CREDENTIALS = /^(aws|azure|vertex)/;
/** Members that refer to data stored in the operator's account at a vendor. All clients share that account, so none may name what is stored there. */
const KEPT = new Set(['thread', 'threadid', 'conversation', 'previousresponseid', 'fileid', 'fileids', 'attachments']);

/**
 * Members are written in small ASCII letters. Some servers read others as the same member (Go folds `ſ` to `s`), and obey the last one: then another
 * amount would be generated than is held, or a stream come where none is awaited.
 */
const NAME = /^[a-z0-9_.$-]*$/;
const SPELLING =
  'is no member of the dialect: they are spelled in small letters, and some servers would read it as another one. Remove it.';

/** The first name of a member that no dialect has. */
export function oddName(object: Body): string | undefined {
  return Object.keys(object).find((name) => !NAME.test(name));
}

export function faultOfName(object: Body, at: () => string): RequestFault | undefined {
  const odd = oddName(object);
  return odd === undefined ? undefined : fault(`${at()}.${odd.slice(0, 64)}`, SPELLING);
}

/** Members of the dialects that set how much is generated, which is what a request is admitted for. Others may set it at some server. */
const AMOUNTS = new Set(['max_tokens', 'max_completion_tokens', 'n', 'best_of']);
/** What sets it beside them, by the names of llama.cpp, Ollama, vLLM and others; the members of the dialects too, when they are spelled otherwise. */
const OTHER_AMOUNTS = new Set([
  ...['npredict', 'numpredict', 'options', 'maxnewtokens', 'maxoutputtokens', 'maxlength', 'maxgeneratedtokens'],
  ...['usebeamsearch', 'beamwidth', 'numbeams', 'numreturnsequences', 'ncompletions', 'ncmpl'],
  ...[...AMOUNTS].map(plainOf),
]);

/** `member`: as a request spells it. */
function plainOf(member: string): string {
  return member.toLowerCase().replaceAll(/[_-]/g, '');
}

function isRouting(member: string): boolean {
  const plain = plainOf(member);
  return ROUTING.has(plain) || CREDENTIALS.test(plain);
}

function isOtherAmount(member: string): boolean {
  return !AMOUNTS.has(member) && OTHER_AMOUNTS.has(plainOf(member));
}

/** Why a request may not have a member of this name; undefined: it may. */
export function faultOfMember(member: string): RequestFault | undefined {
  const read = readBody({ model: 'm', [member]: 'x' }, ['model']);
  return read.outcome === 'Refused' ? read : undefined;
}

export type ReadBody =
  | { readonly outcome: 'Body'; readonly body: Body; readonly model: string; readonly stream: boolean }
  | ({ readonly outcome: 'Refused' } & RequestFault);

/** `own`: members of the operation that set amounts. */
export function readBody(given: unknown, own: readonly string[] = []): ReadBody {
  if (!isObject(given)) return refused('the body must be a JSON object');
  if (depthOf(given, DEEPEST) > DEEPEST) return refused(`the body must not nest deeper than ${DEEPEST} levels`);
  const odd = oddName(given);
  if (odd !== undefined) return refused(`${odd.slice(0, 64)} ${SPELLING}`, odd);
  const routing = Object.keys(given).find(isRouting);
  if (routing !== undefined) {
    return refused(
      `${routing.slice(0, 64)} is not taken from a request: where it goes is set by the service. Remove it.`,
      routing,
    );
  }
  const looked = Object.keys(given).find((member) => AT_VENDORS.has(plainOf(member)));
  if (looked !== undefined) {
    return refused(`${looked} must be left out: what an upstream looks up or runs has no price here.`, looked);
  }
  const kept = Object.keys(given).find((member) => KEPT.has(plainOf(member)) && isGiven(given[member]));
  if (kept !== undefined) {
    return refused(
      `${kept} must be left out: nothing is kept at an upstream, whose account is not yours alone. Send the whole conversation.`,
      kept,
    );
  }
  const amount = Object.keys(given).find((member) => !own.includes(member) && isOtherAmount(member));
  if (amount !== undefined) {
    return refused(
      `${amount.slice(0, 64)} is not taken from a request: some servers obey it before max_tokens. Remove it and set max_tokens or n.`,
      amount,
    );
  }
  const { model, stream } = given;
  if (typeof model !== 'string' || model === '' || model.length > LONGEST_MODEL) {
    return refused(`model must be the name of a model, a string of 1 to ${LONGEST_MODEL} characters`, 'model');
  }
  if (isGiven(stream) && typeof stream !== 'boolean') return refused('stream must be true or false', 'stream');
  return { outcome: 'Body', body: given, model, stream: stream === true };
}

export function refused(message: string, param?: string): { readonly outcome: 'Refused' } & RequestFault {
  return { outcome: 'Refused', message, ...(param === undefined ? {} : { param: param.slice(0, 200) }) };
}

export function fault(param: string, message: string): RequestFault {
  return { message: `${param} ${message}`, param };
}

/** What a client's library leaves out, it may also send as null. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export type ReadCount =
  | { readonly outcome: 'Count'; readonly count: number | undefined }
  | { readonly outcome: 'Fault'; readonly fault: RequestFault };

/** A whole number from 1 to `most`. Undefined: not given. */
export function readCount(body: Body, member: string, most: number = MOST_TOKENS): ReadCount {
  const value = body[member];
  if (!isGiven(value)) return { outcome: 'Count', count: undefined };
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) {
    return { outcome: 'Count', count: value };
  }
  return { outcome: 'Fault', fault: fault(member, `must be a whole number between 1 and ${most}`) };
}

/** Of a member whose other values are charged at other prices. */
export function faultOfChoice(
  body: Body,
  member: string,
  allowed: readonly string[],
  why: string,
): RequestFault | undefined {
  const value = body[member];
  if (!isGiven(value) || (typeof value === 'string' && allowed.includes(value))) return undefined;
  return fault(member, `must be ${allowed.map((one) => `"${one}"`).join(' or ')}, or left out: ${why}`);
}

/** Tools that a vendor puts into the prompt by their name: all but those that the request describes itself. */
export function namedToolsOf(body: Body): number {
  const own = new Set<unknown>(['function', 'custom']);
  return listOf(body['tools']).filter(
    (tool) => isObject(tool) && typeof tool['type'] === 'string' && !own.has(tool['type']),
  ).length;
}

export const TIERS = ['auto', 'default', 'standard_only'] as const;
export const ONE_PRICE = 'models have one price here';

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
