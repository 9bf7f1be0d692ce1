// Debugs a model in the editor as a user does, by keys, menus and the mouse. Ends with 1 if anything is not as it should be.

const assert = require("assert");
const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");
const { Browser } = require("../check-vscode.d/browser");

const [program, scratch, pictures, ...server] = process.argv.slice(2);
const KEY = { enter: "\uE007", escape: "\uE00C", shift: "\uE008", f1: "\uE031", f5: "\uE035", f9: "\uE039", f10: "\uE03A" };
const PATIENCE = 60_000;

const LAUNCH = {
  version: "0.2.0",
  configurations: [
    {
      type: "opscope", request: "launch", name: "digits", program: "${workspaceFolder}/digits_cnn.onnx",
      args: ["--input=${workspaceFolder}/digits_cnn.input.image.npy"], stopOnEntry: true,
    },
  ],
};

// The editor asks no question, and looks for nothing elsewhere.
const SETTINGS = {
  "opscope.command": program,
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "extensions.ignoreRecommendations": true,
  "extensions.autoCheckUpdates": false,
  "telemetry.telemetryLevel": "off",
  "git.enabled": false,
  "debug.internalConsoleOptions": "neverOpen",
  "workbench.colorTheme": "Default Dark Modern",
};

function write(file, value) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify(value));
}

