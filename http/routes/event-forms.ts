/**
 * An event as Kubernetes' clients know it: a core/v1 Event, and the row that `kubectl get events` prints. Pure.
 * The org's own objects have no namespace; their events are shown in `default`, as Kubernetes does for its cluster's.
 */
import { rfc3339 } from '../../src/api/time.js';
import { isWarning } from '../../src/kinds/events/table.js';
import { DEFAULT_PROJECT } from '../../src/kinds/project/machine.js';
import type { StoredEvent } from '../../storage/events.js';
import type { FieldReader } from '../../src/api/selectors/field.js';
import { age } from '../table/age.js';

/** What raises all of them. */
const COMPONENT = 'troupe';

const ID_DIGITS = 16;

function nameOf({ name, id }: StoredEvent): string {
  return `${name}.${id.replaceAll('-', '').slice(0, ID_DIGITS)}`;
}

/** What the name of an event says of it: name of its object, first digits of its id. Undefined: no event has such a name. */
export function parseEventName(text: string): { readonly name: string; readonly idPrefix: string } | undefined {
  const [, name, idPrefix] = /^(.{1,253})\.([0-9a-f]{16})$/.exec(text) ?? [];
  return name === undefined || idPrefix === undefined ? undefined : { name, idPrefix };
}

/** `apiVersionOf`: by the kind of the object. */
export function coreEvent(event: StoredEvent, apiVersionOf: (kind: string) => string) {
  const { id, version, kind, project, name, uid, type, reason, message, count, firstTime, lastTime } = event;
  const first = rfc3339(firstTime.getTime());
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: {
      name: nameOf(event),
      namespace: project === '' ? DEFAULT_PROJECT : project,
      uid: id,
      resourceVersion: String(version),
      creationTimestamp: first,
    },
    involvedObject: {
      kind,
      ...(project === '' ? {} : { namespace: project }),
      name,
      uid,
      apiVersion: apiVersionOf(kind),
    },
    reason,
    message,
    source: { component: COMPONENT },
    firstTimestamp: first,
    lastTimestamp: rfc3339(lastTime.getTime()),
    count,
    type: isWarning(type) ? 'Warning' : 'Normal',
    eventTime: null,
    reportingComponent: COMPONENT,
    reportingInstance: '',
  };
}

export type CoreEvent = ReturnType<typeof coreEvent>;

/** Fields that a selector may name, as kube-apiserver's own. */
export const EVENT_FIELDS: ReadonlyMap<string, FieldReader<CoreEvent>> = new Map<string, FieldReader<CoreEvent>>([
  ['metadata.name', ({ metadata }) => metadata.name],
  ['metadata.namespace', ({ metadata }) => metadata.namespace],
  ['involvedObject.kind', ({ involvedObject }) => involvedObject.kind],
  ['involvedObject.namespace', ({ involvedObject }) => involvedObject.namespace],
  ['involvedObject.name', ({ involvedObject }) => involvedObject.name],
  ['involvedObject.uid', ({ involvedObject }) => involvedObject.uid],
  ['involvedObject.apiVersion', ({ involvedObject }) => involvedObject.apiVersion],
  ['reason', ({ reason }) => reason],
  ['reportingComponent', ({ reportingComponent }) => reportingComponent],
  ['source', ({ source }) => source.component],
  ['type', ({ type }) => type],
]);

interface EventColumn {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly priority: 0 | 1;
  readonly description: string;
  cell(event: CoreEvent, now: number): string | number;
}

const COLUMNS: readonly EventColumn[] = [
  column('Last Seen', 'When it was raised last.', ({ lastTimestamp }, now) => since(lastTimestamp, now)),
  column('Type', 'Normal, or Warning where something may have to be done.', ({ type }) => type),
  column('Reason', 'What happened, in one word.', ({ reason }) => reason),
  column(
    'Object',
    'The object that raised it.',
    ({ involvedObject: { kind, name } }) => `${kind.toLowerCase()}/${name}`,
  ),
  column('Message', 'What is particular to this time.', ({ message }) => message.trim()),
  column('First Seen', 'When it was raised first.', ({ firstTimestamp }, now) => since(firstTimestamp, now), 1),
  { ...column('Count', 'How often it was raised.', ({ count }) => count, 1), type: 'integer' },
  column('Name', 'Name of the event.', ({ metadata }) => metadata.name, 1),
];

function column(name: string, description: string, cell: EventColumn['cell'], priority: 0 | 1 = 0): EventColumn {
  return { name, type: 'string', priority, description, cell };
}

function since(time: string, now: number): string {
  return age(now - Date.parse(time));
}

/** JSON of `columnDefinitions`. */
export const EVENT_COLUMNS = JSON.stringify(
  COLUMNS.map(({ name, type, priority, description }) => ({
    ...{ name, type, priority, description },
    format: name === 'Name' ? 'name' : '',
  })),
);

/** `object`: what is sent of the event itself. */
export function eventRow(event: CoreEvent, object: object | null, now: number): object {
  return { cells: COLUMNS.map(({ cell }) => cell(event, now)), object };
}
