'use strict';
// Replies to each message with its text in capitals, after a wait as for a slow service. Node waits for a hundred of
// them at once in one process (wpool.yaml). Run it: wpool serve samples/javascript/wpool.yaml
const { setTimeout: wait } = require('node:timers/promises');
const { Rejected, run } = require('./worker');

const SERVICE_MS = Number(process.env.SERVICE_MS ?? 50);
const LONG = 500; // characters

run(async ({ body, progress, signal }) => {
  if (typeof body !== 'string') throw new Rejected('the body is not text');
  if (body.length > LONG) progress(`a text of ${body.length} characters`);
  await wait(SERVICE_MS, undefined, { signal }); // throws as soon as the task is cancelled
  return body.toUpperCase();
});
