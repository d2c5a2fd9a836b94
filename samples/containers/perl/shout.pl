#!/usr/bin/perl

# Replies to each message with its text in capitals. It needs only what comes with Perl: the MessagePack of Debian's
# packages does not decode every type that a task may contain (worker-sdk/PROTOCOL.md, section 12).

use strict;
use warnings;

use IO::Socket::UNIX;

defined(my $address = <STDIN>) or exit 0;
chomp $address;
my $pipe = IO::Socket::UNIX->new(Peer => $address) or die "cannot connect to $address: $!\n";
binmode $pipe;
$pipe->autoflush;

until (eof $pipe) {
    my $task = decode(take($pipe, unpack 'N', take($pipe, 4)));

    utf8::decode(my $text = $task->{0});
    $text = uc $text;
    utf8::encode($text);

    # The map {"0": text, "1": 201}.
    my $answer = "\x82\xa10" . pack('C N/a*', 0xdb, $text) . "\xa11\xcc\xc9";
    print $pipe pack('N/a*', $answer) or die "cannot answer: $!\n";
}

# Read exactly that many bytes.
sub take {
    my ($handle, $size) = @_;

    my $got = read $handle, my ($bytes), $size;
    die "cannot read: $!\n" if !defined $got;
    die "the data ends too early\n" if $got < $size;
    return $bytes;
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
