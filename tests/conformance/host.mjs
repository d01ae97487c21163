// Plays scenarios of the conformance suite one after the other in one process: loading the suite and its libraries
// takes several times as long as most scenarios.
//
//     node host.mjs SCRIPT
//
// Each line of input is a JSON array, the words of a command line of the suite; each line of output a JSON array of
// the exit code and all that was said. For each the program itself is loaded anew, its libraries are not. Ends with
// its input.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const script = process.argv[2];
const left = new Error('the program has left');
let said = [];
let leave = () => {};
let number = 0;

const hear = (text, ...more) => {
  said.push(String(text));
  more.find((one) => typeof one === 'function')?.();
  return true;
};
process.stdout.write = hear;
process.stderr.write = hear;

// What follows a call of exit must not run, and must not be heard of again where it runs all the same.
process.exit = (code) => {
  leave(Number(code ?? 0));
  throw left;
};
const fail = (error) => {
  if (error === left) return;
  said.push(`${error?.stack ?? error}\n`);
  leave(1);
};
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

const play = (words) =>
  new Promise((resolve) => {
    said = [];
    leave = (code) => {
      leave = () => {};
      resolve([code, said.join('')]);
      said = [];
    };
    process.argv = [process.execPath, script, ...words];
    number += 1;
    import(`${pathToFileURL(script)}?${number}`).catch(fail);
  });

for await (const line of createInterface({ input: process.stdin })) {
  const ended = await play(JSON.parse(line));
  writeSync(1, `${JSON.stringify(ended)}\n`);
}
process.reallyExit(0);
