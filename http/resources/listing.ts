/**
 * Producing the matching objects of a list in order, without reading more than is taken and holding more than one group.
 * What a group looks like on the wire is `list.ts`'s matter.
 */
import { refuse } from '../../src/api/refusal.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ListPage } from '../../actors/resource-service.js';
import { tooLargeVersion } from '../errors.js';
import type { ServerContext } from '../server-context.js';
import type { Scan } from './range.js';
import { invalidContinue, readContinue, type PageMark } from './continue.js';
import { readLimit, readListVersion, type ListVersion } from './versions.js';

export interface ListRequest {
  readonly limit: number | undefined;
  readonly mark: PageMark | undefined;
  readonly version: ListVersion;
}

export function readListRequest(query: URLSearchParams, project: string | undefined): ListRequest {
  const limit = readLimit(query.get('limit'));
  const token = query.get('continue') ?? '';
  const version = readListVersion(query, limit !== undefined);
  if (token === '') return { limit, mark: undefined, version };
  if (version.at !== 'newest') {
    throw refuse('BadRequest', 'specifying resource version is not allowed when using continue');
  }
  return { limit, mark: readContinue(token, project), version };
}

export async function openPage(
  context: ServerContext,
  scan: Scan,
  request: ListRequest,
  signal: AbortSignal,
): Promise<ListPage> {
  const { mark, version } = request;
  const newest = context.resources.version();
  const asked = version.at === 'newest' ? 0 : version.version;
  if (asked > newest) throw tooLargeVersion(asked, newest);
  if (mark !== undefined && mark.version > newest) throw invalidContinue();
  const exact = mark?.version ?? (version.at === 'exact' ? version.version : undefined);
  if (exact !== undefined && exact < context.resources.floor()) throw expired(mark !== undefined);
  // One more says whether there is more. How far a selection reaches is known only by looking: a group after the other.
  const limit = request.limit === undefined || !scan.selection.all ? undefined : request.limit + 1;
  return context.resources.list({ range: scan.range, version: exact, after: mark, limit, signal });
}

/** 410, in kube-apiserver's words: its clients look for the code and start the list again. */
export function expired(paging: boolean): Error {
  return refuse(
    'Expired',
    paging
      ? 'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.'
      : 'The resourceVersion for the provided list is too old.',
  );
}

/** The batches of a page, cut to what the selection shows. */
export async function* matching(page: ListPage, scan: Scan): AsyncGenerator<readonly Buffer[]> {
  const { selection } = scan;
  for await (const batch of page.items) {
    yield selection.all ? batch : batch.filter((body) => selection.shows(decodeObject(body)));
  }
}
