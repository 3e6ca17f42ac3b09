/** The fields of a Volume: named storage of immutable revisions. Source: spec, "Volume". */
import { z } from 'zod';
import { zBytes, zDuration, zQuantity, zTimestamp, zUsd } from '../../api/schema.js';
import { conditionField, statusReason } from '../shapes/status.js';
import { volumeSource } from './source.js';

export const volumeSpec = z.object({
  accessMode: z
    .enum(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'])
    .default('ReadWriteOnce')
    .describe(
      'ReadWriteOnce: one writer under a lease. ReadOnlyMany: the latest Ready revision. ReadWriteMany: each attempt commits the paths that it changed, and the last writer wins per path. Immutable.',
    ),
  commitInterval: zDuration({
    min: '1m',
    max: '1h',
    description: 'How often a writer commits a revision while it runs; only at its end when unset.',
  }).optional(),
  maxCostUSD: zUsd({ description: 'Cost cap of import and export Attempts. Can only be raised.' }).optional(),
  revisionHistoryLimit: z.int32().min(1).max(100).optional().describe('Revisions that are kept.'),
  size: zBytes({ min: '1' }).optional().describe('Most logical bytes of a revision.'),
  source: volumeSource.optional().describe('Where it is filled from. A change starts a new import.'),
  ttlAfterUnused: zDuration({
    description: 'Time after its last use until it is deleted; never when unset.',
  }).optional(),
});

export type VolumeSpec = z.infer<typeof volumeSpec>;

export const volumeStatus = z.object({
  ...statusReason,
  conditions: z.array(conditionField).optional().describe('Ready and Imported.'),
  holder: z
    .object({
      attempt: z.string().optional().describe('Name of the Attempt.'),
      epoch: z.int().optional().describe('Its epoch: a lease of an older one is void.'),
      kind: z.string().optional().describe('Kind of the object that the Attempt runs for.'),
      name: z.string().optional().describe('Name of that object.'),
    })
    .optional()
    .describe('Who may write now.'),
  import: z
    .object({
      attempt: z.string().optional().describe('Name of the Attempt that imports.'),
      bytes: z.int().optional().describe('Bytes that have come in.'),
      completionTime: zTimestamp('When it finished.').optional(),
      files: z.int().optional().describe('Files that have come in.'),
      generation: z.int().optional().describe('Generation of the spec that it is for.'),
      sha256: z.string().optional().describe('Of what was fetched.'),
      startTime: zTimestamp('When it started.').optional(),
    })
    .optional()
    .describe('The last import.'),
  lastCommitTime: zTimestamp('When the newest revision was committed.').optional(),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Lifecycle phase.'),
  readers: z.int().optional().describe('Attempts that have it mounted to read.'),
  revision: z.string().optional().describe('The newest Ready revision.'),
  storage: z
    .object({
      billedBytes: z.int().optional().describe('Bytes that are billed: those kept by all revisions, each once.'),
      bytes: z.int().optional().describe('Logical bytes of all revisions.'),
    })
    .optional()
    .describe('What it takes to keep.'),
  used: zQuantity().optional().describe('Logical bytes of the newest revision.'),
});

export type VolumeStatus = z.infer<typeof volumeStatus>;

export const VOLUME_IMMUTABLE: readonly string[] = ['spec.accessMode'];
