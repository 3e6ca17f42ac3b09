/**
 * Whatever tree work can save comes back as it was: modes, times, links, holes, and names of any bytes, at any depth. Two archives of
 * equal trees are equal, byte for byte, which is how they are compared.
 */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { OutputFile, WorkSpec } from '../../src/engines/compute/contract/engine.js';
import { extractCommand } from '../../src/runner/work/unpack.js';
import { order, type Harness } from './compute-harness.js';
import { each, once } from './each-isolation.js';
import type { EngineFixture } from './namespaces-setups.js';

/** Seeds of trees for each way of making boxes; more of them with TREES=100. */
const TREES = Number(process.env['TREES'] ?? 2);

/** Makes a tree by chance, and last of all closes what is to be closed. */
const MAKE = String.raw`
use Time::HiRes ();
srand shift;
my (@files, @directories, $made);
sub name {
    my $name = join '', map { my $b; do { $b = int rand 256 } until $b != 0 && $b != 47; chr $b } 1 .. 1 + rand 12;
    return $name eq '.' || $name eq '..' || -e $name || -l $name ? 'n' . $made++ : $name;
}
sub later { [$_[0], int(rand 2_000_000_000) + int(rand 1000) / 1000] }
sub fill {
    my ($path, $depth) = @_;
    for (1 .. 2 + rand 4) {
        my $name = name();
        my $what = int rand 8;
        if ($what < 3 && $depth < 4) {
            mkdir $name or die "$name: $!";
            chdir $name or die $!;
            fill("$path/$name", $depth + 1);
            chdir '..' or die $!;
            push @directories, ["$path/$name", later([0555, 0500, 0, 0111, 0700, 01777, 0755]->[rand 7])];
        }
        elsif ($what == 3) { symlink rand() < 0.5 ? '/etc/passwd' : "../$name/\xff\n", $name or die $! }
        elsif ($what == 4 && @files) { link $files[rand @files], $name or die $! }
        elsif ($what == 5) {
            open my $file, '>', $name or die $!;
            for (1 .. 3) { seek $file, 65536 * int rand 40, 0; print $file 'x' x rand 9000 }
            truncate $file, 65536 * 48;
            close $file;
            push @files, "$path/$name";
        }
        else {
            open my $file, '>', $name or die $!;
            print $file 'some text ' x rand 300;
            close $file;
            push @files, "$path/$name";
        }
    }
}
my $top = '/workspace';
chdir $top or die $!;
fill($top, 0);
# As Go's cache of modules is.
mkdir 'module'; open my $f, '>', 'module/file'; close $f; chmod 0444, 'module/file'; chmod 0555, 'module';
system('mkfifo', 'fifo') == 0 or die;
system('touch', '-d', '@-1000000.25', 'fifo') == 0 or die;
for my $file (@files) {
    my $end = later([0644, 0400, 0, 0755, 04711, 0200]->[rand 6]);
    chmod $end->[0], $file or die $!;
    Time::HiRes::utime($end->[1], $end->[1], $file) or die $!;
}
# Deeper than a path can say, and closed at its end.
my $link = 'd' x 200;
for (1 .. 40) { mkdir $link or die $!; chdir $link or die $! }
open my $deep, '>', 'deep'; print $deep 'deep'; close $deep;
link 'deep', 'deep too';
chdir $top;
for my $directory (@directories) {
    my ($path, $end) = @$directory;
    Time::HiRes::utime($end->[1], $end->[1], $path);
    chmod $end->[0], $path or die "$path: $!";
}
`;

const KEEP: WorkSpec['outputs'] = [{ name: 'tree', path: '/workspace' }];

function outputOf(ended: { readonly outputs?: readonly OutputFile[] | undefined }): string {
  const [tree] = ended.outputs ?? [];
  if (tree === undefined || tree.error !== undefined) throw new Error(tree?.error ?? 'there is no output');
  return tree.file;
}

const plain = (file: string): Buffer => execFileSync('zstd', ['-dcq', file], { maxBuffer: 1 << 30 });

