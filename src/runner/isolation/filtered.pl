# Puts a filter of system calls on and becomes a command. If it cannot put the filter on, it does not become the command.
# Arguments: the numbers of prctl and seccomp, the filter in hexadecimal, and the words of the command.
# PR_SET_NO_NEW_PRIVS; SECCOMP_SET_MODE_FILTER with a struct sock_fprog: the number of instructions and where they are.

my ($prctl, $seccomp, $hex, @command) = @ARGV;
my $filter = pack 'H*', $hex;
my $program = pack 'S x6 P', length($filter) / 8, $filter;
syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($seccomp, 1, 0, $program) == 0 or die "the filter of system calls: $!\n";
exec { $command[0] } @command;
die "$command[0]: $!\n";
