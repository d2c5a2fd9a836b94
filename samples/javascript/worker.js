'use strict';
// The pipe protocol of wpool, written from worker-sdk/PROTOCOL.md alone: run(handler) serves the tasks of one pool.
//
// handler(task) is async and returns the reply (a string or bytes), or nothing. Up to the pool's `concurrency` of them
// wait at the same time. A task has
//   body             a string, or a Buffer if it is not UTF-8
//   correlationId, queue, headers
//   session          the key of its session, or undefined: tasks with the same key come one at a time and in order
//   signal           an AbortSignal: the task is to be given up; pass it on, as in fetch(url, { signal })
//   progress(text)   a line for the supervisor's log
// A Rejected error answers 422: the task can never succeed. Any other error answers 500: it is retried.
const net = require('node:net');
const readline = require('node:readline');
const { decode, encode } = require('./msgpack');

const PROGRESS = -1;
const DONE = 200;
const REPLY = 201;
const REJECTED = 422;
const FAILED = 500;

class Rejected extends Error {}

// Cuts what comes in pieces of any size into frames. The pieces of a large frame are joined once, when it is whole.
class Frames {
  #pieces = [];
  #size = 0;
  #wanted = 4;
  #isHead = true;

  *take(piece) {
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
      const part = bytes.subarray(0, this.#wanted);
      this.#pieces = [bytes.subarray(this.#wanted)];
      this.#size -= this.#wanted;
      this.#wanted = this.#isHead ? part.readUInt32BE() : 4;
      this.#isHead = !this.#isHead;
      if (this.#isHead) yield part;
    }
  }

  get isBetween() {
    return this.#isHead && this.#size === 0;
  }
}

// Length and map in one write: no other frame comes between their bytes.
function send(pipe, id, output) {
  const map = encode({ ...output, 7: id });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(map.length);
  pipe.write(Buffer.concat([length, map]));
}

function answerOf(reply) {
  return reply === undefined ? { 1: DONE } : { 1: REPLY, 0: reply };
}

function answerOfError(error) {
  console.error(error);
  return { 1: error instanceof Rejected ? REJECTED : FAILED };
}

function serve(address, lines, handler) {
  const places = Number(process.env.WPOOL_CONCURRENCY ?? 1);
  const open = new Map(); // an AbortController for each task, by id
  const ahead = []; // tasks that came before there was a place: at concurrency 1, with `pipeline` above 1
  const frames = new Frames();
  // Half-open, because the supervisor ends its side first and still reads answers.
  const pipe = net.connect({ path: address, allowHalfOpen: true });
  let isEnding = false;

  async function work(task) {
    const id = task[7];
    const { signal } = open.get(id);
    const progress = (text) => open.has(id) && send(pipe, id, { 1: PROGRESS, 0: text });
    let answer;
    try {
      const [body, correlationId, queue, headers, session] = [task[0], task[1], task[2], task[3], task[4]];
      answer = answerOf(await handler({ body, correlationId, queue, headers, session, signal, progress }));
    } catch (error) {
      answer = answerOfError(error);
    }
    open.delete(id);
    send(pipe, id, answer);
    begin();
  }

  function begin() {
    while (open.size < places && ahead.length > 0) {
      const task = ahead.shift();
      open.set(task[7], new AbortController());
      work(task);
    }
    if (isEnding && open.size === 0) pipe.end(() => process.exit(0));
  }

  pipe.on('data', (piece) => {
    for (const frame of frames.take(piece)) ahead.push(decode(frame));
    begin();
  });
  pipe.on('end', () => {
    if (!frames.isBetween) process.exit(1); // the supervisor died while it wrote
    isEnding = true;
    begin();
  });
  pipe.on('error', () => process.exit(0)); // the supervisor is gone
  lines.on('close', () => process.exit(0)); // likewise
  lines.on('line', (line) => {
    const [word, id] = line.split(' ');
    if (word === '__cancel__') open.get(Number(id))?.abort();
  });
}

// The first line on standard input is the address of the data pipe, the others are control lines.
function run(handler) {
  const lines = readline.createInterface({ input: process.stdin });
  lines.once('line', (address) => serve(address, lines, handler));
}

module.exports = { Rejected, run };
