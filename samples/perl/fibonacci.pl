#!/usr/bin/perl

# Answers remote calls for Fibonacci numbers. It needs only what comes with Perl.
#
#   WPOOL_DECLARE=on wpool serve --queue fibonacci -- perl samples/perl/fibonacci.pl
#   wpool request --queue fibonacci '{"Value": 8}'        # prints 21
#
# The protocol is described in worker-sdk/PROTOCOL.md; the section numbers are of that page.

use strict;
use warnings;

use Fcntl qw(O_WRONLY);
use IO::Handle;
use IO::Socket::UNIX;
use JSON::PP;

my $json = JSON::PP->new->utf8->allow_nonref;

# The first line on standard input is the address of the data pipe. The rest of standard input may stay unread:
# the supervisor also ends the data pipe when this worker should exit (section 8, the first way).
defined(my $address = <STDIN>) or exit 0;
chomp $address;
my ($in, $out) = open_data_pipe($address);

# One task, one answer, until the end of the pipe. An error of the pipe ends the process, by die or SIGPIPE; an
# error in between fails only one task.
until (eof $in) {
    my $task = decode(take($in, unpack 'N', take($in, 4)));

    my ($status, $text) = eval { work($task->{0}) };
    chomp(($status, $text) = (500, $@)) if $@;
    print STDERR "$status: $text\n" if $status >= 400;

    my $answer = encode($status, $text);
    print $out pack('N/a*', $answer) or die "cannot answer: $!\n";
}

# ---- The work ----

# From the body of a message to the status and the text of its answer.
sub work {
    my ($body) = @_;

    # A body can have 16 MiB, and parsing that much JSON can take a GiB of memory.
    length $body <= 65_536 or return 413, 'the body is too long';

    my $n = eval { $json->decode($body)->{Value} };

    # Perl treats "8" as a number. JSON does not, so ask JSON.
    $json->encode($n) =~ /^-?[0-9]+\z/ or return 400, 'expected {"Value": n} with an integer n';
    abs $n <= 20                       or return 422, "$n is not between -20 and 20";

    return 201, fibonacci($n);
}

sub fibonacci {
    my ($n) = @_;

    my ($this, $next) = (0, 1);
    ($this, $next) = ($next, $this + $next) for 1 .. abs $n;
    return $n < 0 && $n % 2 == 0 ? -$this : $this;
}

# ---- The data pipe (sections 3 and 4) ----

# A handle to read from and one to write to: the same socket twice, or two FIFOs.
sub open_data_pipe {
    my ($path) = @_;

    my ($in, $out);
    if (-e "$path.in") {
        open $in, '<', "$path.in" or die "cannot open $path.in: $!\n";
        sysopen $out, "$path.out", O_WRONLY or die "cannot open $path.out: $!\n";    # never creates a file, as '>' would
    } else {
        $path = "/tmp/CoreFxPipe_$path" if $path !~ m{^/};
        $in = $out = IO::Socket::UNIX->new(Peer => $path) or die "cannot connect to $path: $!\n";
    }
    binmode $_ for $in, $out;
    $out->autoflush;
    return $in, $out;
}

# Read exactly that many bytes. Perl's read, unlike sysread, repeats until it has them all.
sub take {
    my ($handle, $size) = @_;

    my $got = read $handle, my ($bytes), $size;
    die "cannot read: $!\n" if !defined $got;
    die "the data ends too early\n" if $got < $size;
    return $bytes;
}

# ---- MessagePack (section 12) ----

# An answer needs only this. Only 201 has a text; every status fits into 16 bits.
sub encode {
    my ($status, $text) = @_;

    my $encoded = "\xa1" . '1' . pack 'C n', 0xcd, $status;
    return "\x81$encoded" if $status != 201;
    return "\x82$encoded" . "\xa1" . '0' . pack 'C N/a*', 0xdb, $text;
}

# A task may contain any type, now or in a later version, so this is all of MessagePack.
sub decode {
    my ($frame) = @_;

    open my $in, '<:raw', \$frame or die "cannot read a frame: $!\n";
    my $map = decode_one($in);
    die "a frame that is not one map\n" if ref $map ne 'HASH' || !eof $in;
    return $map;
}

# The encoding of numbers and sizes: a template for unpack, by first byte.
my %template;
BEGIN {
    @template{ 0xc4 .. 0xc6 } = qw(C n N);                              # bin
    @template{ 0xc7 .. 0xc9 } = qw(C n N);                              # ext
    @template{ 0xca .. 0xd3 } = qw(f> d> C n N Q> c s> l> q>);          # float, unsigned, signed
    @template{ 0xd9 .. 0xdf } = qw(C n N n N n N);                      # str, array, map
}

sub decode_one {
    my ($in) = @_;

    my $first = ord take($in, 1);
    return $first                                if $first <= 0x7f;
    return decode_map($in, $first & 0x0f)        if $first <= 0x8f;
    return decode_array($in, $first & 0x0f)      if $first <= 0x9f;
    return take($in, $first & 0x1f)              if $first <= 0xbf;
    return undef                                 if $first == 0xc0;
    die "a byte that is not MessagePack\n"       if $first == 0xc1;
    return $first == 0xc3                        if $first <= 0xc3;
    return $first - 0x100                        if $first >= 0xe0;
    return decode_ext($in, 1 << $first - 0xd4)   if $first >= 0xd4 && $first <= 0xd8;

    my $template = $template{$first};
    my $number = unpack $template, take($in, length pack $template, 0);
    return take($in, $number)                    if $first <= 0xc6;
    return decode_ext($in, $number)              if $first <= 0xc9;
    return $number                               if $first <= 0xd3;
    return take($in, $number)                    if $first <= 0xdb;
    return decode_array($in, $number)            if $first <= 0xdd;
    return decode_map($in, $number);
}

sub decode_array {
    my ($in, $count) = @_;

    my @array;
    push @array, decode_one($in) for 1 .. $count;
    return \@array;
}

sub decode_map {
    my ($in, $count) = @_;

    my %map;
    for (1 .. $count) {
        my $key = decode_one($in);
        die "a key that is not text\n" if !defined $key || ref $key;
        $map{$key} = decode_one($in);
    }
    return \%map;
}

sub decode_ext {
    my ($in, $size) = @_;
    return { type => unpack('c', take($in, 1)), data => take($in, $size) };
}
