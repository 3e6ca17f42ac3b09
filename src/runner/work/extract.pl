# Unpacks a tar archive in a box. It is there because GNU tar cannot restore all that it can save: run by the user that is root inside, without
# root's rights, it makes no file in a directory of mode 0555, and it names each file by its whole path, which the kernel takes up to PATH_MAX.
#
# It goes from directory to directory, one name at a time, and sets the mode and time of a directory when it leaves it. A directory to which
# the archive comes back is opened for that, and is then as it was. Symbolic links are made and never followed. What cannot be made is said on
# the error output, and the rest goes on. Names are bytes. It reads ustar, GNU and pax archives, with their sparse files.
#
# Arguments: the numbers of utimensat, mknodat and statx, the archive, and the words of a program that decompresses it.
# It exits with 0 when all was made, 1 when only a part was, 2 when the archive is broken, 3 when the disk is full.
#
# Memory (I10): one level for each directory on the way, one buffer, and a pax header or long name of at most 16 MiB.

use strict;
# Numbers of system calls; 0 on a machine whose numbers are not known.
my ($UTIMENSAT, $MKNODAT, $STATX) = map { $_ + 0 } splice @ARGV, 0, 3;
my ($ARCHIVE, @FILTER) = @ARGV;
my ($HERE, $NO_FOLLOW, $CHUNK, $MOST_HEADER, $MOST_TOLD) = (-100, 0x100, 262144, 16 << 20, 8);
umask 022;
$SIG{PIPE} = 'IGNORE';

my $in;
@FILTER ? open($in, '-|', @FILTER, $ARCHIVE) : open($in, '<', $ARCHIVE) or die "$ARCHIVE: $!\n";
binmode $in;

# ---- What is told

my $failures = 0;

sub shown {
    my ($name) = @_;
    $name = substr($name, 0, 60) . '...' . substr($name, -40) if length $name > 120;
    $name =~ s/[^ -~]/?/g;
    return $name;
}

sub tell_failure {
    my ($name, $why) = @_;
    print STDERR shown($name), ": $why" if ++$failures <= $MOST_TOLD;
}

# After a call of the system that failed.
sub refused {
    my $number = $! + 0;
    die "$!\n" if $number != 28 && $number != 122;
    print STDERR "No space left on device\n";
    exit 3;
}

sub broken {
    my ($why) = @_;
    print STDERR "the archive is broken: $why\n";
    leave_all();
    exit 2;
}

# ---- The archive

my ($buffer, $begin, $over) = ('', 0, 0);

sub available {
    my ($wanted) = @_;
    while (!$over && length($buffer) - $begin < $wanted) {
        substr($buffer, 0, $begin, '');
        $begin = 0;
        my $got = sysread $in, $buffer, $CHUNK, length $buffer;
        next if !defined $got && $! == 4;
        broken("it cannot be read: $!") if !defined $got;
        $over = 1 if $got == 0;
    }
    return length($buffer) - $begin;
}

sub take {
    my ($count) = @_;
    broken('it ends too early') if available($count) < $count;
    $begin += $count;
    return substr $buffer, $begin - $count, $count;
}

sub padding { return -$_[0] % 512 }

sub skip {
    my ($count) = @_;
    while ($count > 0) {
        my $now = $count < $CHUNK ? $count : $CHUNK;
        take($now);
        $count -= $now;
    }
}

sub take_header {
    my ($size) = @_;
    broken('a header is too long') if $size > $MOST_HEADER;
    my $bytes = take($size);
    skip(padding($size));
    return $bytes;
}

# Octal digits, or a number of base 256.
sub number {
    my ($field) = @_;
    my ($first, @rest) = unpack 'C*', $field;
    if ($first & 0x80) {
        my $number = $first == 0xff ? -1 : $first & 0x7f;
        $number = $number * 256 + $_ for @rest;
        return $number;
    }
    return $field =~ /([0-7]+)/ ? oct $1 : 0;
}