async function saved(h: Harness, seed: number): Promise<string> {
  const made = order(['perl', '-e', MAKE, String(seed)], { outputs: KEEP });
  const ended = await h.run(made);
  if (ended.exitCode !== 0) throw new Error(await h.text(made.id));
  return outputOf(ended);
}

function input(fixture: EngineFixture, file: string, unpack: 'tar' | 'tar.zst', kept = true): WorkSpec['inputs'] {
  const at = fixture.files();
  const source = join(at, 'archive');
  copyFileSync(file, source);
  fixture.share(at);
  return [{ path: '/workspace', source, unpack, writable: true, saved: kept }];
}

each('any tree that work can save is restored as it was', async (t, fixture, h) => {
  for (let round = 0; round < TREES; round++) {
    const seed = randomInt(1_000_000_000);
    const first = await saved(h, seed);
    const again = await h.run(order('true', { inputs: input(fixture, first, 'tar.zst'), outputs: KEEP }));
    t.like(again, { phase: 'Exited', exitCode: 0, unrestored: undefined }, `seed ${seed}`);
    t.true(plain(outputOf(again)).equals(plain(first)), `seed ${seed}`);
  }
});

once('archives of every kind of GNU tar are unpacked alike', async (t, fixture, h) => {
  const at = fixture.files();
  execFileSync(
    'sh',
    [
      '-c',
      'mkdir -p t/d && cd t && truncate -s 3M d/sparse && printf x | dd of=d/sparse bs=1 seek=1000000 conv=notrunc 2>/dev/null && ' +
        'i=0; while [ $i -lt 30 ]; do printf y | dd of=d/many bs=1 seek=$((i * 100000)) conv=notrunc 2>/dev/null; i=$((i + 1)); done; ' +
        'n=$(printf "%0150d" 7); echo long >d/$n; ln -s $n$n d/link; ln d/$n hard; touch -h -d @1600000000 d/* d .',
    ],
    { cwd: at },
  );
  const wanted: string[] = [];
  for (const kind of ['gnu', 'oldgnu', 'posix 0.0', 'posix 0.1', 'posix 1.0']) {
    const [format, sparse] = kind.split(' ');
    const archive = join(at, 'a.tar');
    const how = [`--format=${format}`, '--sparse', ...(sparse === undefined ? [] : [`--sparse-version=${sparse}`])];
    execFileSync('tar', ['-C', join(at, 't'), '-cf', archive, ...how, '.']);
    const ended = await h.run(order('true', { inputs: input(fixture, archive, 'tar', false), outputs: KEEP }));
    t.like(ended, { phase: 'Exited', exitCode: 0 }, kind);
    wanted.push(plain(outputOf(ended)).toString('latin1'));
  }
  t.is(new Set(wanted).size, 1);
  t.regex(wanted[0] ?? '', /GNU\.sparse\.size=3145728/);
});

once(
  'what is saved and cannot all be restored starts with the rest, and says what is missing',
  async (t, fixture, h) => {
    const first = await saved(h, 7);
    const tar = join(fixture.files(), 'cut.tar');
    const bytes = plain(first);
    writeFileSync(tar, bytes.subarray(0, bytes.length / 2));
    const inputs = input(fixture, tar, 'tar');
    const ended = await h.run(order('ls -A | wc -l', { inputs }));
    t.like(ended, { phase: 'Exited', exitCode: 0 });
    t.regex(ended.unrestored ?? '', /\/workspace: the archive is broken: it ends too early/);
    // What nobody has saved is given whole or not at all.
    const strict = await h.run(order('true', { inputs: input(fixture, tar, 'tar', false) }));
    t.like(strict, { phase: 'StartFailed', reason: 'InputFailed' });
  },
);

test('the program that unpacks is free of what Perl warns of', (t) => {
  const [perl = '', ...args] = extractCommand('perl', '/archive', []);
  execFileSync(perl, ['-wc', ...args], { stdio: 'pipe' });
  t.pass();
});
