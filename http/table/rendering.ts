/**
 * The forms in which objects are shown: as stored, as a `Table`, as `PartialObjectMetadata`. A rendering makes one
 * document, or the head, the elements and the end of a list, out of stamped bytes. Lists and watches know nothing else
 * of forms. Stored bytes pass through untouched.
 */
import { decodeObject, escapeLineSeparators } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Form } from '../accept.js';
import { cells, columnDefinitions, columnsOf } from './columns.js';

export interface Rendering {
  /** Names form and options; two renderings of a kind with the same key make the same bytes. */
  readonly key: string;
  /** A whole document of one object. */
  single(body: Buffer): Buffer;
  /** One element of a list. */
  element(body: Buffer): Buffer;
  /** Up to the first element. `meta` is the JSON of the list's metadata, or undefined when `close` brings it. */
  open(meta: string | undefined): string;
  close(meta: string | undefined): string;
  /** An object without content that carries a version, for bookmarks. */
  bookmark(version: number, initialEventsEnd: boolean): string;
}

/** `includeObject` of a Table request. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface Renderings {
  of(form: Form, kind: KindDefinition, includeObject: IncludeObject): Rendering;
}

const META = 'meta.k8s.io/v1';

export function apiVersionOf(group: string, kind: KindDefinition): string {
  return kind.group === 'core' ? 'v1' : `${group}/${kind.version}`;
}

export function listKindOf(kind: KindDefinition): string {
  return kind.listKind ?? `${kind.kind}List`;
}

export function listHead(
  kind: string,
  apiVersion: string,
  meta: string | undefined,
  more: string,
  items: string,
): string {
  return `{"kind":"${kind}","apiVersion":"${apiVersion}",${meta === undefined ? '' : `"metadata":${meta},`}${more}"${items}":[`;
}

function listEnd(meta: string | undefined): string {
  return meta === undefined ? ']}' : `],"metadata":${meta}}`;
}

function bookmarkMeta(version: number, end: boolean): string {
  const note = end ? ',"annotations":{"k8s.io/initial-events-end":"true"}' : '';
  return `{"resourceVersion":"${version}","creationTimestamp":null${note}}`;
}

function plain(group: string, kind: KindDefinition): Rendering {
  const apiVersion = apiVersionOf(group, kind);
  return {
    key: 'object',
    single: (body) => body,
    element: (body) => body,
    open: (meta) => listHead(listKindOf(kind), apiVersion, meta, '', 'items'),
    close: listEnd,
    bookmark: (version, end) =>
      `{"apiVersion":"${apiVersion}","kind":"${kind.kind}","metadata":${bookmarkMeta(version, end)},"spec":{},"status":{}}`,
  };
}

function partialText(object: ApiObject): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"${META}","metadata":${escapeLineSeparators(JSON.stringify(object.metadata))}}`;
}

const PARTIAL: Rendering = {
  key: 'partial',
  single: (body) => Buffer.from(partialText(decodeObject(body))),
  element: (body) => Buffer.from(partialText(decodeObject(body))),
  open: (meta) => listHead('PartialObjectMetadataList', META, meta, '', 'items'),
  close: listEnd,
  bookmark: (version, end) =>
    `{"kind":"PartialObjectMetadata","apiVersion":"${META}","metadata":${bookmarkMeta(version, end)}}`,
};

function table(kind: KindDefinition, include: IncludeObject, clock: () => number): Rendering {
  const columns = columnsOf(kind);
  const definitions = `"columnDefinitions":${columnDefinitions(columns)},`;

  function row(body: Buffer, object: ApiObject): string {
    const shown = escapeLineSeparators(JSON.stringify(cells(columns, object, clock())));
    const attached = include === 'None' ? 'null' : include === 'Object' ? body.toString('utf8') : partialText(object);
    return `{"cells":${shown},"object":${attached}}`;
  }

  return {
    key: `table-${include}`,
    single(body) {
      const object = decodeObject(body);
      const meta = `{"resourceVersion":${JSON.stringify(object.metadata.resourceVersion ?? '')}}`;
      return Buffer.from(`${listHead('Table', META, meta, definitions, 'rows')}${row(body, object)}]}`);
    },
    element: (body) => Buffer.from(row(body, decodeObject(body))),
    open: (meta) => listHead('Table', META, meta, definitions, 'rows'),
    close: listEnd,
    // kubectl ignores a row-less Table but reads the version and the annotation from it.
    bookmark: (version, end) => `${listHead('Table', META, bookmarkMeta(version, end), definitions, 'rows')}]}`,
  };
}

export function openRenderings(group: string, clock: () => number): Renderings {
  const made = new Map<string, Rendering>();
  return {
    of(form, kind, include) {
      if (form.form === 'partial') return PARTIAL;
      // Bounded: four forms per registered kind.
      const key = `${kind.kind}/${form.form === 'table' ? include : ''}`;
      let rendering = made.get(key);
      if (rendering === undefined) {
        rendering = form.form === 'table' ? table(kind, include, clock) : plain(group, kind);
        made.set(key, rendering);
      }
      return rendering;
    },
  };
}
