/** The service itself as a caller, for the writes that effects make. It may do what its effects ask for. */
import { EVERYTHING } from '../src/api/access/grant.js';
import type { Caller, WriteRequest } from './resource-service.js';
import type { ServiceWrite } from './effects/children.js';

/** Field manager of everything that the service writes of its own accord. */
export const SERVICE_MANAGER = 'troupe';

/** Holder of nothing: the service uses no idempotency keys. */
export const SERVICE_HOLDER = 'service';

/** True for the service itself, whose writes follow from what clients were allowed. */
export function isService(caller: Caller): boolean {
  return caller.holder === SERVICE_HOLDER;
}

export function serviceRequest(org: string, write: ServiceWrite): WriteRequest {
  const caller: Caller = { org, holder: SERVICE_HOLDER, name: 'system:troupe', ...EVERYTHING, may: () => true };
  return {
    ...write,
    caller,
    dryRun: false,
    fieldValidation: 'Strict',
    fieldManager: SERVICE_MANAGER,
    duplicates: [],
  };
}
