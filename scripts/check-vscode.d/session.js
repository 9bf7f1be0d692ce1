// A debug session with `opscope dap`, as an editor has it.

const { spawn } = require("child_process");

class Session {
  type = "opscope";
  #child;
  #seq = 0;
  #waiting = new Map();
  #events = [];
  #listeners = [];
  #received = Buffer.alloc(0);

  // Starts the adapter that a descriptor names. `tracker` sees all messages.
  constructor(id, descriptor, trackerOf) {
    this.id = id;
    this.tracker = trackerOf(this);
    this.#child = spawn(descriptor.command, descriptor.args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout.on("data", (bytes) => this.#take(bytes));
  }

  customRequest(command, body) {
    const seq = ++this.#seq;
    const message = { seq, type: "request", command, arguments: body };
    this.tracker.onWillReceiveMessage(message);
    const text = JSON.stringify(message);
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    return new Promise((resolve, reject) => this.#waiting.set(seq, { resolve, reject }));
  }

  // Waits for an event.
  event(name) {
    const at = this.#events.findIndex((event) => event.event === name);
    if (at >= 0) return Promise.resolve(this.#events.splice(at, 1)[0].body);
    return new Promise((resolve) => this.#listeners.push({ name, resolve }));
  }

  end() {
    this.#child.stdin.end();
  }

  #take(bytes) {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      const header = /^Content-Length: (\d+)\r\n\r\n/.exec(this.#received.toString("latin1", 0, 64));
      if (!header || this.#received.length < header[0].length + Number(header[1])) return;
      const end = header[0].length + Number(header[1]);
      const message = JSON.parse(this.#received.toString("utf8", header[0].length, end));
      this.#received = this.#received.subarray(end);
      this.tracker.onDidSendMessage(message);
      if (message.type === "response") this.#answered(message);
      if (message.type === "event") this.#happened(message);
    }
  }

  #answered(message) {
    const { resolve, reject } = this.#waiting.get(message.request_seq);
    this.#waiting.delete(message.request_seq);
    if (message.success) resolve(message.body);
    else reject(new Error(message.message));
  }

  #happened(message) {
    const at = this.#listeners.findIndex((listener) => listener.name === message.event);
    if (at >= 0) this.#listeners.splice(at, 1)[0].resolve(message.body);
    else this.#events.push(message);
  }
}

module.exports = { Session };
