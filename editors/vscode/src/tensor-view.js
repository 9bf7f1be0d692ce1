// A tensor of a debug session in a panel. It follows the session from stop to stop.

const { randomBytes } = require("crypto");
const vscode = require("vscode");
const { tensorPage } = require("./tensor-page");
const source = require("./tensor-source");

class TensorView {
  #panel;
  #tensor;
  #session;
  #stops;
  #thread;
  #index;
  // Counts the refreshes, so that answers to an earlier one are not shown.
  #turn = 0;
  #frame;
  #isClosed = false;

  // Opens the view of a tensor beside the editor. `thread` is the run whose tensor is meant, if it is known.
  constructor(context, { session, stops, tensor, index, thread }) {
    const folder = vscode.Uri.joinPath(context.extensionUri, "view");
    this.#session = session;
    this.#stops = stops;
    this.#tensor = tensor;
    this.#thread = thread;
    this.#index = index;
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.#panel = vscode.window.createWebviewPanel("opscope.tensor", tensor, column, {
      enableScripts: true,
      localResourceRoots: [folder],
    });
    const webview = this.#panel.webview;
    const address = (name) => webview.asWebviewUri(vscode.Uri.joinPath(folder, name)).toString();
    webview.onDidReceiveMessage((message) => this.#asked(message));
    webview.html = tensorPage({
      policy: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
      style: address("style.css"),
      script: address("main.js"),
    });
  }

  onClosed(closed) {
    this.#panel.onDidDispose(() => {
      this.#isClosed = true;
      closed();
    });
  }

  shows(session, tensor) {
    return this.#session === session && this.#tensor === tensor;
  }

  // Brings the panel to the front, at an element of the tensor.
  reveal(index, thread) {
    this.#index = index;
    this.#thread = thread ?? this.#thread;
    this.#panel.reveal(undefined, true);
    return this.refresh();
  }

  // Takes note of a stop of a session, or of a run that has continued. A view whose session is over follows the next one.
  follow(session, stops) {
    if (this.#session === undefined) {
      if (stops.threads.length === 0) return undefined;
      this.#session = session;
      this.#stops = stops;
      this.#thread = undefined;
    }
    return this.#session === session ? this.refresh() : undefined;
  }

  // Takes note of the end of a session.
  ended(session) {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#stops = undefined;
    this.#frame = undefined;
    this.#turn += 1;
    this.#tell("ended", "The debug session has ended. The next one is followed when it stops.");
  }

  // Shows the tensor where the run is stopped. If its run is not, another run that is stopped is shown.
  async refresh() {
    const turn = ++this.#turn;
    this.#frame = undefined;
    const threads = this.#stops?.threads ?? [];
    if (!threads.includes(this.#thread)) this.#thread = threads.at(-1) ?? this.#thread;
    if (threads.length === 0) {
      if (this.#session) this.#tell("running", "The run is not stopped.");
      return;
    }
    try {
      const place = await source.place(this.#ask, this.#thread);
      const described = await source.describe(this.#ask, place.frameId, this.#tensor);
      if (turn !== this.#turn) return;
      this.#frame = place.frameId;
      const index = this.#index;
      this.#index = undefined;
      this.#post({ type: "tensor", turn, tensor: this.#tensor, place: place.name, index, ...described });
    } catch (error) {
      if (turn === this.#turn) this.#tell("missing", error.message);
    }
  }

  // Carries out a request of the page.
  async #asked(message) {
    if (message.type === "ready") {
      // A page that was hidden is loaded anew.
      if (this.#session) await this.refresh();
      else this.#tell("ended", "The debug session has ended.");
    } else if (message.type === "window" && message.turn === this.#turn) {
      try {
        const elements = await source.read(this.#ask, this.#frame, this.#tensor, message.slice);
        if (message.turn === this.#turn) this.#post({ ...message, ...elements });
      } catch (error) {
        if (message.turn === this.#turn) this.#tell("missing", error.message);
      }
    }
  }

  #ask = (command, body) => this.#session.customRequest(command, body);

  #tell(state, text) {
    this.#post({ type: "state", state, text, tensor: this.#tensor });
  }

  #post(message) {
    if (!this.#isClosed) this.#panel.webview.postMessage(message);
  }
}

module.exports = { TensorView };
