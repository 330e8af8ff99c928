// Asks the library in a worker, so that the page stays alive. A worker answers one question at a time; whoever asks anew
// before it is done either waits (`ask`), replaces what waits (`Latest`), or stops it (`stop`).

import { connect, type Progress } from "./connect";

/** What a question ends with if it has no answer: faults as the program prints them. */
export class Faults extends Error {
  constructor(readonly faults: { text: string }[]) {
    super(faults.map(({ text }) => text).join("\n"));
  }
}

/** What a question ends with if it was stopped. */
export class Stopped extends Error {}

/** The text of the element `#module`: the module, packed by gzip, in base 64. */
export async function unpackModule(packed: string): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

/** What a worker is told, and what it tells. */
type Told = { module: WebAssembly.Module } | { question: string };
type Tells = { reply: string } | { done: number; all: number } | { broken: string };

/** The worker's program; its text follows `connect`'s. */
function work(connected: typeof connect, scope: Worker): void {
  let ask: ((question: string) => string) | undefined;
  let module: WebAssembly.Module;
  let told = 0;
  const progress: Progress = (done, all) => {
    const now = Date.now();
    if (now - told < 100) return;
    told = now;
    scope.postMessage({ done, all } satisfies Tells);
  };
  scope.onmessage = ({ data }: MessageEvent<Told>) => {
    if ("module" in data) {
      module = data.module;
      return;
    }
    try {
      ask ??= connected(module, progress);
      scope.postMessage({ reply: ask(data.question) } satisfies Tells);
    } catch (error) {
      // An instance that broke off is not used again.
      ask = undefined;
      scope.postMessage({ broken: String(error) } satisfies Tells);
    }
  };
}

const PROGRAM = `const connect = ${connect.toString()}; (${work.toString()})(connect, self);`;

interface Asked {
  question: string;
  progress: Progress | undefined;
  resolve: (answer: unknown) => void;
  reject: (why: Error) => void;
}

/** A worker with the library. */
export class Engine {
  private worker: Worker | undefined;
  private asked: Asked[] = [];

  constructor(private readonly module: Promise<WebAssembly.Module>) {}

  /** The answer to a question; questions are answered in their order. */
  async ask<T>(question: object, progress?: Progress): Promise<T> {
    const module = await this.module;
    return new Promise((resolve, reject) => {
      const asked: Asked = {
        question: JSON.stringify(question),
        progress,
        resolve: resolve as (answer: unknown) => void,
        reject,
      };
      this.asked.push(asked);
      if (this.asked.length === 1) this.send(module);
    });
  }

  /** Ends what is being answered, and forgets what waits. */
  stop(): void {
    if (this.asked.length === 0) return;
    this.worker?.terminate();
    this.worker = undefined;
    for (const { reject } of this.asked.splice(0)) reject(new Stopped());
  }

  private send(module: WebAssembly.Module): void {
    this.worker ??= this.start(module);
    this.worker.postMessage({ question: this.asked[0]!.question } satisfies Told);
  }

  private start(module: WebAssembly.Module): Worker {
    const address = URL.createObjectURL(new Blob([PROGRAM], { type: "text/javascript" }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.onmessage = ({ data }: MessageEvent<Tells>) => {
      if ("done" in data) this.asked[0]?.progress?.(data.done, data.all);
      else this.close(data, module);
    };
    worker.onerror = ({ message }) => this.close({ broken: message }, module);
    worker.postMessage({ module } satisfies Told);
    return worker;
  }

  private close(tells: { reply: string } | { broken: string }, module: WebAssembly.Module): void {
    const asked = this.asked.shift();
    if (this.asked.length > 0) this.send(module);
    if ("broken" in tells) return asked?.reject(new Faults([{ text: tells.broken }]));
    const reply = JSON.parse(tells.reply) as { answer?: unknown; faults?: { text: string }[] };
    if (reply.faults) asked?.reject(new Faults(reply.faults));
    else asked?.resolve(reply.answer);
  }
}

/** Asks the newest question only: one that comes while another is answered replaces the one that waits. Something that is
    dragged asks at every event, and never falls behind. */
export class Latest {
  private busy = false;
  private waiting: (() => Promise<void>) | null = null;

  /** Runs `work`, or keeps it as the next. */
  run(work: () => Promise<void>): void {
    if (this.busy) {
      this.waiting = work;
      return;
    }
    this.busy = true;
    void work().finally(() => {
      this.busy = false;
      const next = this.waiting;
      this.waiting = null;
      if (next) this.run(next);
    });
  }
}
