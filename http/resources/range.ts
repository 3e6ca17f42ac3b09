/** What a list, watch or deletecollection ranges over, after authorisation. */
import { RefusalError } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, Range } from '../../actors/resource-service.js';
import { authorise, homeOrg, isProjectKind, visibleProjects, type AccessVerb } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { readSelection, type Selection } from './selection.js';

export interface Scan {
  readonly range: Range;
  readonly selection: Selection;
  /** Whether a caller may see all that this scan shows; for one that goes on, as a watch does. */
  allows(caller: Caller): boolean;
}

export function readScan(
  x: Exchange,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
  verb: AccessVerb,
): Scan {
  const visible = scopeOfScan(caller, kind, project, verb);
  const selection = readSelection(x, kind, project, visible);
  const org = homeOrg(caller, kind, project ?? '');
  // A selector on metadata.namespace narrows the read as a path would.
  return {
    range: { org, kind, project: project ?? selection.project, name: selection.name },
    selection,
    allows: (asked) => showsAtLeast(visible, () => scopeOfScan(asked, kind, project, verb)),
  };
}

/** Whether what is visible now covers what was; undefined stands for everything. */
function showsAtLeast(was: readonly string[] | undefined, now: () => readonly string[] | undefined): boolean {
  try {
    const visible = now();
    return visible === undefined || (was?.every((project) => visible.includes(project)) ?? false);
  } catch (error) {
    if (error instanceof RefusalError) return false;
    throw error;
  }
}

/** The projects (for Namespaces: the names) to which the scan is cut; undefined: no cut. */
function scopeOfScan(
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
  verb: AccessVerb,
): readonly string[] | undefined {
  if (project !== undefined) {
    authorise(caller, kind, project, '', verb);
    return undefined;
  }
  if (verb === 'read' && (kind.scope === 'project' || isProjectKind(kind))) return visibleProjects(caller, kind);
  authorise(caller, kind, '', '', verb);
  return undefined;
}
