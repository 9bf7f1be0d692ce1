// A whole session, from initialize to disconnect. Ends with 1 if anything is not as it should be.
const assert = require("assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [program, model] = process.argv.slice(2);

async function main() {
  const client = new DebugClient(program, "dap", "opscope");
  await client.start();
  const can = (await client.initializeRequest()).body;
  assert.ok(can.supportsDataBreakpoints && can.supportsReadMemoryRequest && can.exceptionBreakpointFilters.length === 3);
  const over = client.waitForEvent("terminated");
  const configured = client.waitForEvent("initialized").then(async () => {
    const set = await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: "MaxPool" }] });
    assert.ok(set.body.breakpoints[0].verified);
    await client.configurationDoneRequest();
  });
  const stopped = client.waitForEvent("stopped");
  await Promise.all([configured, client.launchRequest({ program: model })]);
  const { threadId, reason } = (await stopped).body;
  assert.strictEqual(reason, "breakpoint");
  const [frame] = (await client.stackTraceRequest({ threadId })).body.stackFrames;
  assert.strictEqual(frame.name, "before /pool2/MaxPool (MaxPool)");
  const listing = (await client.sourceRequest({ sourceReference: frame.source.sourceReference })).body.content;
  assert.ok(listing.split("\n")[frame.line - 1].includes("/pool2/MaxPool"));
  const [inputs] = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
  const [input] = (await client.variablesRequest(inputs)).body.variables;
  assert.strictEqual(input.type, "float32 [1, 16, 8, 8]");
  const page = { variablesReference: input.variablesReference, filter: "indexed", start: 1020, count: 100 };
  assert.strictEqual((await client.variablesRequest(page)).body.variables.length, 4);
  await client.setVariableRequest({ variablesReference: inputs.variablesReference, name: "input[0]", value: "0.5" });
  const most = await client.evaluateRequest({ expression: "max(input[0])", frameId: frame.id });
  assert.strictEqual(most.body.result, "0.5");
  const memory = { memoryReference: input.memoryReference, offset: 4092, count: 8 };
  const { data, unreadableBytes } = (await client.customRequest("readMemory", memory)).body;
  assert.deepStrictEqual([Buffer.from(data, "base64").readFloatLE(0), unreadableBytes], [0.5, 4]);
  const part = (await client.customRequest("opscope/tensor", { expression: "input[0][0, 3:, 0:2]", frameId: frame.id })).body;
  assert.deepStrictEqual(part.statistics.shape, [13, 2, 8]);
  assert.deepStrictEqual(part.histogram.bins, [{ from: 0.5, to: 1, count: 208 }]);
  const bytes = (await client.customRequest("readMemory", { memoryReference: part.memoryReference, count: 1024 })).body;
  assert.strictEqual(Buffer.from(bytes.data, "base64").length, 13 * 2 * 8 * 4);
  await client.setFunctionBreakpointsRequest({ breakpoints: [] });
  await client.continueRequest({ threadId });
  await over;
  await client.disconnectRequest({});
  console.log("the client of Visual Studio Code's tests went through a session");
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
