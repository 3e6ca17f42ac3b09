/**
 * Brings the inputs of work to files of this machine, one directory per piece of work, until the work is removed.
 * Blobs are hard links to the store (nothing is copied), URLs are fetched through the guarded dialer, once for each piece of work: a
 * start that is tried again finds what its earlier try has fetched.
 */
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Address } from '../../src/api/address.js';
import { RefusalError } from '../../src/api/refusal.js';
import type { Unpack } from '../../src/engines/compute/contract/engine.js';
import type { FetchResult } from '../../src/engines/fetch/fetch.js';
import type { CollectedOutput } from '../../src/kinds/object-message.js';
import type { PlannedInput } from '../../src/kinds/work.js';
import { WORK_ROOT } from '../../src/brand.js';

/** Where inputs stand inside the work. */
const INPUTS_DIR = `${WORK_ROOT}/inputs`;

/** What was staged so long ago (ms) for work that is not there is needed by nobody. */
const ORPHANED_MS = 600_000;

export type StagedInput =
  | {
      readonly outcome: 'Staged';
      readonly source: string;
      readonly unpack: Unpack;
      /** The work's own, to change as it likes. */
      readonly writable?: boolean | undefined;
      /** It was saved by such work. */
      readonly saved?: boolean | undefined;
      readonly path: string;
    }
  | { readonly outcome: 'Missing'; readonly reason: string; readonly message: string }
  /** A fault that may pass: try again. */
  | { readonly outcome: 'Later'; readonly message: string };

export interface InputDeps {
  /** Directory on the blobs' disk; everything in it belongs to work that is under way. */
  readonly dir: string;
  /** With a project: a blob that a client of that project named by its digest. */
  link(org: string, digest: string, path: string, project?: string): Promise<void>;
  fetch(url: string, to: string, sha256: string | undefined, signal: AbortSignal): Promise<FetchResult>;
  output(job: Address, name: string, index: number, uid?: string): Promise<FoundOutput>;
}

/**
 * An output of another Job of the project, by name and index; with `uid`, of that incarnation only. Never: that Job has ended without it.
 * Gone: that incarnation is.
 */
export type FoundOutput =
  | { readonly found: 'Output'; readonly output: CollectedOutput }
  | { readonly found: 'NotYet' | 'Never' | 'Gone' };

export interface Inputs {
  /** True while any of these inputs of the work is to come from a URL. */
  mustFetch(id: string, inputs: readonly PlannedInput[]): boolean;
  stage(id: string, place: Address, input: PlannedInput, signal: AbortSignal): Promise<StagedInput>;
  /** Forgets the files of one piece of work. */
  release(id: string): Promise<void>;
  /**
   * At a start, with the work that the engine has: what earlier processes have staged for it stays until it is removed, since an engine may be
   * at its first input still. What is old and belongs to no work is removed.
   */
  adopt(working: ReadonlySet<string>): Promise<void>;
}

