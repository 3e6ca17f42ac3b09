/** What others make of `/openapi.json`: a validator finds nothing, and a generated client compiles, works, and finds mistakes. */
import SwaggerParser from '@apidevtools/swagger-parser';
import test, { type ExecutionContext } from 'ava';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shareRestarted } from '../faults/restarted.js';
import { openTestApi } from '../http/support/test-api.js';
import { at, json } from '../http/support/json.js';
import { compile, generateTypes } from './generator.js';
import { PROJECT, RIGHT, WRONG, wrongProgram } from './programs.js';

type Document = Parameters<typeof SwaggerParser.validate>[0];

async function temporary(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-client-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test('a public validator finds nothing wrong with any of the documents', async (t) => {
  const api = await openTestApi(t);
  const parts = Object.values(Object(at(await json(api.call('/openapi/v3')), 'paths')));
  for (const path of ['/openapi.json', ...parts.map((part) => String(at(part, 'serverRelativeURL')))]) {
    const document = (await json(api.call(path))) as Document;
    await t.notThrowsAsync(SwaggerParser.validate(document), path);
  }
});

test('every operation has an id, words and a tag, and says the schema of what it is sent and answers', async (t) => {
  const api = await openTestApi(t);
  const paths: object = Object(at(await json(api.call('/openapi.json')), 'paths'));
  const poor: string[] = [];
  for (const [path, item] of Object.entries(paths)) {
    for (const [verb, operation] of Object.entries(Object(item))) {
      if (verb === 'parameters') continue;
      for (const word of ['operationId', 'summary', 'tags.0']) {
        if (typeof at(operation, word) !== 'string') poor.push(`${verb} ${path}: ${word}`);
      }
      const responses: object = Object(at(operation, 'responses'));
      if (!Object.keys(responses).some((status) => /^(2|101)/.test(status))) poor.push(`${verb} ${path}: no success`);
      for (const [where, bodied] of [['body', at(operation, 'requestBody')] as const, ...Object.entries(responses)]) {
        if (bodied === undefined) continue;
        const contents: object[] = Object.values(Object(at(bodied, 'content')));
        if (!['101', '204', '304'].includes(where) && contents.length === 0)
          poor.push(`${verb} ${path} ${where}: no content`);
        for (const content of contents) {
          if (Object.keys(Object(at(content, 'schema'))).length === 0) poor.push(`${verb} ${path} ${where}: no schema`);
        }
      }
    }
  }
  t.deepEqual(poor, []);
});

test('a generated TypeScript client compiles strictly, works, and refuses what the service would refuse', async (t) => {
  t.timeout(120_000);
  const { service, close } = await shareRestarted();
  t.teardown(close);
  const project = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: PROJECT } };
  t.is((await service.client().post('/api/v1/namespaces', project)).status, 201);
  const directory = await temporary(t);
  await generateTypes(Object(await json(fetch(`${service.url}/openapi.json`))), directory);

  const wrong = WRONG.map(([, lines], n) => [`wrong-${n}.ts`, wrongProgram(lines)] as const);
  const said = await compile({ 'right.ts': RIGHT, ...Object.fromEntries(wrong) }, directory);
  const files = new Set<string>(wrong.map(([name]) => name));
  t.deepEqual(
    said.filter((line) => !line.startsWith(' ') && !files.has(line.split('(')[0] ?? '')),
    [],
    'what is right compiles',
  );
  WRONG.forEach(([what, , finds], n) => {
    const errors = said.slice(said.findIndex((line) => line.startsWith(`wrong-${n}.ts(`)));
    const end = errors.findIndex((line) => line.startsWith('wrong-') && !line.startsWith(`wrong-${n}.ts(`));
    t.regex(errors.slice(0, end === -1 ? undefined : end).join('\n'), finds, what);
  });

  const { stdout } = await promisify(execFile)(process.execPath, [join(directory, 'right.js')], {
    env: { SERVICE_URL: service.url, SERVICE_KEY: service.client().key },
    timeout: 30_000,
  });
  const { version, ...read } = JSON.parse(stdout) as Record<string, unknown>;
  t.regex(String(version), /^\d+$/);
  t.deepEqual(read, {
    name: 'typed',
    over: false,
    completions: [3],
    parallelism: [2, 3],
    labels: {},
    idle: '5m',
    boxes: 0,
    refused: 'NotFound',
    stop: 'function',
  });
});
