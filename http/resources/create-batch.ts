/**
 * The create of several objects by one body of kind `<Kind>List`, for kinds that allow it (`KindDefinition.batch`).
 * Every item is rehearsed, and all that is wrong with any of them is told at once, below `items[i]`. A kind whose list is
 * rehearsed only, since its machinery is not built, answers a real create with 501 once all items are good.
 */
import { MAX_CAUSES } from '../../src/api/causes.js';
import { generateName } from '../../src/api/names.js';
import { refuse, RefusalError, type Cause } from '../../src/api/refusal.js';
import type { Batch, KindDefinition } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE, reply } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { apiVersionOf, listKindOf } from '../table/rendering.js';
import { named, nameIn, sameProject } from './identity.js';
import { invalid, type WriteOptions } from './options.js';
import { isRecord, type ParsedBody } from './parse.js';
import { sendWrite, type Done } from './write.js';

/** Rehearsals under way at once for one request: as many as one commit batch takes in, too few to crowd others out. */
const AT_ONCE = 16;

const MEMBERS = new Set(['apiVersion', 'kind', 'metadata', 'items']);

/** Faults of one item, or of what it names; others are faults of the whole request. */
const OF_AN_ITEM: ReadonlySet<string> = new Set(['Invalid', 'FieldImmutable', 'BadRequest', 'AlreadyExists']);

export function isBatch(kind: KindDefinition, body: Record<string, unknown>): boolean {
  return kind.batch !== undefined && body['kind'] === listKindOf(kind);
}

export async function createBatch(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  batch: Batch,
  project: string,
  { value, duplicates }: ParsedBody,
  options: WriteOptions,
): Promise<void> {
  const apiVersion = apiVersionOf(context.config.group, kind);
  if (value['apiVersion'] !== undefined && value['apiVersion'] !== apiVersion) {
    throw refuse('BadRequest', `the API version in the data does not match the expected API version (${apiVersion})`);
  }
  const items = itemsOf(value, batch);
  const causes: Cause[] = [];
  const unknown = Object.keys(value).filter((key) => !MEMBERS.has(key));
  for (const key of unknown) {
    const message = `unknown field "${key}"`;
    if (options.fieldValidation === 'Strict') causes.push({ field: key, reason: 'FieldValueInvalid', message });
    else if (options.fieldValidation === 'Warn') x.warnings.push(message);
  }
  causes.push(...repeatedNames(items), ...batch.check(items));

  const rehearse = async (item: unknown, index: number): Promise<Done | undefined> => {
    try {
      if (!isRecord(item)) {
        throw invalid('', [{ field: '', reason: 'FieldValueTypeInvalid', message: 'must be an object' }]);
      }
      const { name, base } = nameIn(item);
      sameProject(item, project);
      const chosen = name ?? generateName(base, context.randomBytes);
      const address = addressOf(caller, kind, project, chosen, 'write');
      const body = name === undefined ? named(item, chosen) : item;
      const dry = { ...options, dryRun: true, idempotency: undefined };
      const at = `items[${index}].`;
      const twice = duplicates.filter((path) => path.startsWith(at)).map((path) => path.slice(at.length));
      return await sendWrite(context, caller, kind, address, dry, twice, { verb: 'create', body });
    } catch (error) {
      if (!(error instanceof RefusalError) || !OF_AN_ITEM.has(error.refusal.code)) throw error;
      const { code, message, causes: own = [] } = error.refusal;
      if (own.length === 0) causes.push({ field: `items[${index}]`, reason: code, message });
      for (const cause of own) {
        const field = cause.field === '' ? `items[${index}]` : `items[${index}].${cause.field}`;
        causes.push({ ...cause, field });
      }
      return undefined;
    }
  };

  const done: (Done | undefined)[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const part = items.slice(from, from + AT_ONCE);
    done.push(...(await Promise.all(part.map((item, i) => rehearse(item, from + i)))));
  }
  if (causes.length > 0) {
    const told = causes.slice(0, MAX_CAUSES);
    throw invalid(`${listKindOf(kind)} is invalid: ${told.map(({ field }) => field).join(', ')}`, told);
  }
  if (!options.dryRun) {
    throw refuse('Unsupported', `${kind.plural} are not served yet; a dry run (dryRun=All) checks a list of them`, {
      causes: [{ field: 'kind', reason: 'Unsupported', message: 'not supported yet' }],
    });
  }
  for (const one of done) x.warnings.push(...(one?.warnings ?? []));
  answer(x, context, kind, done);
}

function itemsOf(body: Record<string, unknown>, { most }: Batch): readonly unknown[] {
  const items = body['items'];
  const wrong = (reason: string, message: string): Error =>
    invalid(`items: ${message}`, [{ field: 'items', reason, message }]);
  if (items === undefined || items === null) throw wrong('FieldValueRequired', 'Required value: must be a list');
  if (!Array.isArray(items)) throw wrong('FieldValueTypeInvalid', 'must be a list');
  if (items.length === 0) throw wrong('FieldValueInvalid', 'must have at least 1 items');
  if (items.length > most) {
    throw wrong('FieldValueTooMany', `Too many: ${items.length}: must have at most ${most} items`);
  }
  return items;
}

function repeatedNames(items: readonly unknown[]): Cause[] {
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const metadata = isRecord(item) ? item['metadata'] : undefined;
    const name = isRecord(metadata) ? metadata['name'] : undefined;
    if (typeof name !== 'string' || name === '') return [];
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ field: `items[${index}].metadata.name`, reason: 'FieldValueDuplicate', message: 'must be unique' }];
  });
}

/** The list as it would be. */
function answer(x: Exchange, context: ServerContext, kind: KindDefinition, done: readonly (Done | undefined)[]): void {
  const rendering = context.renderings.of({ form: 'object', yaml: false }, kind, 'None');
  const bodies = done.flatMap((one) => (one === undefined ? [] : [one.body]));
  const head = rendering.open(`{"resourceVersion":"${context.resources.version()}"}`);
  const parts = bodies.flatMap((body, i) => (i === 0 ? [body] : [Buffer.from(','), body]));
  const body = Buffer.concat([Buffer.from(head), ...parts, Buffer.from(rendering.close(undefined))]);
  reply(x, 201, body, { 'content-type': JSON_TYPE });
}
