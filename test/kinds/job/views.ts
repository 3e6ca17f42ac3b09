/** Typed views of what the world holds untyped: an object's spec and status are its kind's, which its address tells. */
import type { AttemptSpec, AttemptStatus } from '../../../src/kinds/attempt/schema.js';
import { mayStart } from '../../../src/kinds/attempt/index.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { JobSpec } from '../../../src/kinds/job/schema.js';
import type { JobStatus } from '../../../src/kinds/job/status.js';
import type { SlotRow } from '../../../src/kinds/machine.js';

type View<Whole, Part> = { see(whole: Whole): Part }['see'];

export const jobSpecOf: View<ApiObject, JobSpec> = ({ spec }: ApiObject<JobSpec>) => spec;
export const jobStatusOf: View<ApiObject, JobStatus> = ({ status }: ApiObject<unknown, JobStatus>) => status;
export const attemptSpecOf: View<ApiObject, AttemptSpec> = ({ spec }: ApiObject<AttemptSpec>) => spec;
export const attemptStatusOf: View<ApiObject, AttemptStatus> = ({ status }: ApiObject<unknown, AttemptStatus>) =>
  status;
export const isStartable: View<ApiObject, boolean> = mayStart;
export const asRow: View<unknown, SlotRow> = (row: SlotRow) => row;
export const workOf: View<unknown, string> = ({ work }: { readonly work: string }) => work;