# Whole seconds and the rest of it in nanoseconds.
sub time_of {
    my ($text) = @_;
    my ($minus, $seconds, $rest) = $text =~ /^(-?)(\d+)(?:\.(\d*))?/ or return (0, 0);
    my $nanoseconds = substr(($rest // '') . '0' x 9, 0, 9) + 0;
    return ($seconds + 0, $nanoseconds) if $minus eq '';
    return $nanoseconds == 0 ? (-$seconds, 0) : (-$seconds - 1, 1_000_000_000 - $nanoseconds);
}

# Of a pax header, with the pieces of a sparse file, whose names come again and again.
sub records {
    my ($bytes, $into) = @_;
    my $at = 0;
    while ($at < length $bytes) {
        substr($bytes, $at, 24) =~ /^(\d+) / or broken('a pax header cannot be read');
        my ($length, $head) = ($1, length($1) + 1);
        broken('a pax header cannot be read') if $length <= $head;
        my ($key, $value) = split /=/, substr($bytes, $at + $head, $length - $head - 1), 2;
        $at += $length;
        if ($key eq 'GNU.sparse.offset' || $key eq 'GNU.sparse.numbytes') { push @{$into->{pieces}}, $value + 0 }
        else { $into->{$key} = $value // '' }
    }
}

sub pieces_of_gnu {
    my ($header) = @_;
    my ($table, $more) = (substr($header, 386, 96), substr $header, 482, 1);
    while ($more =~ /[^\0]/ && $more ne '0') {
        my $next = take(512);
        $table .= substr $next, 0, 504;
        $more = substr $next, 504, 1;
        broken('a map of a sparse file is too long') if length $table > $MOST_HEADER;
    }
    my @pieces;
    for my $piece (unpack '(a24)*', $table) {
        last if $piece !~ /^[^\0]/;
        push @pieces, map { number($_) } unpack 'a12 a12', $piece;
    }
    return \@pieces;
}

# The map comes first in its data, in whole blocks.
sub pieces_of_data {
    my ($left) = @_;
    my ($text, @numbers) = ('');
    my $next = sub {
        while ($text !~ /\n/) {
            broken('a map of a sparse file is too long') if $$left < 512;
            $text .= take(512);
            $$left -= 512;
        }
        $text =~ s/^(\d*)\n// or broken('a map of a sparse file cannot be read');
        return $1 + 0;
    };
    my $count = $next->();
    broken('a map of a sparse file is too long') if $count * 4 > $MOST_HEADER;
    push @numbers, $next->() for 1 .. 2 * $count;
    return \@numbers;
}

# ---- Directories

# Names of the directories on the way from the top to this one, and the mode and time that each has when it is left.
my (@at, @kept, $top);

sub look {
    my ($name) = @_;
    my $got = "\0" x 256;
    if ($STATX && syscall($STATX, $HERE, "$name", $NO_FOLLOW, 0x7ff, $got) == 0) {
        return [unpack('S', substr $got, 28, 2) & 07777, unpack 'qL', substr $got, 112, 12];
    }
    my @found = lstat $name;
    return [$found[2] & 07777, $found[9], 0];
}

sub stamp {
    my ($name, $seconds, $nanoseconds) = @_;
    if (!$UTIMENSAT) { utime $seconds, $seconds, $name if !-l $name; return }
    my $times = pack 'q4', 0, 0x3ffffffe, $seconds, $nanoseconds;
    syscall($UTIMENSAT, $HERE, "$name", $times, $NO_FOLLOW) == 0 or refused();
}

sub finish {
    my ($name, $mode, @time) = @_;
    chmod $mode & 07777, $name or refused();
    stamp($name, @time);
}

sub leave {
    my ($name, $kept) = (pop @at, pop @kept);
    chdir '..' or die "a directory cannot be left: $!\n";
    return if !$kept;
    eval { finish($name, @$kept); 1 } or tell_failure(join('/', @at, $name), $@);
}

sub leave_all {
    leave() while @at;
    # It was there before, and keeps its mode.
    stamp('.', @$top) if $top;
}

sub descend {
    my ($name) = @_;
    my $kept;
    if (lstat $name) {
        die "its way leads through what is no directory\n" if !-d _;
        $kept = look($name);
        chmod $kept->[0] | 0700, $name or refused() if ($kept->[0] & 0700) != 0700;
    }
    else { mkdir $name, 0777 or refused() }
    chdir $name or refused();
    push @at, $name;
    push @kept, $kept;
}

sub enter {
    my (@way) = @_;
    my $same = 0;
    $same++ while $same < @way && $same < @at && $way[$same] eq $at[$same];
    leave() while @at > $same;
    descend($_) for @way[$same .. $#way];
}

sub way_of {
    my ($name) = @_;
    my @way = grep { $_ ne '' && $_ ne '.' } split m{/}, $name;
    die "it leads out of the archive\n" if grep { $_ eq '..' } @way;
    return @way;
}

# ---- Entries

sub make_room {
    my ($name) = @_;
    return if !lstat $name;
    (-d _ ? rmdir $name : unlink $name) or refused();
}

sub copy {
    my ($file, $count, $left) = @_;
    broken('a file has more pieces than bytes') if $count > $$left;
    while ($count > 0) {
        my $bytes = take($count < $CHUNK ? $count : $CHUNK);
        $$left -= length $bytes;
        $count -= length $bytes;
        for (my $done = 0; $done < length $bytes;) {
            my $put = syswrite $file, $bytes, length($bytes) - $done, $done;
            defined $put or refused();
            $done += $put;
        }
    }
}

sub make_file {
    my ($name, $entry, $left) = @_;
    make_room($name);
    sysopen my $file, $name, 0301, 0600 or refused();
    if ($entry->{pieces}) {
        my @pieces = @{$entry->{pieces}};
        while (my ($offset, $count) = splice @pieces, 0, 2) {
            sysseek $file, $offset, 0 or refused();
            copy($file, $count, $left);
        }
        truncate $file, $entry->{real} or refused();
    }
    else { copy($file, $$left, $left) }
    close $file or refused();
}

sub make {
    my ($type, $entry, $left) = @_;
    my @way = way_of($entry->{name});
    my @end = ($entry->{mode}, @{$entry->{time}});
    if ($type eq '5' || $type eq 'D' || !@way) {
        die "the top is no directory\n" if $type !~ /[5D]/;
        enter(@way[0 .. $#way - 1]);
        if (@way) {
            make_room($way[-1]) if lstat $way[-1] and !-d _;
            descend($way[-1]);
            $kept[-1] = \@end;
        }
        else { enter(); $top = $entry->{time} }
        return;
    }
    my $name = pop @way;
    if ($type eq '1') {
        my @target = way_of($entry->{link});
        my $last = pop @target;
        enter(@target);
        open my $there, '<', '.' or refused();
        enter(@way);
        # A link to itself.
        return if "@target/$last" eq "@way/$name";
        make_room($name);
        # It may have been closed when it was left.
        my $mode = (stat $there)[2] & 07777;
        chmod $mode | 0700, $there or refused();
        my $linked = link '/proc/self/fd/' . fileno($there) . "/$last", $name;
        my $why = $!;
        chmod $mode, $there or refused();
        $! = $why;
        refused() if !$linked;
        return;
    }
    enter(@way);
    if ($type eq '2') {
        make_room($name);
        symlink $entry->{link}, $name or refused();
        return stamp($name, @end[1, 2]);
    }
    if ($type eq '6') {
        make_room($name);
        $MKNODAT && syscall($MKNODAT, $HERE, "$name", 010600, 0) == 0 or refused();
    }
    elsif ($type eq '3' || $type eq '4') { die "it is a device\n" }
    else { make_file($name, $entry, $left) }
    finish($name, @end);
}

my (%every, %next, $entries);
while (available(512) > 0) {
    my $header = take(512);
    last if $header !~ /[^\0]/;
    my ($name, $mode, $size, $mtime, $sum, $type, $link, $magic, $prefix) =
        unpack 'Z100 a8 x16 a12 a12 a8 a1 Z100 a8 x80 Z155', $header;
    my $found = unpack('%32C148', $header) + 256 + unpack '%32C*', substr $header, 156;
    broken($entries ? 'a header has another sum than it says' : 'it is no tar') if $found != number($sum);
    $entries++;
    $size = number($size);
    broken('a size is negative') if $size < 0;
    if ($type eq 'L' || $type eq 'K') {
        ($next{$type eq 'L' ? 'path' : 'linkpath'}) = take_header($size) =~ /^([^\0]*)/;
        next;
    }
    if ($type eq 'x' || $type eq 'X') { records(take_header($size), \%next); next }
    if ($type eq 'g') { records(take_header($size), \%every); next }
    my %about = (%every, %next);
    %next = ();
    $size = $about{size} + 0 if defined $about{size} && $about{size} =~ /^\d+$/;
    $name = "$prefix/$name" if $magic =~ /^ustar\0/ && $prefix ne '';
    $type = '5' if $type =~ /[\0-]/ && $name =~ m{/\z};
    $size = 0 if $type =~ /[12345]/;
    my $left = $size;
    my $entry = {
        name => $about{'GNU.sparse.name'} // $about{path} // $name,
        link => $about{linkpath} // $link,
        mode => number($mode),
        time => [time_of($about{mtime} // number($mtime))],
        pieces => $about{pieces},
    };
    my $rest = padding($size);
    if ($type eq 'S') { @$entry{qw(pieces real)} = (pieces_of_gnu($header), number(substr $header, 483, 12)) }
    elsif (($about{'GNU.sparse.major'} // '') eq '1') { $entry->{pieces} = pieces_of_data(\$left) }
    elsif (defined $about{'GNU.sparse.map'}) { $entry->{pieces} = [split /,/, $about{'GNU.sparse.map'}] }
    $entry->{real} //= $about{'GNU.sparse.realsize'} // $about{'GNU.sparse.size'} // $size;
    if ($type ne 'V') {
        eval { make($type, $entry, \$left); 1 } or tell_failure($entry->{name}, $@);
    }
    skip($left + $rest);
}
broken('there is nothing in it') if !$entries;
# What decompresses has its last word when all of it was taken, and that is little.
for (my $more = 64; $more && !$over; $more--) {
    $begin = length $buffer;
    available(1);
}
my $whole = $over;
if (!close($in) && $whole && @FILTER) { broken('it cannot be decompressed') }
leave_all();
print STDERR 'and ', $failures - $MOST_TOLD, " more\n" if $failures > $MOST_TOLD;
exit($failures ? 1 : 0);
