#!/usr/bin/perl

# Replies to each message with its text in capitals.

use strict;
use warnings;

use Data::MessagePack;
use IO::Socket::UNIX;

my $msgpack = Data::MessagePack->new->utf8;

chomp(my $address = <STDIN> // exit 0);
my $pipe = IO::Socket::UNIX->new(Peer => $address) or die "cannot connect to $address: $!\n";
binmode $pipe;
$pipe->autoflush;

until (eof $pipe) {
    my $task   = $msgpack->unpack(take(unpack 'N', take(4)));
    my $answer = $msgpack->pack({ 0 => uc $task->{0}, 1 => 201 });
    print $pipe pack('N/a*', $answer) or die "cannot answer: $!\n";
}

# Read exactly that many bytes.
sub take {
    my ($size) = @_;

    my $got = read $pipe, my ($bytes), $size;
    die "cannot read: $!\n" if !defined $got;
    die "the data ends too early\n" if $got < $size;
    return $bytes;
}
