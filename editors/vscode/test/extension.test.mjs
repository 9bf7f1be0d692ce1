import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { split } = require("../src/reference.js");
const { Stops } = require("../src/stops.js");
const { bitsOf, read } = require("../src/tensor-source.js");
const { tensorPage } = require("../src/tensor-page.js");

test("a reference is a tensor and an index in it", () => {
  const cases = [
    ["output[0]", "output[0]", []],
    [" input ", "input", []],
    ["output[0][3, 0, 7]", "output[0]", [3, 0, 7]],
    ["weight[2][1, :4]", "weight[2]", [1]],
    ['value("a[0] \\" b")[2]', 'value("a[0] \\" b")', [2]],
    ["output[0][..., -1]", "output[0]", []],
  ];
  for (const [text, tensor, index] of cases) assert.deepEqual(split(text), { tensor, index }, text);
  for (const text of ["", "max(output[0])", "outputs", "output[0] + 1", "kernel_shape"]) assert.equal(split(text), undefined, text);
});

test("a run that continues is not stopped, unless the adapter refuses it", () => {
  let changes = 0;
  const stops = new Stops(() => (changes += 1));
  const stop = (threadId) => stops.sent({ type: "event", event: "stopped", body: { threadId } });
  const resume = (seq, command, threadId, success = true) => {
    stops.received({ type: "request", seq, command, arguments: { threadId } });
    stops.sent({ type: "response", request_seq: seq, command, success });
  };
  stop(1);
  stop(2);
  assert.deepEqual(stops.threads, [1, 2]);
  resume(7, "next", 1);
  assert.deepEqual(stops.threads, [2]);
  resume(8, "continue", 2, false);
  resume(9, "variables", 2);
  assert.deepEqual(stops.threads, [2]);
  stop(1);
  stop(2);
  assert.deepEqual(stops.threads, [1, 2]);
  stops.sent({ type: "event", event: "thread", body: { reason: "exited", threadId: 2 } });
  stops.sent({ type: "event", event: "thread", body: { reason: "exited", threadId: 9 } });
  assert.deepEqual(stops.threads, [1]);
  assert.equal(changes, 6);
});

test("as many bytes are read as the elements have", async () => {
  const counts = [["float32", 4, 16], ["bfloat16", 3, 6], ["float8e5m2", 3, 3], ["float4e2m1", 3, 2], ["int4", 5, 3], ["bool", 2, 2], ["complex128", 1, 16]];
  for (const [dtype, elements, bytes] of counts) {
    const asked = [];
    const ask = async (command, body) => {
      asked.push([command, body]);
      if (command === "readMemory") return { data: "AAAA" };
      return { statistics: { dtype, shape: [elements], count: elements }, memoryReference: "5" };
    };
    assert.deepEqual(await read(ask, 3, "input[0]", "[0:2]"), { dtype, shape: [elements], data: "AAAA" });
    assert.deepEqual(asked, [
      ["opscope/tensor", { expression: "input[0][0:2]", frameId: 3 }],
      ["readMemory", { memoryReference: "5", offset: 0, count: bytes }],
    ]);
  }
  assert.equal(bitsOf("string"), 0);
});

test("the page may load its own style and script and nothing else", () => {
  const page = tensorPage({ policy: "https://own.example", nonce: "abc", style: "https://own.example/s.css", script: "https://own.example/m.js" });
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)[1];
  assert.equal(
    policy,
    "default-src 'none'; style-src https://own.example; script-src 'nonce-abc'; base-uri 'none'; form-action 'none'",
  );
  assert.ok(!/ on[a-z]+=| style=|<script>/.test(page));
});
