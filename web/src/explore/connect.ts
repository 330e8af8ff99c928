// The library in a page: a question as JSON goes in, a reply comes out. The function stands alone, because its text is
// also the program of the workers (`engine`), and node's tests call it (`test/explore`).

/** Steps done, and all of them; 0 where that is not known. */
export type Progress = (done: number, all: number) => void;

/** What the module exports (`crates/explore/src/boundary.rs`). */
interface Exports {
  memory: WebAssembly.Memory;
  make_room(bytes: number): number;
  ask(): number;
  reply_start(): number;
}

/** Instantiates the module; returns the function that asks it. */
export function connect(module: WebAssembly.Module, progress: Progress): (question: string) => string {
  const imports: WebAssembly.Imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    // A dependency that draws in pages declares imports of its own, which no answer calls.
    const missing = (): void => {
      throw new Error(`${name} was called`);
    };
    (imports[from] ??= {})[name] = name === "progress" ? progress : missing;
  }
  const library = new WebAssembly.Instance(module, imports).exports as unknown as Exports;
  return (question) => {
    const bytes = new TextEncoder().encode(question);
    const room = library.make_room(bytes.length);
    new Uint8Array(library.memory.buffer, room, bytes.length).set(bytes);
    const length = library.ask();
    return new TextDecoder().decode(new Uint8Array(library.memory.buffer, library.reply_start(), length));
  };
}
