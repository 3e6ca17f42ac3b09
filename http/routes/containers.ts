/**
 * Which logs an object's work has, by the names that `container` may have: that of the main program, that of its connections, and those
 * of its init command and sidecars; where clients start processes, also those of the processes.
 */
import type { ApiObject } from '../../src/api/object.js';
import { kindByName } from '../../src/kinds/index.js';
import { badParameter } from '../bad-parameter.js';

/** In front of a process's id. */
export const OF_PROCESS = 'process-';

/** Refuses a name that no log of the owner's work can have. `owner`: the object whose spec says what runs. */
export function checkContainer(container: string, owner: ApiObject): void {
  // Clients start processes of their own in it.
  const isSession = kindByName(owner.kind)?.subresources?.includes('processes') === true;
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
