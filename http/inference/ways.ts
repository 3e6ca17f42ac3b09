/**
 * In which ways a request can be said to the upstreams of its model: as it came to those of its own dialect, which are tried first, and translated to
 * those of another. A model that no upstream serves in the client's dialect has to be asked in words that both have: what cannot be carried over is
 * refused by its name, before anything is held for the request.
 */
import { refuse } from '../../src/api/refusal.js';
import {
  DIALECT_OF,
  DIALECTS,
  type DialectName,
  type Operation,
  type RequestFault,
  type TextOperation,
} from '../../src/engines/inference/dialects/dialect.js';
import { CHAT_OF, isChat, type ModelForm } from '../../src/engines/inference/dialects/translate.js';
import type { Way } from '../../src/engines/inference/router.js';
import { USUAL_FORM } from '../../src/engines/inference/route.js';
import type { InferenceTarget } from '../../actors/inference/service.js';
import type { ReadCall, Translation } from './read-request.js';

/** None: only our own count answers. Throws a refusal. `maxOutputTokens`: of an answer whose request does not say. */
export async function waysOf(
  { routes, model }: InferenceTarget,
  read: ReadCall,
  maxOutputTokens: number,
): Promise<readonly Way[]> {
  const { operation } = read.request;
  const own = ownWay(operation, read);
  const spoken = DIALECTS.filter((dialect) => routes?.dialects.has(dialect));
  const isOwn = own !== undefined && (routes === undefined || spoken.includes(own.dialect));
  if (!isChat(operation)) return isOwn ? [own] : [];
  // Where nothing serves the model, the router says so.
  const others = (spoken.length > 0 ? spoken : DIALECTS).filter((dialect) => !isOwn || dialect !== own.dialect);
  const ways = others.map((dialect) => translatedWay(dialect, read, maxOutputTokens));
  if (isOwn) return [own, ...ways.map(({ way }) => way)];
  const faults: RequestFault[] = [];
  for (const { translated } of ways) {
    const translation = await translated(USUAL_FORM);
    if (translation.outcome === 'Translated') return ways.map(({ way }) => way);
    faults.push(translation.fault);
  }
  const [fault] = faults;
  if (fault === undefined) return own === undefined ? [] : [own];
  throw cannotCarry(model.name, fault);
}

function ownWay(operation: Operation, read: ReadCall): Way | undefined {
  if (operation === '/v1/responses') return undefined;
  const asked: TextOperation = operation;
  return { dialect: DIALECT_OF[operation], operation: asked, encode: (as, form) => read.encode(as, form) };
}

function translatedWay(dialect: DialectName, read: ReadCall, maxOutputTokens: number) {
  /** Of each form: it is translated once, whatever is tried. */
  const known = new Map<string, Translation | Promise<Translation>>();
  const translated = (form: ModelForm): Translation | Promise<Translation> => {
    const key = `${form.maxTokensMember} ${form.thinking}`;
    const found = known.get(key) ?? read.translate(dialect, { ...form, maxOutputTokens });
    known.set(key, found);
    return found;
  };
  const named = (translation: Translation, as: string) =>
    translation.outcome === 'Translated' ? translation.named(as) : undefined;
  const way: Way = {
    ...{ dialect, operation: CHAT_OF[dialect] },
    encode(as, form) {
      const translation = translated(form);
      return translation instanceof Promise ? translation.then((one) => named(one, as)) : named(translation, as);
    },
  };
  return { way, translated };
}

function cannotCarry(model: string, { message, param = '' }: RequestFault): Error {
  return refuse('BadRequest', message, {
    causes: [{ field: param, reason: 'FieldValueNotSupported', message }],
    fix: `Change ${param === '' ? 'the request' : param}, or name a model with an upstream of this dialect: ${model} has none.`,
  });
}
