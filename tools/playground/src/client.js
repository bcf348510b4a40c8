// The page's side of the worker: one question at a time, a limit on how long an answer may take, a new worker after a failure.
const MOST_MILLISECONDS = 20_000;

export class Client {
  #url;
  #watch;
  #worker;
  #waiting = new Map();
  #next = 0;

  // `watch` is told of {loaded} and {ready} while Python starts.
  constructor(url, watch) {
    this.#url = url;
    this.#watch = watch;
    this.#start();
  }

  // The answer, and how many milliseconds trainc took for it. Rejects where there is none.
  ask(question) {
    const id = ++this.#next;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, question });
      this.#limit();
    });
  }

  #start() {
    this.ready = false;
    this.#worker = new Worker(this.#url, { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#hear(data);
    this.#worker.onerror = (event) => this.#restart(event.message || "trainc could not be loaded");
  }

  #hear(data) {
    if (data.id === undefined) {
      this.ready ||= "ready" in data;
      this.#watch(data);
    } else if ("failure" in data) {
      // Nobody knows in what state Python is after that: an overflow of the stack, or the end of the memory.
      this.#restart(data.failure);
    } else {
      this.#waiting.get(data.id).resolve(data);
      this.#waiting.delete(data.id);
    }
    this.#limit();
  }

  // Loading may take as long as the network does; an answer may not.
  #limit() {
    clearTimeout(this.timer);
    if (this.ready && this.#waiting.size) {
      const seconds = MOST_MILLISECONDS / 1000;
      this.timer = setTimeout(() => this.#restart(`stopped after ${seconds} seconds`), MOST_MILLISECONDS);
    }
  }

  #restart(reason) {
    this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    // What has never started would not start now.
    if (this.ready) this.#start();
    for (const { reject } of waiting) reject(new Error(reason));
    if (!waiting.length) this.#watch({ failure: reason });
  }
}
