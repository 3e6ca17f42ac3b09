/**
 * Owns running a command under the filter of system calls where nothing else puts it on: by a few words of Perl, which gives the program
 * to the kernel and becomes the command. Pure. One that cannot put it on does not become the command.
 */
import { isKnown, OWN } from './calls.js';

/** PR_SET_NO_NEW_PRIVS; SECCOMP_SET_MODE_FILTER with a struct sock_fprog: the number of instructions and where they are. */
const SOURCE = String.raw`
my ($prctl, $seccomp, $hex, @command) = @ARGV;
my $filter = pack 'H*', $hex;
my $program = pack 'S x6 P', length($filter) / 8, $filter;
syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($seccomp, 1, 0, $program) == 0 or die "the filter of system calls: $!\n";
exec { $command[0] } @command;
die "$command[0]: $!\n";
`;

/** Words to put before a command; none on a machine that we have no filter for. */
export function underFilter(perl: string, architecture: string, filter: Buffer | undefined): readonly string[] {
  if (!isKnown(architecture) || filter === undefined) return [];
  const calls = [OWN.prctl[architecture], OWN.seccomp[architecture]];
  return [perl, '-e', SOURCE.trim().replaceAll('\n', ' '), ...calls.map(String), filter.toString('hex')];
}