export function openInputs(deps: InputDeps): Inputs {
  /** Work that has files here, with what was fetched of them: most has none, and to look for them costs as much as a command. */
  const staged = new Map<string, Map<string, StagedInput>>();

  async function fetched(input: PlannedInput, place: Address, file: string, signal: AbortSignal): Promise<StagedInput> {
    switch (input.from) {
      case 'blob':
        await deps.link(place.org, input.digest, file, place.project);
        return stagedSource(input, file);
      case 'url': {
        const fetch = await deps.fetch(input.url, file, input.sha256, signal);
        if (fetch.outcome === 'Failed') return notFetched(input, fetch);
        return { outcome: 'Staged', source: file, unpack: 'no', path: `${INPUTS_DIR}/${input.name}` };
      }
      case 'output': {
        const job: Address = { ...place, kind: 'Job', name: input.job };
        const read = await deps.output(job, input.output, input.index, input.uid);
        if (read.found !== 'Output') {
          const what = `job "${input.job}" has no output "${input.output}" of index ${input.index}`;
          if (read.found === 'NotYet') return { outcome: 'Missing', reason: 'OutputNotReady', message: `${what} yet` };
          const why = read.found === 'Never' ? 'and has ended' : 'which went with the Job that had it';
          return { outcome: 'Missing', reason: 'OutputNotFound', message: `${what}, ${why}` };
        }
        const { output } = read;
        await deps.link(place.org, `sha256:${output.sha256.replace(/^sha256:/, '')}`, file);
        const unpack = output.directory ? 'tar.zst' : 'no';
        return { outcome: 'Staged', source: file, unpack, path: `${INPUTS_DIR}/${input.name}` };
      }
    }
  }

  return {
    mustFetch: (id, inputs) => inputs.some(({ from, name }) => from === 'url' && staged.get(id)?.has(name) !== true),
    async stage(id, place, input, signal) {
      const dir = join(deps.dir, id);
      const files = staged.get(id) ?? new Map<string, StagedInput>();
      staged.set(id, files);
      const known = files.get(input.name);
      if (known !== undefined) return known;
      const file = join(dir, input.name);
      // No input has such a name.
      const part = join(dir, `.${input.name}.part`);
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await rm(part, { force: true });
      try {
        const found = await fetched(input, place, part, signal);
        if (found.outcome !== 'Staged') return found;
        // In one step: an earlier try of the same effect may have reached the engine, which reads it now.
        await rename(part, file);
        const result = { ...found, source: file };
        if (input.from === 'url') files.set(input.name, result);
        return result;
      } catch (error) {
        return failure(input, place.project, error);
      }
    },
    async release(id) {
      if (!staged.has(id)) return;
      await rm(join(deps.dir, id), { recursive: true, force: true });
      staged.delete(id);
    },
    async adopt(working) {
      staged.clear();
      await mkdir(deps.dir, { recursive: true, mode: 0o700 });
      for (const id of await readdir(deps.dir)) {
        const dir = join(deps.dir, id);
        // Its order may be on its way to the engine.
        const isOld = Date.now() - (await stat(dir)).mtimeMs > ORPHANED_MS;
        if (working.has(id) || !isOld) staged.set(id, new Map());
        else await rm(dir, { recursive: true, force: true });
      }
    },
  };
}

/** Fetches what comes from URLs, one after the other; answers the first that did not come. */
export async function fetchInputs(
  id: string,
  place: Address,
  planned: readonly PlannedInput[],
  inputs: Pick<Inputs, 'stage'>,
  signal: AbortSignal,
): Promise<Exclude<StagedInput, { outcome: 'Staged' }> | { readonly outcome: 'Fetched' }> {
  for (const input of planned) {
    if (input.from !== 'url') continue;
    const staged = await inputs.stage(id, place, input, signal);
    if (staged.outcome !== 'Staged') return staged;
  }
  return { outcome: 'Fetched' };
}

function notFetched(input: PlannedInput, failed: Extract<FetchResult, { outcome: 'Failed' }>): StagedInput {
  const message = `input "${input.name}": ${failed.message}`;
  return failed.retryable ? { outcome: 'Later', message } : { outcome: 'Missing', reason: failed.reason, message };
}

function failure(input: PlannedInput, project: string, error: unknown): StagedInput {
  if (!(error instanceof RefusalError)) {
    return { outcome: 'Later', message: `input "${input.name}": ${error instanceof Error ? error.message : 'failed'}` };
  }
  const { code, message } = error.refusal;
  if (code === 'Unavailable') return { outcome: 'Later', message: `input "${input.name}": ${message}` };
  if (input.from === 'blob' && input.saved !== true && code === 'NotFound') {
    const missing = `blob ${input.digest} does not exist in project "${project}"`;
    return { outcome: 'Missing', reason: 'InvalidSource', message: missing };
  }
  return { outcome: 'Missing', reason: code, message: `input "${input.name}": ${message}` };
}

/** Program text is the work's own: it is unpacked into its working directory and may be changed there. */
async function stagedSource(
  { digest, workingDir: path, saved }: Extract<PlannedInput, { from: 'blob' }>,
  file: string,
): Promise<StagedInput> {
  const unpack = await archiveType(file);
  if (unpack !== 'no') return { outcome: 'Staged', source: file, unpack, path, writable: true, saved };
  return {
    outcome: 'Missing',
    reason: 'InvalidSource',
    message: `blob ${digest} is no tar, tar.gz or tar.zst archive`,
  };
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const TAR_MAGIC_AT = 257;

/** Its first bytes say what an archive is. */
async function archiveType(file: string): Promise<Unpack> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file, { end: 511 })) chunks.push(chunk as Buffer);
  const head = Buffer.concat(chunks);
  if (head.subarray(0, 4).equals(ZSTD_MAGIC)) return 'tar.zst';
  if (head.subarray(0, 2).equals(GZIP_MAGIC)) return 'tar.gz';
  return head.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar' ? 'tar' : 'no';
}
