import test from 'ava';
import * as fc from 'fast-check';
import { z } from 'zod';
import { KINDS } from '../../../src/kinds/index.js';
import { compiled } from '../../../src/api/zod-internals.js';
import { generateSpec, type Schema } from '../../fuzz/generate.js';
import { mutate } from '../../fuzz/mutate.js';

const TRIES = 60;

test('generated code reads the spec of every kind, valid or not, as the schema itself does', (t) => {
  for (const kind of KINDS) {
    const slow = kind.schema.spec;
    const quick = compiled(slow);
    t.not(quick, slow, `${kind.kind} was not compiled`);
    const schema = z.toJSONSchema(slow, { target: 'openapi-3.0', io: 'input', unrepresentable: 'any' }) as Schema;
    const same = (spec: unknown): void => {
      const [a, b] = [slow.safeParse(spec), quick.safeParse(spec)];
      // As text: the order of members is part of what is stored.
      const told = ({ success, data, error }: typeof a): string => JSON.stringify(success ? data : error?.issues);
      t.is(told(b), told(a), `${kind.kind}: ${JSON.stringify(spec)}`);
    };
    same({});
    const cases = fc.gen().map((g) => {
      const spec = generateSpec(g, kind, schema) as Record<string, unknown> | undefined;
      if (spec === undefined) return;
      same(spec);
      const mutation = mutate(g, spec, schema);
      if (mutation !== undefined) same(mutation.spec);
    });
    fc.sample(cases, { numRuns: TRIES, seed: 1 });
  }
});
