// Which runs of a debug session are stopped, by the messages between the editor and the adapter.

const RESUMING = new Set(["continue", "next", "stepIn", "stepOut"]);

class Stops {
  #changed;
  #resuming = new Map();
  #threads = [];

  // `changed` is called when a run stops or continues.
  constructor(changed) {
    this.#changed = changed;
  }

  // The threads that are stopped, the latest last.
  get threads() {
    return [...this.#threads];
  }

  // Takes a message of the editor.
  received(message) {
    if (message.type === "request" && RESUMING.has(message.command)) {
      this.#resuming.set(message.seq, message.arguments.threadId);
    }
  }

  // Takes a message of the adapter.
  sent(message) {
    const body = message.body || {};
    if (message.type === "event" && message.event === "stopped") {
      this.#remove(body.threadId);
      this.#threads.push(body.threadId);
      this.#changed();
    } else if (message.type === "event" && message.event === "thread" && body.reason === "exited") {
      if (this.#remove(body.threadId)) this.#changed();
    } else if (message.type === "response" && this.#resuming.has(message.request_seq)) {
      const thread = this.#resuming.get(message.request_seq);
      this.#resuming.delete(message.request_seq);
      if (message.success && this.#remove(thread)) this.#changed();
    }
  }

  #remove(thread) {
    const at = this.#threads.indexOf(thread);
    if (at >= 0) this.#threads.splice(at, 1);
    return at >= 0;
  }
}

module.exports = { Stops };
