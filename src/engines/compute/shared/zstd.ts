/**
 * Finds what does zstd: the `zstd` program where it is installed, else Node where it can (22.15 and up), else nothing.
 */
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { findProgram } from './find-program.js';

interface NodeZstd {
  createZstdCompress?: () => Transform;
  createZstdDecompress?: () => Transform;
}

export type Zstd =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'node'; readonly compress: () => Transform; readonly decompress: () => Transform }
  | { readonly kind: 'none' };

export function findZstd(): Zstd {
  const path = findProgram('zstd');
  if (path !== undefined) return { kind: 'program', path };
  // The types of the oldest Node that we support do not know them.
  const { createZstdCompress: compress, createZstdDecompress: decompress } = zlib as unknown as NodeZstd;
  return compress === undefined || decompress === undefined ? { kind: 'none' } : { kind: 'node', compress, decompress };
}

export const NO_ZSTD = 'zstd is not installed on this machine (and this Node cannot do it)';
