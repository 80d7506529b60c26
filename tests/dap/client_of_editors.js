// SPDX-License-Identifier: MIT
// The client that extensions of VS Code are tested with, at one recording:
//   node client_of_editors.js ADAPTER RECORDING SOURCE
// ADAPTER: a shell script that starts flowback.
'use strict';
const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

async function main([adapter, recording, source]) {
  const client = new DebugClient('/bin/sh', adapter, 'flowback');
  await client.start();
  const capabilities = (await client.initializeRequest()).body;
  assert(capabilities.supportsStepBack && capabilities.supportsConfigurationDoneRequest);
  const stopped = async (request) => {
    const event = client.waitForEvent('stopped');
    await request();
    return (await event).body;
  };
  const lineAt = async (threadId) =>
    (await client.stackTraceRequest({ threadId })).body.stackFrames[0].line;

  await Promise.all([
    client.launchRequest({ recording, at: 'end' }),
    client.waitForEvent('initialized'),
  ]);
  const text = require('fs').readFileSync(source, 'utf8').split('\n');
  const line = text.findIndex((each) => each.includes('int second')) + 1;
  const told = (await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [{ line }] })).body;
  assert(told.breakpoints[0].verified);
  const entry = await stopped(() => client.configurationDoneRequest());
  assert.strictEqual(entry.reason, 'entry');
  const threadId = (await client.threadsRequest()).body.threads[0].id;
  const back = await stopped(() => client.reverseContinueRequest({ threadId }));
  assert.strictEqual(back.reason, 'breakpoint');
  assert.strictEqual(await lineAt(threadId), line);
  await stopped(() => client.stepBackRequest({ threadId }));
  assert.strictEqual(await lineAt(threadId), line - 1);
  await stopped(() => client.nextRequest({ threadId }));
  assert.strictEqual(await lineAt(threadId), line);
  await stopped(() => client.stepOutRequest({ threadId }));
  assert.notStrictEqual(await lineAt(threadId), line);
  const frame = (await client.stackTraceRequest({ threadId })).body.stackFrames[0];
  const scopes = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
  assert(scopes.length > 0);
  await client.disconnectRequest();
}

main(process.argv.slice(2)).then(
  () => console.log('the client is content'),
  (error) => {
    console.error(error);
    process.exit(1);
  });
