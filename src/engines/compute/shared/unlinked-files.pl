# Measures what processes hold open or mapped, or work in, or are programs of, though it has no name any more.
# Arguments: how many such files, and how many descriptors of one piece of work are looked at; then for each piece of work the kernel's list of its
# processes, the number of directories on the file systems that count, and those directories.
# Prints a line for each piece of work: the bytes, the files, and the descriptors that were looked at.
#
# Processes end while this looks, and leave what they hold to others that have begun since. So the list is read again until it has none that is new;
# to be missed, a file would have to be handed on faster than this looks, each time.

use strict;

my ($MOST_FILES, $MOST_LOOKS, @work) = @ARGV;
my $PASSES = 32;
# A line of a process's map costs so much less than a descriptor.
my $LINES_PER_LOOK = 16;
my (%counts, %seen, $bytes, $files, $looks);

# What a link of the kernel leads to, whatever its name is. Each file counts once, however many hold it.
sub look {
    my ($link) = @_;
    $looks++;
    -f $link || -d _ or return;
    my ($device, $inode, $names, $blocks) = (stat _)[0, 1, 3, 12];
    return if $names || !$counts{$device} || $seen{"$device $inode"}++;
    $files++;
    $bytes += $blocks * 512;
    return;
}

sub enough { return $files > $MOST_FILES || $looks > $MOST_LOOKS }

# True of a thread that lives: what has ended has no memory any more.
sub look_at_map {
    my ($id) = @_;
    open my $map, '<', "/proc/$id/maps" or return 0;
    my ($lines, %known) = (0);
    while (my $line = <$map>) {
        $lines++;
        next if $line !~ / \(deleted\)$/;
        my ($range, undef, undef, $device, $inode) = split q( ), $line;
        next if $known{"$device $inode"}++;
        look("/proc/$id/map_files/" . join q(-), map { s/^0+(?=.)//r } split /-/, $range);
        last if enough();
    }
    close $map;
    $looks += $lines / $LINES_PER_LOOK;
    return $lines > 0;
}

# Threads have one table of descriptors and one memory together, so that of one which lives is enough; the first may have ended before the
# others, and has nothing then. Each may work in a directory of its own. False when none lived long enough though there were several.
sub look_at_process {
    my ($process) = @_;
    opendir my $tasks, "/proc/$process/task" or return 1;
    my @others = grep { /^\d/ && $_ != $process } readdir $tasks;
    closedir $tasks;
    look("/proc/$process/task/$_/cwd") for $process, @others;
    for my $id ($process, @others) {
        look("/proc/$id/exe");
        opendir my $open, "/proc/$id/fd" or next;
        while (!enough() && defined(my $descriptor = readdir $open)) { look("/proc/$id/fd/$descriptor") }
        closedir $open;
        return 1 if look_at_map($id) || enough();
    }
    return !@others;
}

sub processes {
    my ($list) = @_;
    open my $file, '<', $list or return;
    my @ids = grep { $_ > 0 } map { int } <$file>;
    close $file;
    return @ids;
}

while (@work) {
    my ($list, $number) = splice @work, 0, 2;
    %counts = map { my ($device) = stat; defined $device ? ($device => 1) : () } splice @work, 0, $number;
    %seen = ();
    ($bytes, $files, $looks) = (0, 0, 0);
    my %done;
    for (1 .. $PASSES) {
        my @new = grep { !$done{$_} } processes($list) or last;
        for (@new) { $done{$_} = enough() || look_at_process($_) }
    }
    printf "%d %d %d\n", $bytes, $files, $looks;
}
