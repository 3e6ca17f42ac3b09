/**
 * Which logs an object's work has, by the names that `container` may have: that of the main program, that of its connections, and those
 * of its init command and sidecars; of a Sandbox or Workspace also those of the processes that clients start in it.
 */
import type { ApiObject } from '../../src/api/object.js';
import { badParameter } from '../bad-parameter.js';

/** In front of a process's id. */
export const OF_PROCESS = 'process-';

/** Kinds in which clients start processes of their own. */
const SESSIONS: ReadonlySet<string> = new Set(['Sandbox', 'Workspace']);

/** Refuses a name that no log of the owner's work can have. `owner`: a Job, Sandbox or Workspace. */
export function checkContainer(container: string, owner: ApiObject): void {
  const isSession = SESSIONS.has(owner.kind);
  if (isSession && container.startsWith(OF_PROCESS)) return;
  const names = containersOf(owner);
  if (names.includes(container)) return;
  const rule = `must be ${names.join(', ')}${isSession ? `, or ${OF_PROCESS} and the id of a process` : ''}`;
  throw badParameter('container', container, rule, 'Ask for container=main, or leave it out.');
}

function containersOf({ spec }: ApiObject): readonly string[] {
  const { initCommand, sidecars } = (spec ?? {}) as {
    readonly initCommand?: unknown;
    readonly sidecars?: readonly { readonly name: string }[];
  };
  const init = initCommand === undefined ? [] : ['init'];
  return ['main', 'network', ...init, ...(sidecars ?? []).map(({ name }) => name)];
}
