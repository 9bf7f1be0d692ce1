// The tensor view in Chromium: the extension runs in Node.js against a small part of the editor's interface, with the real adapter behind it
// and the real page before it. Ends with 1 if anything is not as it should be.

const assert = require("assert");
const fs = require("fs");
const http = require("http");
const path = require("path");
const { Browser } = require("./browser");
const { EXTENSION, editor } = require("./editor");
const { theme } = require("./theme");

const [program, model, pictures] = process.argv.slice(2);
const MIME = { ".css": "text/css", ".js": "text/javascript" };

// Serves the page, and the files that the extension shows it.
async function serve(page) {
  const server = http.createServer((request, answer) => {
    const file = path.join(EXTENSION, path.normalize(request.url));
    if (request.url === "/page") {
      answer.setHeader("Content-Type", "text/html");
      answer.end(page());
    } else if (path.dirname(file) === path.join(EXTENSION, "view") && fs.existsSync(file)) {
      answer.setHeader("Content-Type", MIME[path.extname(file)]);
      answer.end(fs.readFileSync(file));
    } else {
      answer.statusCode = 404;
      answer.end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

// What the editor gives to a page.
function given() {
  window.sent = [];
  window.violations = [];
  addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
  let state;
  window.acquireVsCodeApi = () => ({
    getState: () => state,
    setState: (changed) => (state = changed),
    postMessage: (message) => window.sent.push(message),
  });
}

// The page of a panel, in the browser.
class Page {
  constructor(browser, panel) {
    Object.assign(this, { browser, panel });
  }

  // Passes messages on until a function of the page returns something else than `false`.
  async until(what, body, ...args) {
    for (let turn = 0; turn < 500; turn += 1) {
      const out = this.panel.outbox.splice(0);
      const sent = await this.browser.run((messages) => {
        for (const message of messages) window.postMessage(message, "*");
        return window.sent.splice(0);
      }, out);
      sent.forEach((message) => this.panel.received(message));
      if (sent.length === 0 && out.length === 0) {
        const found = await this.browser.run(body, ...args);
        if (found !== false && found !== null) return found;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const shown = await this.browser.run(() => document.body.innerText);
    throw new Error(`${what} did not come; the page says:\n${shown}`);
  }

  text(id) {
    return this.browser.run((id) => document.getElementById(id).textContent, id);
  }

  // Waits for the slice that the page shows: the elements are those of the last request, and drawn.
  shows(place, rows, columns) {
    return this.until(`the picture ${place}, ${rows} x ${columns}`, (place, rows, columns) => {
      const canvas = document.getElementById("heatmap");
      const isThere = document.getElementById("place").textContent === place && !document.body.classList.contains("old");
      return isThere && canvas.height === rows && canvas.width === columns && canvas.style.width !== "";
    }, place, rows, columns);
  }

  pixel(row, column) {
    return this.browser.run((row, column) => {
      return Array.from(document.getElementById("heatmap").getContext("2d").getImageData(column, row, 1, 1).data).slice(0, 3);
    }, row, column);
  }

  // Types a number into a control.
  choose(name, value) {
    return this.browser.run((name, value) => {
      const input = document.querySelector(`input[name="${name}"]`);
      input.value = value;
      input.dispatchEvent(new Event("change"));
    }, name, value);
  }

  // Points at an element of the window, and returns what the page says of it. Waits until that begins with a text.
  hover(row, column, begin = "") {
    return this.until(`${begin} at ${row}, ${column}`, (row, column, begin) => {
      const canvas = document.getElementById("heatmap");
      const area = canvas.getBoundingClientRect();
      const [width, height] = [area.width / canvas.width, area.height / canvas.height];
      const place = { clientX: area.left + (column + 0.5) * width, clientY: area.top + (row + 0.5) * height };
      canvas.dispatchEvent(new MouseEvent("mousemove", place));
      const said = document.getElementById("readout").textContent;
      return said.startsWith(begin) && said;
    }, row, column, begin);
  }

  async picture(name) {
    if (pictures) await this.browser.picture(path.join(pictures, `${name}.png`));
  }
}

async function launch(code, batch, breakpoints) {
  const session = code.start();
  await session.customRequest("initialize", {});
  await session.customRequest("launch", { program: model, args: [`--dym-shape=image:${batch},1,8,8`] });
  await session.event("initialized");
  await session.customRequest("setFunctionBreakpoints", { breakpoints: breakpoints.map((name) => ({ name })) });
  await session.customRequest("configurationDone", {});
  return { session, threadId: (await session.event("stopped")).threadId };
}

async function main() {
  let panel;
  const server = await serve(() => panel.webview.html);
  const origin = `http://127.0.0.1:${server.address().port}`;
  const code = editor(program, origin);
  const browser = new Browser();
  await browser.open(900, 1000);
  try {
    const show = code.commands["opscope.showTensor"];
    await show();
    assert.match(code.errors.pop(), /No debug session/);

    // A variable of a stopped run is shown where it is, and NaN and infinities have colours of their own.
    const { session, threadId } = await launch(code, 300, ["MaxPool", "Gemm", "Softmax"]);
    const [frame] = (await session.customRequest("stackTrace", { threadId })).stackFrames;
    const [inputs] = (await session.customRequest("scopes", { frameId: frame.id })).scopes;
    const [variable] = (await session.customRequest("variables", inputs)).variables;
    const element = { variablesReference: variable.variablesReference };
    for (const [name, value] of [["[0, 2, 0, 0]", "nan"], ["[0, 2, 0, 1]", "inf"], ["[0, 2, 0, 2]", "-inf"], ["[0, 2, 0, 3]", "-0.1"]]) {
      await session.customRequest("setVariable", { ...element, name, value });
    }
    await show({ sessionId: session.id, container: inputs, variable: { ...variable, evaluateName: "input[0][0, 2, 3, 4]" } });
    assert.deepStrictEqual(code.errors, []);
    [panel] = code.panels;
    await browser.before(given);
    await browser.goto(`${origin}/page`);
    await browser.run(theme, "dark");
    const page = new Page(browser, panel);
    await page.shows("before /pool2/MaxPool (MaxPool)", 8, 8);
    assert.strictEqual(await page.text("reference"), "input[0]");
    assert.strictEqual(await page.text("form"), "float32 [300, 16, 8, 8]");
    assert.match(await page.text("readout"), /^input\[0\]\[0, 2, 3, 4\] = /);
    assert.deepStrictEqual([await page.pixel(0, 0), await page.pixel(0, 1), await page.pixel(0, 2)], [[255, 0, 255], [255, 140, 0], [0, 255, 255]]);
    assert.strictEqual(await page.hover(0, 0), "input[0][0, 2, 0, 0] = NaN");
    assert.strictEqual(await page.hover(0, 2), "input[0][0, 2, 0, 2] = -inf");
    assert.strictEqual(await page.hover(0, 3), "input[0][0, 2, 0, 3] = -0.1");
    const exact = (await session.customRequest("evaluate", { expression: "input[0][0, 2, 7, 5]", frameId: frame.id })).result;
    assert.strictEqual(Number((await page.hover(7, 5)).split(" = ")[1]), Number(exact));
    assert.match(await page.text("statistics"), /elements307,200.*NaN1infinite2/);
    assert.match(await page.text("specials"), /NaN: 1inf: 1-inf: 1/);
    const counted = await browser.run(() => Array.from(document.querySelectorAll(".column title"), (title) => Number(title.textContent.split(": ")[1].replaceAll(",", ""))));
    assert.strictEqual(counted.reduce((sum, count) => sum + count, 0), 307_200 - 3);
    await page.picture("special-dark");
    await page.choose("axis 1", 15);
    await page.choose("axis 0", 299);
    await page.hover(0, 0, "input[0][299, 15, 0, 0] = ");
    assert.match(await page.text("specials"), /^NaN: 0/);
    await page.choose("axis 0", 9999);
    assert.strictEqual(await browser.run(() => document.querySelector('input[name="axis 0"]').value), "299");

    // The view follows the run. A tensor that is not there any more is said to be missing.
    await session.customRequest("continue", { threadId });
    await session.event("stopped");
    await page.shows("before /pool3/MaxPool (MaxPool)", 4, 4);
    assert.strictEqual(await page.text("form"), "float32 [300, 32, 4, 4]");

    // Of a large matrix there is a window that moves.
    await session.customRequest("continue", { threadId });
    await session.event("stopped");
    await page.until("a matrix", () => document.getElementById("heatmap").height === 256);
    assert.match(await page.text("form"), /^float32 \[300, \d+\]$/);
    await browser.run(() => document.querySelector('button[title="Down"]').click());
    await page.until("the rest", () => document.querySelector('input[name="first row"]').value === "44");
    await page.hover(255, 0, "input[0][299, 0] = ");
    await browser.run((value) => {
      document.getElementById("range").value = value;
      document.getElementById("range").dispatchEvent(new Event("change"));
      document.getElementById("logarithmic").click();
    }, "window");
    await browser.run(theme, "light");
    await page.picture("matrix-light");

    // The command asks for a reference. A part of a tensor opens the tensor.
    code.answers.push("nothing");
    await show();
    assert.match(code.panels.length === 1 && panel.webview.html, /Tensor/);
    code.answers.push("weight[0][1]");
    await show();
    assert.strictEqual(code.panels.length, 2);
    const other = new Page(browser, (panel = code.panels[1]));
    await browser.goto(`${origin}/page`);
    await browser.run(theme, "dark");
    await other.until("a weight", () => document.getElementById("reference").textContent === "weight[0]" && document.getElementById("heatmap").width > 1);
    await other.picture("weight-dark");

    // What is said when the run continues, and when the session ends. The next session is followed.
    await session.customRequest("setFunctionBreakpoints", { breakpoints: [] });
    await session.customRequest("continue", { threadId });
    await session.event("terminated");
    await other.until("the run goes on", () => document.getElementById("state").textContent.includes("is not stopped"));
    code.end(session);
    await other.until("the end", () => document.getElementById("state").textContent.includes("has ended"));
    await other.picture("ended-dark");
    const next = await launch(code, 2, ["Softmax"]);
    await other.until("no such tensor", () => document.getElementById("state").className === "missing" && document.getElementById("state").textContent);
    await next.session.customRequest("setFunctionBreakpoints", { breakpoints: [] });
    code.end(next.session);
    assert.deepStrictEqual(await browser.run(() => window.violations), []);
    console.log("the tensor view went through two sessions");
  } finally {
    await browser.close();
    server.close();
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
