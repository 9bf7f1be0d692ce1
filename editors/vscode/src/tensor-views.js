// The views of tensors that are open, the sessions that they follow, and the command that opens them.

const vscode = require("vscode");
const { split } = require("./reference");
const { Stops } = require("./stops");
const { TensorView } = require("./tensor-view");

class TensorViews {
  #context;
  #sessions = new Map();
  #views = new Set();

  constructor(context) {
    this.#context = context;
    context.subscriptions.push(
      vscode.commands.registerCommand("opscope.showTensor", (variable) => this.#show(variable)),
      vscode.debug.registerDebugAdapterTrackerFactory("opscope", {
        createDebugAdapterTracker: (session) => this.#track(session),
      }),
      vscode.debug.onDidTerminateDebugSession((session) => this.#ended(session)),
    );
  }

  #track(session) {
    const stops = new Stops(() => this.#views.forEach((view) => view.follow(session, stops)));
    this.#sessions.set(session.id, { session, stops });
    return {
      onWillReceiveMessage: (message) => stops.received(message),
      onDidSendMessage: (message) => stops.sent(message),
    };
  }

  #ended(session) {
    const known = this.#sessions.get(session.id);
    if (!known) return;
    this.#sessions.delete(session.id);
    this.#views.forEach((view) => view.ended(known.session));
  }

  // Opens a view. Without a variable, which the menu of the variables gives, the reference is asked for.
  async #show(variable) {
    const known = this.#sessions.get(variable?.sessionId ?? vscode.debug.activeDebugSession?.id);
    if (!known) {
      vscode.window.showErrorMessage("No debug session of opscope is active.");
      return;
    }
    const reference = variable ? variable.variable?.evaluateName : await askForReference();
    if (!variable && reference === undefined) return;
    const found = split(reference ?? "");
    if (!found) {
      vscode.window.showErrorMessage(`'${reference ?? variable.variable?.name}' is not a tensor. Right is, for example, output[0].`);
      return;
    }
    const { session, stops } = known;
    const item = vscode.debug.activeStackItem;
    const thread = item?.session.id === session.id ? item.threadId : undefined;
    const open = [...this.#views].find((view) => view.shows(session, found.tensor));
    if (open) {
      await open.reveal(found.index, thread);
      return;
    }
    const view = new TensorView(this.#context, { session, stops, thread, ...found });
    this.#views.add(view);
    view.onClosed(() => this.#views.delete(view));
  }
}

function askForReference() {
  return vscode.window.showInputBox({
    title: "opscope: Show Tensor",
    prompt: 'A tensor where the run is stopped: input[0], output[0], weight[0], value("name")',
    value: "output[0]",
    validateInput: (text) => (split(text) ? undefined : 'Right is, for example, output[0] or value("logits").'),
  });
}

module.exports = { TensorViews };
