// A headless Chromium, driven over chromedriver's WebDriver interface.

const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

class Browser {
  #driver;
  #profile;
  #address;

  async open(width, height) {
    this.#profile = fs.mkdtempSync(path.join(os.tmpdir(), "opscope-vscode-"));
    this.#driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "ignore"] });
    const port = await new Promise((resolve, reject) => {
      let said = "";
      this.#driver.on("error", reject);
      this.#driver.stdout.on("data", (text) => {
        said += text;
        const found = /started successfully on port (\d+)/.exec(said);
        if (found) resolve(found[1]);
      });
    });
    this.#address = `http://127.0.0.1:${port}/session`;
    const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
    args.push(`--window-size=${width},${height}`, `--user-data-dir=${this.#profile}`);
    const session = await this.#ask("", { capabilities: { alwaysMatch: { "goog:chromeOptions": { args } } } });
    this.#address += `/${session.sessionId}`;
  }

  async close() {
    if (this.#address) await fetch(this.#address, { method: "DELETE" });
    this.#driver.kill();
    await new Promise((resolve) => this.#driver.on("exit", resolve));
    fs.rmSync(this.#profile, { recursive: true, force: true });
  }

  goto(url) {
    return this.#ask("/url", { url });
  }

  // Runs a function in the page, or in the frame that was entered, and returns its result.
  run(body, ...args) {
    return this.#ask("/execute/sync", { script: `return (${body}).apply(null, arguments);`, args });
  }

  // Runs a function before the scripts of each page.
  before(body) {
    return this.command("Page.addScriptToEvaluateOnNewDocument", { source: `(${body})();` });
  }

  command(cmd, params) {
    return this.#ask("/goog/cdp/execute", { cmd, params });
  }

  // Enters a frame, an element as `run` returns it; the whole page if it is `null`.
  enter(id) {
    return this.#ask("/frame", { id });
  }

  // Presses keys, as WebDriver names them.
  type(text) {
    const actions = [...text].flatMap((value) => ["keyDown", "keyUp"].map((type) => ({ type, value })));
    return this.#ask("/actions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  // Presses keys at the same time.
  press(...keys) {
    const actions = [...keys.map((value) => ({ type: "keyDown", value })), ...keys.reverse().map((value) => ({ type: "keyUp", value }))];
    return this.#ask("/actions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  // Moves the mouse to a point, counted from the middle of an element or in the `viewport`, and presses a button: 0 the left, 2 the right one.
  point(element, x, y, button) {
    const actions = [{ type: "pointerMove", origin: element, x, y, duration: 0 }];
    if (button !== undefined) actions.push({ type: "pointerDown", button }, { type: "pointerUp", button });
    return this.#ask("/actions", { actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  async picture(file) {
    const data = await this.command("Page.captureScreenshot", { format: "png" });
    fs.writeFileSync(file, Buffer.from(data.data, "base64"));
  }

  async #ask(where, body) {
    const answer = await fetch(this.#address + where, { method: "POST", body: JSON.stringify(body) });
    const { value } = await answer.json();
    if (value?.error) throw new Error(`${where}: ${value.message}`);
    return value;
  }
}

module.exports = { Browser };
