/** What goes in and what comes out: inputs, outputs, and hostile forms of both. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack as tarPack } from 'tar-stream';
import type { OutputFile } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { LIMITS, MiB, order } from '../compute-harness.js';

export const fileCases: readonly ContractCase[] = [
  {
    name: 'inputs are there to read, whoever owns them, and not to write',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      writeFileSync(join(at, 'open'), 'open\n', { mode: 0o644 });
      writeFileSync(join(at, 'closed'), 'closed\n', { mode: 0o600 });
      mkdirSync(join(at, 'tree/sub'), { recursive: true });
      writeFileSync(join(at, 'tree/sub/leaf'), 'leaf\n', { mode: 0o600 });
      around.share(at);
      const input = (name: string, source = name) => ({
        path: `/svc/inputs/${name}`,
        source: join(at, source),
        unpack: 'no' as const,
      });
      const script =
        'cd /svc/inputs; cat open closed tree/sub/leaf; for p in open closed tree/sub/leaf tree/new; do (echo x >"$p") 2>/dev/null && echo "wrote $p"; done; rm -rf /svc/inputs/* 2>/dev/null; cat open';
      const work = order(script, { inputs: [input('open'), input('closed'), input('tree')] });
      t.is(await h.output(work), 'open\nclosed\nleaf\nopen\n');
      t.is(readFileSync(join(at, 'open'), 'utf8'), 'open\n');
    },
  },
  {
    name: 'an archive is unpacked, plain or with zstd',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      mkdirSync(join(at, 'tree/sub'), { recursive: true });
      writeFileSync(join(at, 'tree/sub/leaf'), 'leaf\n');
      execFileSync('tar', ['-C', join(at, 'tree'), '-cf', join(at, 'a.tar'), '.']);
      execFileSync('zstd', ['-q', join(at, 'a.tar')]);
      around.share(at);
      const work = order(
        'cat /svc/inputs/a/sub/leaf /workspace/src/sub/leaf; (: >/workspace/src/new) 2>/dev/null || echo read-only',
        {
          inputs: [
            { path: '/svc/inputs/a', source: join(at, 'a.tar'), unpack: 'tar' },
            { path: '/workspace/src', source: join(at, 'a.tar.zst'), unpack: 'tar.zst' },
          ],
        },
      );
      t.is(await h.output(work), 'leaf\nleaf\nread-only\n');
    },
  },
  {
    name: 'a writable archive is unpacked among the files of the work, which may change it, and its outputs are taken there',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      mkdirSync(join(at, 'tree'), { mode: 0o777 });
      writeFileSync(join(at, 'tree/leaf'), 'leaf\n');
      execFileSync('tar', ['-C', join(at, 'tree'), '-czf', join(at, 'a.tar.gz'), '.']);
      around.share(at);
      const work = order('echo more >>leaf; stat -c %a /workspace', {
        inputs: [{ path: '/workspace', source: join(at, 'a.tar.gz'), unpack: 'tar.gz', writable: true }],
        outputs: [{ name: 'changed', path: '/workspace/leaf' }],
      });
      t.is(await h.output(work), '700\n');
      const state = (await h.engine.list(h.patience())).find(({ id }) => id === work.id);
      t.is(state?.outputs?.[0]?.size, 'leaf\nmore\n'.length);
    },
  },
  {
    name: 'a hostile archive reaches nothing outside of its place',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      const archive = tarPack();
      archive.entry({ name: '../../../escaped' }, 'x');
      archive.entry({ name: '/tmp/escaped-absolute' }, 'x');
      archive.entry({ name: 'link', type: 'symlink', linkname: at });
      archive.entry({ name: 'link/escaped' }, 'x');
      archive.entry({ name: 'plain' }, 'plain\n');
      archive.finalize();
      const chunks: Buffer[] = [];
      for await (const chunk of archive) chunks.push(chunk as Buffer);
      writeFileSync(join(at, 'evil.tar'), Buffer.concat(chunks));
      around.share(at);
      const work = order('cat /svc/inputs/e/plain', {
        inputs: [{ path: '/svc/inputs/e', source: join(at, 'evil.tar'), unpack: 'tar' }],
      });
      await h.run(work);
      t.throws(() => readFileSync(join(at, 'escaped')), { code: 'ENOENT' });
      t.throws(() => readFileSync('/tmp/escaped-absolute'), { code: 'ENOENT' });
    },
  },
  {
    name: 'a link that one archive brings is no way out for the next',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      const make = async (name: string, fill: (archive: ReturnType<typeof tarPack>) => void): Promise<void> => {
        const archive = tarPack();
        fill(archive);
        archive.finalize();
        const chunks: Buffer[] = [];
        for await (const chunk of archive) chunks.push(chunk as Buffer);
        writeFileSync(join(at, name), Buffer.concat(chunks));
      };
      const world = mkdtempSync(join(tmpdir(), 'troupe-open-'));
      chmodSync(world, 0o777);
      await make('first.tar', (archive) => {
        archive.entry({ name: 'src', type: 'symlink', linkname: world });
        archive.entry({ name: 'in', type: 'symlink', linkname: world });
      });
      await make('second.tar', (archive) => {
        archive.entry({ name: 'src/escaped' }, 'x');
        archive.entry({ name: 'escaped' }, 'x');
      });
      around.share(at);
      const input = (path: string, name: string) =>
        ({ path, source: join(at, name), unpack: 'tar', writable: true }) as const;
      await h.run(order('true', { inputs: [input('/workspace', 'first.tar'), input('/workspace', 'second.tar')] }));
      const state = await h.run(
        order('true', { inputs: [input('/workspace', 'first.tar'), input('/workspace/in', 'second.tar')] }),
      );
      t.like(state, { phase: 'StartFailed', reason: 'InputFailed' });
      t.deepEqual(readdirSync(world), []);
      rmSync(world, { recursive: true });
    },
  },
  {
    name: 'an input that is missing, broken, or over the system fails the start',
    run: async (t, h, around) => {
      const broken = join(around.files, 'broken.tar.zst');
      writeFileSync(broken, 'no archive');
      around.share(broken);
      for (const input of [
        { path: '/svc/inputs/a', source: join(around.files, 'none'), unpack: 'no' as const },
        { path: '/svc/inputs/a', source: broken, unpack: 'tar.zst' as const },
        { path: '/usr/bin', source: broken, unpack: 'no' as const },
        { path: '/svc/../etc/passwd', source: broken, unpack: 'no' as const },
      ]) {
        t.like(await h.run(order(['true'], { inputs: [input] })), { phase: 'StartFailed', reason: 'InputFailed' });
      }
    },
  },
  {
    name: 'outputs are taken as files and archives, also when the work failed; a missing one is told of',
    run: async (t, h) => {
      const script =
        'mkdir -p /svc/outputs/d/sub "/svc/outputs/d/odd\nname"; echo leaf >/svc/outputs/d/sub/leaf; echo leaf >/svc/outputs/d/second; ln /svc/outputs/d/second /svc/outputs/d/again; truncate -s 1000000 /svc/outputs/d/hole; echo file >f; echo t >/tmp/t; ln -s f /workspace/l; exit 2';
      const names = [
        ['dir', '/svc/outputs/d'],
        ['file', 'f'],
        ['link', '/workspace/l'],
        ['tmp', '/tmp/t'],
        ['none', '/svc/outputs/none'],
      ];
      const work = order(script, {
        outputs: names.map(([name = '', path = '']) => ({ name, path, vital: name === 'dir' })),
      });
      const state = await h.run(work);
      t.is(state.exitCode, 2);
      const found = new Map((state.outputs ?? []).map((output) => [output.name, output]));
      t.like(found.get('none'), { size: 0, error: '/svc/outputs/none does not exist' });
      for (const [name, text] of [
        ['file', 'file\n'],
        ['link', 'file\n'],
        ['tmp', 't\n'],
      ] as const) {
        const output = found.get(name);
        t.like(output, { directory: false, size: text.length, error: undefined }, name);
        t.is(readFileSync(output?.file ?? '', 'utf8'), text);
      }
      const dir = found.get('dir') as OutputFile;
      t.true(dir.directory);
      t.is(dir.logical, 'leaf\n'.length * 2 + 1_000_000, 'two names of a file count once');
      const listing = execFileSync('tar', ['--zstd', '-tf', dir.file], { encoding: 'utf8' });
      t.true(listing.includes('./sub/leaf') && listing.includes('./odd\\nname/'), listing);
      await h.engine.remove(work.id, true, h.patience());
      t.throws(() => readFileSync(dir.file), { code: 'ENOENT' });
    },
  },
  {
    name: 'what was saved comes back with its modes, also in closed directories, and what cannot come back is told of',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      mkdirSync(join(at, 'tree/module'), { recursive: true });
      writeFileSync(join(at, 'tree/module/file'), 'm\n', { mode: 0o444 });
      writeFileSync(join(at, 'tree/noise'), randomBytes(200_000));
      chmodSync(join(at, 'tree/module'), 0o555);
      const whole = join(at, 'a.tar');
      execFileSync('tar', ['-C', join(at, 'tree'), '--sort=name', '-cf', whole, '.']);
      const cut = join(at, 'cut.tar');
      writeFileSync(cut, readFileSync(whole).subarray(0, 100_000));
      around.share(at);
      const saved = (source: string) => [
        { path: '/workspace', source, unpack: 'tar' as const, writable: true, saved: true },
      ];
      const script = 'cat module/file; stat -c %a module module/file';
      const work = order(script, { inputs: saved(whole) });
      t.is((await h.run(work)).unrestored, undefined);
      t.is(await h.text(work.id), 'm\n555\n444\n');
      const rest = await h.run(order('true', { inputs: saved(cut) }));
      t.like(rest, { phase: 'Exited', exitCode: 0 });
      t.regex(rest.unrestored ?? '', /^\/workspace: /);
    },
  },
  {
    name: 'outputs together take no more than the disk of the work, however often they name one file',
    run: async (t, h) => {
      const outputs = Array.from({ length: 8 }, (_, index) => ({ name: `o${index}`, path: '/workspace/holes' }));
      // It takes nothing of the disk, and no more when it was taken.
      const work = order('truncate -s 40M /workspace/holes', { outputs, limits: { ...LIMITS, disk: 100 * MiB } });
      const { outputs: taken = [] } = await h.run(work);
      const kept = taken.filter(({ error }) => error === undefined);
      t.is(kept.length, 2);
      for (const { file, size } of kept) t.deepEqual([size, statSync(file).blocks < 2_000], [40 * MiB, true]);
      t.regex(taken[2]?.error ?? '', /together are larger/);
    },
  },
  {
    name: 'outputs are taken from anywhere in the root, and the working directory may lie there',
    run: async (t, h) => {
      const script =
        'pwd; mkdir -p /data/x/sub /var/lib/app; echo leaf >/data/x/sub/leaf; echo file >here; echo var >/var/lib/app/f; echo top >/top; ln -s /data/x/sub/leaf /link';
      const paths = { dir: '/data/x', here: 'here', var: '/var/lib/app/f', top: '/top', link: '/link' };
      const work = order(script, {
        workingDir: '/srv/app',
        outputs: Object.entries(paths).map(([name, path]) => ({ name, path })),
      });
      const state = await h.run(work);
      t.is(state.exitCode, 0, await h.text(work.id));
      t.is(await h.text(work.id), '/srv/app\n');
      const found = new Map((state.outputs ?? []).map((output) => [output.name, output]));
      for (const [name, text] of Object.entries({ here: 'file\n', var: 'var\n', top: 'top\n', link: 'leaf\n' })) {
        t.is(found.get(name)?.error, undefined);
        t.is(readFileSync(found.get(name)?.file ?? '', 'utf8'), text);
      }
      const listing = execFileSync('tar', ['--zstd', '-tf', found.get('dir')?.file ?? ''], { encoding: 'utf8' });
      t.true(listing.includes('./sub/leaf'), listing);
    },
  },
  {
    name: 'an output from a root that the work rearranged leads to nothing of the host',
    run: async (t, h, around) => {
      const secret = join(around.files, 'host-secret-of-root');
      writeFileSync(secret, 'host\n', { mode: 0o644 });
      const script = `mkdir /data; ln -s ${around.files} /data/files; ln -s ${secret} /data/file; ln -s / /data/root
        mv /svc /moved; ln -s ${around.files} /svc; perl -e 'rename "/run", "/gone"'; ln -s ${around.files} /run; rm -rf /var; ln -s ${around.files} /var
        mkdir /home; ln -s ${around.files} /home/base; mkfifo /data/pipe; true`;
      const paths = [
        '/data/file',
        '/data/files/host-secret-of-root',
        `/data/root${secret}`,
        '/svc/host-secret-of-root',
        '/run/host-secret-of-root',
        '/var/host-secret-of-root',
        secret,
        '/data/pipe',
        '/etc/passwd',
        '/run/secrets/key',
        '/gone/secrets/key',
        '/',
        '/svc',
      ];
      const work = order(script, {
        outputs: paths.map((path, index) => ({ name: `o${index}`, path })),
        secretFiles: new Map([['key', Buffer.from('value')]]),
      });
      const state = await h.run(work);
      t.is(state.exitCode, 0, await h.text(work.id));
      for (const [index, output] of (state.outputs ?? []).entries()) t.truthy(output.error, paths[index]);
      await h.engine.remove(work.id, true, h.patience());
      t.is(readFileSync(secret, 'utf8'), 'host\n');
    },
  },
  {
    name: 'program text goes anywhere in the root, and its links lead no mount astray',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      const world = mkdtempSync(join(tmpdir(), 'troupe-open-'));
      chmodSync(world, 0o777);
      const archive = tarPack();
      archive.entry({ name: 'leaf' }, 'leaf\n');
      for (const name of ['inputs', 'outputs', 'state', 'etc', 'secrets', 'sub']) {
        archive.entry({ name, type: 'symlink', linkname: world });
      }
      archive.finalize();
      const chunks: Buffer[] = [];
      for await (const chunk of archive) chunks.push(chunk as Buffer);
      writeFileSync(join(at, 'a.tar'), Buffer.concat(chunks));
      writeFileSync(join(at, 'plain'), 'plain\n');
      around.share(at);
      const text = (path: string) => ({ path, source: join(at, 'a.tar'), unpack: 'tar', writable: true }) as const;
      const plain = (path: string) => ({ path, source: join(at, 'plain'), unpack: 'no' }) as const;
      const work = order('cat leaf; echo more >>leaf', {
        workingDir: '/srv/app',
        inputs: [text('/srv/app')],
        outputs: [{ name: 'leaf', path: '/srv/app/leaf' }],
      });
      t.is(await h.output(work), 'leaf\n');
      const output = (await h.ended(work.id)).outputs?.[0];
      t.is(readFileSync(output?.file ?? '', 'utf8'), 'leaf\nmore\n');
      for (const path of ['/', '/svc', '/run', '/var', '/svc/inputs', '/srv', '/workspace', '/tmp']) {
        const beside = [path, '/svc/inputs/x', '/srv/sub/x', '/workspace/sub/x', '/tmp/sub/x'];
        const inputs = [
          text(path),
          ...beside
            .slice(1)
            .filter((one) => one.startsWith(path))
            .map(plain),
        ];
        t.like(await h.run(order('true', { inputs })), { phase: 'StartFailed', reason: 'InputFailed' }, path);
      }
      t.deepEqual(readdirSync(world), []);
      rmSync(world, { recursive: true });
    },
  },
  {
    name: 'no output leads out of the work',
    run: async (t, h, around) => {
      const secret = join(around.files, 'host-secret');
      writeFileSync(secret, 'host\n', { mode: 0o644 });
      symlinkSync(secret, join(around.files, 'unused'));
      const script = `ln -s ${secret} a; ln -s /etc/hostname b; ln -s ../../../../../../etc/passwd c; ln -s / d; mkfifo e; ln -s g f; ln -s f g; ln -s /proc/self/root${secret} i
        mkdir k; ln -s ${secret} k/inner; echo fine >k/fine; truncate -s 100G huge; chmod 000 k/fine`;
      const paths: Record<string, string> = {
        a: 'a',
        b: 'b',
        c: 'c',
        d: `d${secret}`,
        e: 'e',
        f: 'f',
        i: 'i',
        up: '../../../etc/passwd',
        huge: 'huge',
        k: 'k',
        system: '/etc/passwd',
      };
      const work = order(script, {
        outputs: Object.entries(paths).map(([name, path]) => ({ name, path })),
        limits: { ...LIMITS, disk: 64 * MiB },
      });
      const state = await h.run(work);
      t.is(state.exitCode, 0, await h.text(work.id));
      for (const output of state.outputs ?? []) {
        if (output.name !== 'k') t.truthy(output.error, output.name);
      }
      const packed = (state.outputs ?? []).find(({ name }) => name === 'k') as OutputFile;
      const listing = execFileSync('tar', ['--zstd', '-tvf', packed.file], { encoding: 'utf8' });
      t.true(listing.includes(`./inner -> ${secret}`), listing);
    },
  },
  {
    name: 'what work makes hard to remove is removed',
    run: async (t, h) => {
      const script =
        'mkdir -p x/y; chmod 000 x/y x; i=0; d=deep; while [ $i -lt 60 ]; do d=$d/0123456789012345678901234567890123456789012345678901234567890123456789; i=$((i+1)); done; while [ $i -gt 0 ]; do mkdir -p 0123456789012345678901234567890123456789012345678901234567890123456789 && cd 0123456789012345678901234567890123456789012345678901234567890123456789; i=$((i-1)); done; : >end';
      const work = order(script);
      t.is((await h.run(work)).exitCode, 0, await h.text(work.id));
      await h.engine.remove(work.id, true, h.patience());
      t.pass();
    },
  },
];
