/**
 * The fields of a Connection: an external system that work may use, and which of them each type takes.
 * Source: spec, "Connection".
 */
import { z } from 'zod';
import { zTimestamp } from '../../api/schema.js';
import { conditionField, statusReason } from '../shapes/status.js';
import { httpsUrl } from '../shapes/sources.js';
import { objectName } from '../shapes/names.js';
import { addIssue, rules } from '../shapes/rules.js';

const TYPES = ['Postgres', 'HostedPgA', 'HostedPgB', 'Tracker', 'GitHost', 'S3'] as const;
export type ConnectionType = (typeof TYPES)[number];

/** Where SQL is spoken: these have a scope, and take the rows of outputs. */
export const DATABASES: ReadonlySet<ConnectionType> = new Set(['Postgres', 'HostedPgA', 'HostedPgB']);

/** Types that each of these fields is for. A GitHost is installed at its host, and has no credential here. */
const FOR: Readonly<Record<'scope' | 'secret' | 'hostedPg' | 's3' | 'tracker', ReadonlySet<ConnectionType>>> = {
  scope: DATABASES,
  secret: new Set(['Postgres', 'HostedPgA', 'HostedPgB', 'Tracker', 'S3']),
  hostedPg: new Set(['HostedPgA', 'HostedPgB']),
  s3: new Set(['S3']),
  tracker: new Set(['Tracker']),
};

/** An S3 Connection may be trusted by a role instead, which its status names the external id for. */
const WITH_SECRET: ReadonlySet<ConnectionType> = new Set(['Postgres', 'HostedPgA', 'HostedPgB', 'Tracker']);

const word = z.string().min(1).max(255);

const fields = z.object({
  type: z.enum(TYPES).describe('What it leads to. Immutable.'),
  scope: z.enum(['Read', 'Write', 'ReadWrite']).optional().describe('What it is used for; databases only.'),
  secret: objectName('Name of a Secret with the credential; not for GitHost.').optional(),
  region: word.optional().describe('Where the data must stay; a hint that is mapped to a region class.'),
  hostedPg: z
    .object({ branch: z.string().max(255).optional().describe('Branch of the database; the default one when empty.') })
    .optional()
    .describe('For the types HostedPgA and HostedPgB.'),
  s3: z
    .object({
      bucket: z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/,
          'must be a bucket name: 3 to 63 letters, digits, dots, hyphens or underscores, for example datasets',
        )
        .describe('Name of the bucket.'),
      endpoint: httpsUrl.optional().describe('https URL of a store that speaks S3.'),
      prefix: z.string().max(1024).optional().describe('Only what lies below it; the whole bucket when empty.'),
      region: word.optional().describe('Region of the bucket.'),
    })
    .optional()
    .describe('For the type S3.'),
  tracker: z
    .object({
      entity: word.optional().describe('Team or user at the tracker.'),
      project: word.optional().describe('Project at the tracker.'),
      live: z.boolean().optional().describe('Adds links to runs, and the variables of the tracker to attached Jobs.'),
    })
    .optional()
    .describe('For the type Tracker.'),
});

export const connectionSpec = fields.check(
  rules(({ value, issues }) => {
    const { type } = value;
    if (!TYPES.includes(type)) return;
    for (const [field, types] of Object.entries(FOR) as [keyof typeof FOR, ReadonlySet<ConnectionType>][]) {
      if (value[field] !== undefined && !types.has(type)) {
        addIssue(issues, [field], `is not for connections of type ${type}`, 'FieldValueForbidden');
      }
    }
    if (WITH_SECRET.has(type) && value.secret === undefined) {
      addIssue(issues, ['secret'], `must name the credential of a connection of type ${type}`, 'FieldValueRequired');
    }
    if (type === 'S3' && value.s3 === undefined) {
      addIssue(issues, ['s3'], 'must name the bucket', 'FieldValueRequired');
    }
  }),
);

export type ConnectionSpec = z.infer<typeof fields>;

export const connectionStatus = z.object({
  ...statusReason,
  conditions: z.array(conditionField).optional().describe('Verified.'),
  egressHosts: z.array(z.string()).optional().describe('Hosts that objects with this Connection may reach.'),
  externalId: z.string().optional().describe('What the trust policy of an S3 role must require.'),
  gitHost: z
    .object({
      account: z.string().optional().describe('Account that it is installed for.'),
      installationId: z.int().optional().describe('Number of the installation.'),
      repositories: z.array(z.string()).optional().describe('The first repositories, as owner/name.'),
    })
    .optional()
    .describe('The installation at the git host.'),
  installURL: z.string().optional().describe('Where to install it, while a GitHost Connection is Pending.'),
  lastVerifiedTime: zTimestamp('When it was last found to work.').optional(),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Lifecycle phase.'),
  reason: z
    .enum(['VerificationFailed', 'InstallationRemoved'])
    .optional()
    .describe('Reason for the phase, one CamelCase word.'),
});

export type ConnectionStatus = z.infer<typeof connectionStatus>;

export const CONNECTION_IMMUTABLE: readonly string[] = ['spec.type'];
