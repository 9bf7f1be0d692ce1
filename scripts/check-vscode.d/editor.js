// The part of Visual Studio Code's interface that the extension uses, so that it runs without the editor.

const Module = require("module");
const path = require("path");
const { Session } = require("./session");

const EXTENSION = path.join(__dirname, "../../editors/vscode");

// Loads the extension. `command` is the path of opscope, and `origin` is where the page's files are served.
function editor(command, origin) {
  const registered = { commands: {}, panels: [], errors: [], answers: [], ended: [] };
  const disposable = { dispose() {} };
  const vscode = {
    DebugAdapterExecutable: class {
      constructor(command, args) {
        Object.assign(this, { command, args });
      }
    },
    ViewColumn: { Beside: -2 },
    Uri: { joinPath: (base, ...parts) => path.join(base, ...parts) },
    commands: {
      registerCommand: (name, run) => ((registered.commands[name] = run), disposable),
    },
    debug: {
      activeDebugSession: undefined,
      activeStackItem: undefined,
      onDidTerminateDebugSession: (listener) => (registered.ended.push(listener), disposable),
      registerDebugAdapterDescriptorFactory: (type, factory) => ((registered.adapters = factory), disposable),
      registerDebugAdapterTrackerFactory: (type, factory) => ((registered.trackers = factory), disposable),
    },
    window: {
      createWebviewPanel: () => {
        const panel = new Panel(origin);
        registered.panels.push(panel);
        return panel;
      },
      showErrorMessage: (text) => registered.errors.push(text),
      showInputBox: async ({ validateInput }) => {
        const answer = registered.answers.shift();
        registered.refusal = validateInput(answer);
        return registered.refusal ? undefined : answer;
      },
    },
    workspace: { getConfiguration: () => ({ get: () => command }) },
  };
  const load = Module._load;
  Module._load = (name, ...others) => (name === "vscode" ? vscode : load(name, ...others));
  require(EXTENSION).activate({ subscriptions: [], extensionUri: EXTENSION });
  Module._load = load;
  let sessions = 0;
  return {
    ...registered,
    vscode,
    // Starts a debug session, and becomes its active one.
    start() {
      const tracked = (session) => registered.trackers.createDebugAdapterTracker(session);
      const descriptor = registered.adapters.createDebugAdapterDescriptor({});
      vscode.debug.activeDebugSession = new Session(`session ${++sessions}`, descriptor, tracked);
      return vscode.debug.activeDebugSession;
    },
    end(session) {
      session.end();
      vscode.debug.activeDebugSession = undefined;
      registered.ended.forEach((listener) => listener(session));
    },
  };
}

// A panel whose page is somewhere else: `outbox` has the messages for it.
class Panel {
  outbox = [];
  #listeners = [];

  constructor(origin) {
    this.webview = {
      html: "",
      cspSource: origin,
      asWebviewUri: (file) => `${origin}/${path.relative(EXTENSION, file)}`,
      onDidReceiveMessage: (listener) => this.#listeners.push(listener),
      postMessage: (message) => this.outbox.push(message),
    };
  }

  onDidDispose() {}
  reveal() {}

  // Passes on a message of the page.
  received(message) {
    this.#listeners.forEach((listener) => listener(message));
  }
}

module.exports = { EXTENSION, editor };
