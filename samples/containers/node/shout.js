// Replies to each message with its text in capitals.
const net = require('node:net');
const readline = require('node:readline');
const { decode, encode } = require('@msgpack/msgpack');

function answer(task) {
  const text = typeof task[0] === 'string' ? task[0] : Buffer.from(task[0]).toString();
  return { 0: text.toUpperCase(), 1: 201 };
}

function frame(map) {
  const body = encode(map);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

// The data pipe carries frames of four bytes of length and one map; they come in pieces of any size.
function serve(address) {
  const pipe = net.connect(address);
  let pieces = [];
  let size = 0;
  let wanted = 4;
  let isHead = true;

  pipe.on('data', (piece) => {
    pieces.push(piece);
    size += piece.length;
    if (size < wanted) return;
    let bytes = Buffer.concat(pieces);
    while (bytes.length >= wanted) {
      const part = bytes.subarray(0, wanted);
      bytes = bytes.subarray(wanted);
      if (!isHead) pipe.write(frame(answer(decode(part))));
      wanted = isHead ? part.readUInt32BE() : 4;
      isHead = !isHead;
    }
    pieces = [bytes];
    size = bytes.length;
  });
  pipe.on('end', () => process.exit(0));
}

// The first line on standard input is the address; the data pipe ends when the supervisor wants no more.
readline.createInterface({ input: process.stdin }).once('line', serve);
