/** Makes texts of every form that the interface knows, good and nearly good; a field takes those that fit it. */
import * as fc from 'fast-check';
import { tries } from '../support/extent.js';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

const KNOWN: readonly string[] = [
  'a',
  'a-1',
  'abc',
  'A',
  'A1',
  'x_y',
  'default',
  'main',
  'train',
  'web-1',
  'Zero',
  'GET',
  'PATH_1',
  '_X',
  'LR',
  'name',
  'text with blanks',
  'ünïcödé ✓',
  'line\nbreak',
  '"quoted"',
  '<b>&amp;</b>',
  '0',
  '1',
  '10',
  '-1',
  '1e3',
  'null',
  'true',
  '0s',
  '1s',
  '30s',
  '90s',
  '1m',
  '2m',
  '5m',
  '10m',
  '15m',
  '30m',
  '1h',
  '1h30m',
  '2h',
  '24h',
  '168h',
  '720h',
  '100ms',
  'auto',
  '100m',
  '500m',
  '1',
  '2',
  '4',
  '64',
  '1Ki',
  '512Mi',
  '1Gi',
  '2Gi',
  '10Gi',
  '1Ti',
  '2Ti',
  '1.5',
  '0.25',
  '0.00',
  '0.01',
  '0.5',
  '1.00',
  '5.00',
  '10.00',
  '25.50',
  '1000.00',
  '0.000001',
  '99999.99',
  '2036-01-02T03:04:05Z',
  '2030-12-31T23:59:59Z',
  '2031-01-01T12:00:00+02:00',
  '2026-01-02',
  '/',
  '/data',
  '/data/x',
  '/workspace',
  '/workspace/a/b',
  '/svc/state',
  '/mnt/vol',
  '/home/svc/x',
  'rel/path',
  'sub',
  './x',
  'https://example.com/',
  'https://example.com/hook',
  'http://127.0.0.1:3000/done',
  'http://localhost/',
  'https://api.example.org:8443/a?b=c',
  's3://bucket/key',
  's3://bucket',
  's3://bucket/a/b.bin',
  'hf://org/model@' + 'a'.repeat(40),
  'gs://bucket/x',
  'owner/repo',
  'https://git.example.com/owner/repo.git',
  'refs/heads/main',
  'v1.2.3',
  '1.2.3',
  '0.1.0',
  '10.20.30-rc.1',
  'svc/agent-tools',
  'svc/workspace-cpu',
  'svc/gsm8k@1.0.0',
  'svc/sft',
  'docker.io/library/python:3.12',
  'python:3.12',
  `registry.example.com/team/image@${DIGEST}`,
  `ghcr.io/a/b@${DIGEST}`,
  DIGEST,
  DIGEST.slice(7),
  'ubuntu',
  'debian:12',
  'linux/amd64',
  'linux/arm64',
  '3.10',
  '3.11',
  '3.12',
  '3.13',
  'python',
  'numpy==2.0',
  'pkg',
  'curl',
  'example.com',
  '*.example.com',
  'api.example.com',
  'pypi.org',
  '10.0.0.0/8',
  '192.168.1.1',
  'a@example.com',
  'someone@example.org',
  'jobs:read',
  'jobs:write',
  '*:read',
  'inference:invoke',
  'keys:write',
  'job.*',
  'job.succeeded',
  '*',
  'budget.exceeded',
  'whsec_abc',
  'UTC',
  'Europe/Berlin',
  '* * * * *',
  '0 3 * * 1',
  'A100:1',
  'H100:8',
  'L4',
  'a100-80g',
  'us',
  'eu-west',
  'local',
  'gsm8k',
  'svc/echo',
  'echo',
  'claude',
  'Nodus-hosted',
  'BYOK',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB me@host',
  'arn:aws:iam::123456789012:role/reader',
  '123456789012',
  '12345678',
  'projects/1/locations/global/workloadIdentityPools/p/providers/q',
  '00000000-0000-4000-8000-000000000000',
  'postgres://user@db.example.com:5432/app',
  'db.example.com',
  '5432',
  'YWJj',
  'aGVsbG8=',
  'Running',
  'Stopped',
  'Pending',
  'Always',
  'module.sub:func',
  'pkg.module',
  'handler',
  'Class.method',
  'x'.repeat(63),
  'y'.repeat(300),
];

/** One of several. Precondition: there is one. */
export function pick<T>(g: fc.GeneratorValue, values: readonly T[]): T {
  const value = values[g(fc.nat, { max: values.length - 1 })];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
}

/** A text that fits pattern and length; undefined when none of the known ones does. */
export function textFor(
  g: fc.GeneratorValue,
  rules: { readonly pattern?: string; readonly minLength?: number; readonly maxLength?: number },
): string | undefined {
  const { pattern, minLength = 0, maxLength = Infinity } = rules;
  const fitting = fittingTexts(pattern).filter((text) => text.length >= minLength && text.length <= maxLength);
  if (pattern === undefined && g(fc.nat, 4) === 0) {
    const most = Math.min(maxLength, 40);
    // No lone surrogates and no U+0000: those are refused for the whole body.
    return g(fc.string, { unit: 'grapheme', minLength: Math.min(minLength, most), maxLength: most }).replaceAll(
      '\0',
      '',
    );
  }
  const [first] = fitting;
  return first === undefined ? undefined : pick(g, fitting);
}

const byPattern = new Map<string, readonly string[]>();

function fittingTexts(pattern: string | undefined): readonly string[] {
  if (pattern === undefined) return KNOWN;
  const known = byPattern.get(pattern);
  if (known !== undefined) return known;
  const expression = new RegExp(pattern, 'u');
  const made = fc.sample(fc.stringMatching(simplified(pattern)), { numRuns: tries(8), seed: 1 });
  const fitting = [...KNOWN, ...made].filter((text) => expression.test(text));
  byPattern.set(pattern, fitting);
  return fitting;
}

/** fast-check knows no look-arounds; what it cannot read gets the known texts only. */
function simplified(pattern: string): RegExp {
  return /\(\?[=!<]/.test(pattern) ? /^never-matching$/ : new RegExp(pattern);
}