async function start() {
  write(path.join(scratch, "work/.vscode/launch.json"), LAUNCH);
  write(path.join(scratch, "user/User/settings.json"), SETTINGS);
  const options = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"];
  const env = { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}' };
  const child = spawn(process.execPath, [...server, ...options], { env, stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((resolve, reject) => {
    let said = "";
    child.on("exit", () => reject(new Error(`the editor's server has ended: ${said}`)));
    child.stdout.on("data", (text) => {
      said += text;
      const found = /listening on (http:\/\/[0-9.:]+)/.exec(said);
      if (found) resolve(found[1]);
    });
  });
  return { child, address };
}

class Editor {
  constructor(browser) {
    this.browser = browser;
  }

  // Waits until a function of the page returns something.
  async until(what, body, ...args) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
      const found = await this.browser.run(body, ...args).catch(() => undefined);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.picture("failed");
    throw new Error(`${what} did not come`);
  }

  // Starts the debugger by its key, which has no effect before the editor knows what can be debugged.
  async launch() {
    const isStarted = () => document.querySelector(".debug-toolbar") !== null;
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
      await this.browser.press(KEY.f5);
      for (let turn = 0; turn < 50; turn += 1) {
        if (await this.browser.run(isStarted)) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    await this.picture("failed");
    throw new Error("the debugger did not start");
  }

  async picture(name) {
    if (pictures) await this.browser.picture(path.join(pictures, `${name}.png`));
  }

  variable(name) {
    const find = (name) => Array.from(document.querySelectorAll(".debug-variables .monaco-list-row")).find((row) => row.textContent.startsWith(name));
    return this.until(`the variable ${name}`, find, name);
  }

  // Chooses an entry of the menu of an element.
  async choose(element, entry) {
    await this.browser.point(element, 0, 0, 2);
    const find = (entry) => {
      // The menu has a shadow root of its own.
      const roots = Array.from(document.querySelectorAll(".shadow-root-host"), (host) => host.shadowRoot);
      const labels = [document, ...roots].flatMap((root) => Array.from(root.querySelectorAll(".monaco-menu .action-label")));
      return labels.find((label) => label.textContent === entry);
    };
    const found = await this.until(`the entry ${entry}`, find, entry);
    // A menu takes no press in the moment in which it opens.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await this.picture("menu");
    await this.browser.point(found, 0, 0, 0);
    await this.rest();
  }

  // Moves the mouse to where nothing is explained.
  async rest() {
    await this.browser.point(await this.browser.run(() => document.querySelector(".part.statusbar")), 0, 0);
  }

  // Runs a function in the page of the tensor view that is shown, until it returns something.
  async view(what, body, ...args) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
      await this.browser.enter(null);
      try {
        // The editor wraps a view in two frames.
        for (const selector of ["iframe.webview.ready", "iframe#active-frame"]) {
          const visible = (selector) => Array.from(document.querySelectorAll(selector)).find((frame) => frame.getClientRects().length && getComputedStyle(frame).visibility !== "hidden");
          await this.browser.enter(await this.browser.run(visible, selector));
        }
        const found = await this.browser.run(body, ...args);
        if (found) return found;
      } catch {
        // It is not there yet.
      } finally {
        await this.browser.enter(null);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.picture("failed");
    throw new Error(`${what} did not come`);
  }
}

// What the view shows, if it is the tensor at that place.
function shown(tensor, place) {
  const text = (id) => document.getElementById(id).textContent;
  const canvas = document.getElementById("heatmap");
  if (text("reference") !== tensor || !text("place").includes(place) || !canvas.style.width || document.body.classList.contains("old")) return false;
  const pixels = Array.from(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
  const colours = new Set(pixels.map((_, index) => index).filter((index) => index % 4 === 0).map((index) => pixels.slice(index, index + 3).join()));
  return {
    form: text("form"), statistics: text("statistics"), size: [canvas.height, canvas.width], colours: colours.size,
    bars: document.querySelectorAll(".bar").length, background: getComputedStyle(document.body).backgroundColor,
  };
}

async function main() {
  const { child, address } = await start();
  const browser = new Browser();
  await browser.open(1500, 1000);
  const editor = new Editor(browser);
  try {
    await browser.goto(`${address}/?folder=${path.join(scratch, "work")}`);
    await editor.until("the editor", () => document.querySelector(".monaco-workbench .explorer-folders-view .monaco-list-row"));
    await editor.until("the files", () => document.querySelector(".explorer-folders-view").textContent.includes("digits_cnn.onnx"));
    await editor.launch();
    const input = await editor.variable("input[0]");
    await editor.choose(input, "Show Tensor");
    const first = await editor.view("the input", shown, "input[0]", "/conv1/Conv");
    assert.strictEqual(first.form, "float32 [8, 1, 8, 8]");
    assert.deepStrictEqual(first.size, [8, 8]);
    assert.ok(first.colours > 3 && first.bars > 2, JSON.stringify(first));
    assert.notStrictEqual(first.background, "rgba(0, 0, 0, 0)", "the colours are those of the theme");
    await editor.picture("input");

    // The view follows a step.
    await browser.press(KEY.f10);
    const second = await editor.view("the next stop", shown, "input[0]", "/bn1/BatchNormalization");
    assert.strictEqual(second.form, "float32 [8, 8, 8, 8]");
    await editor.picture("step");

    // A breakpoint on a line of the listing, where the view follows, too.
    const [x, y] = await editor.until("the listing", () => {
      const line = Array.from(document.querySelectorAll(".view-line")).find((line) => line.textContent.startsWith("/pool2/MaxPool"));
      const area = line.getBoundingClientRect();
      return [Math.round(area.left) + 40, Math.round(area.top) + 8];
    });
    await browser.point("viewport", x, y, 0);
    await browser.press(KEY.f9);
    await editor.until("the breakpoint", () => document.querySelector(".codicon-debug-breakpoint"));
    await browser.press(KEY.f5);
    const third = await editor.view("the breakpoint's stop", shown, "input[0]", "/pool2/MaxPool");
    assert.strictEqual(third.form, "float32 [8, 16, 8, 8]");
    await editor.until("the input", () => document.querySelector(".debug-variables").textContent.includes("float32 [8, 16, 8, 8]"));
    await editor.until("the breakpoint in the listing", () => document.querySelector(".glyph-margin-widgets .codicon-debug-breakpoint"));
    await editor.rest();
    await editor.picture("breakpoint");

    // By the palette of commands, which asks for a reference.
    await browser.press(KEY.f1);
    await editor.until("the palette", () => document.querySelector(".quick-input-widget input"));
    await browser.type("opscope: Show Tensor");
    await editor.until("the command", () => document.querySelector(".quick-input-list .monaco-list-row.focused")?.textContent.includes("Show Tensor"));
    await browser.press(KEY.enter);
    await editor.until("the question", () => document.querySelector(".quick-input-widget")?.textContent.includes("where the run is stopped"));
    await browser.type('value("/relu2/Relu_output_0")[5]');
    await browser.press(KEY.enter);
    await editor.view("the value", shown, 'value("/relu2/Relu_output_0")', "/pool2/MaxPool");
    await editor.view("its part", () => document.querySelector('input[name="axis 0"]').value === "5");
    await editor.picture("palette");

    await browser.press(KEY.shift, KEY.f5);
    await editor.view("the end", () => document.getElementById("state").textContent.includes("has ended"));
    await editor.picture("ended");
    const errors = await browser.run(() => Array.from(document.querySelectorAll(".notification-toast"), (toast) => toast.textContent));
    assert.deepStrictEqual(errors, []);
    console.log("the extension went through a session in the editor");
  } finally {
    await browser.close();
    child.kill();
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
