// @vitest-environment happy-dom
// The pieces of the page Explore, without its library: the engine beside a fake worker, the state, and pages beside a fake engine that
// answers when the test says so.

import { beforeEach, describe, expect, it, vi } from "vitest";

import { Attempts } from "../../src/explore/attempts";
import { traced, type Line } from "../../src/explore/curve";
import { Engine, Faults, Latest, Stopped } from "../../src/explore/engine";
import { commitPage } from "../../src/explore/pages/commit";
import { fileName, jobPage } from "../../src/explore/pages/job";
import type { Bench, Page } from "../../src/explore/pages/page";
import { disorder, fate, flushed, plugPage, type Listed } from "../../src/explore/pages/plug";
import { verdict } from "../../src/explore/pages/queue";
import { rebuildPage } from "../../src/explore/pages/rebuild";
import { guess, slider } from "../../src/explore/parts";
import { player } from "../../src/explore/player";
import { rowList } from "../../src/explore/rows";
import { followAddress, LONGEST, Settings } from "../../src/explore/state";
import { svg } from "../../src/dom";
import type { Stretch } from "../../src/report";

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

/** A question that waits for the test's answer. */
interface Waiting {
  question: { ask: string; setup?: { job: string; target: string; set?: [string, string][] }; at_ns?: number };
  answer: (value: unknown) => Promise<void>;
  fail: (error: Error) => Promise<void>;
}

/** An engine that answers when it is told to. */
function fakeEngine(): { engine: Engine; waiting: Waiting[]; stopped: () => number } {
  const waiting: Waiting[] = [];
  let stops = 0;
  const engine = {
    ask: (question: Waiting["question"]) =>
      new Promise((resolve, reject) => {
        const done = (end: () => void): Promise<void> => {
          waiting.splice(waiting.indexOf(one), 1);
          end();
          return settled();
        };
        const one: Waiting = { question, answer: (value) => done(() => resolve(value)), fail: (error) => done(() => reject(error)) };
        waiting.push(one);
      }),
    stop: () => {
      stops += 1;
      for (const one of waiting.slice()) void one.fail(new Stopped());
    },
  };
  return { engine: engine as unknown as Engine, waiting, stopped: () => stops };
}

const DRIVES = [
  { name: "barracuda-7200.7-ncq", rpm: 6000, capacity_gb: 160, depth: 32 },
  { name: "cheetah-15k.4", rpm: 15_000, capacity_gb: 146, depth: 64 },
];

function bench(): { bench: Bench; quick: ReturnType<typeof fakeEngine>; slow: ReturnType<typeof fakeEngine>; settings: Settings } {
  const [quick, slow, settings] = [fakeEngine(), fakeEngine(), new Settings()];
  return { bench: { settings, quick: quick.engine, slow: slow.engine, drives: DRIVES, attempts: new Attempts() }, quick, slow, settings };
}

function shown(build: (bench: Bench) => Page, bench: Bench): HTMLElement {
  const page = build(bench);
  document.body.replaceChildren(page.element);
  page.open();
  return page.element;
}

const text = (page: HTMLElement, selector: string): string => page.querySelector(selector)?.textContent ?? "";
const press = (page: HTMLElement, selector: string): void => page.querySelector<HTMLButtonElement>(selector)!.click();

/** A run with commits and appends of so many milliseconds. */
const committed = (ms: number): object => ({
  json: { write: { iops: 100 }, commit: { response_ms: { mean: ms } }, operations: { append: { response_ms: { mean: ms } } } },
  command: "seekwise run",
});

const STRETCH = {
  platters: [{ revolution_ns: 1e7, turned: 0 }],
  cylinders: 10,
  parts: ["seek"],
  requests: { lba: [0], op: ["read"], worker: [0], sectors: [8], due_ns: [0], parts_ns: [[1e7]], failed: [] },
  movements: { drive: [], errand: [], from: [], to: [], head: [], lba: [], sectors: [], angle: [], arc: [], course_us: [] },
  queue: null,
} as unknown as Stretch;

beforeEach(() => {
  history.replaceState(null, "", location.pathname);
  document.body.replaceChildren();
});

describe("the engine", () => {
  /** A worker that answers when the test says so. */
  class FakeWorker {
    static all: FakeWorker[] = [];
    asked: string[] = [];
    ended = false;
    onmessage: (event: { data: unknown }) => void = () => undefined;
    constructor() {
      FakeWorker.all.push(this);
    }
    postMessage(told: { question?: string }): void {
      if (told.question !== undefined) this.asked.push(told.question);
    }
    terminate(): void {
      this.ended = true;
    }
  }
  beforeEach(() => {
    FakeWorker.all = [];
    vi.stubGlobal("Worker", FakeWorker);
  });
  const engine = (): Engine => new Engine(Promise.resolve({} as WebAssembly.Module));

  it("asks one question at a time, in order, and passes its faults on", async () => {
    const asker = engine();
    const [first, second] = [asker.ask({ ask: 1 }), asker.ask({ ask: 2 })];
    const refused = expect(second).rejects.toThrow(new Faults([{ text: "no such drive" }]));
    await settled();
    const worker = FakeWorker.all[0]!;
    expect(worker.asked).toEqual(['{"ask":1}']);
    worker.onmessage({ data: { reply: '{"answer":7}' } });
    expect(await first).toBe(7);
    expect(worker.asked).toEqual(['{"ask":1}', '{"ask":2}']);
    worker.onmessage({ data: { reply: '{"faults":[{"text":"no such drive"}]}' } });
    await refused;
  });

  it("ends its worker when it is stopped, and starts another for the next question", async () => {
    const asker = engine();
    const stopped = [asker.ask({ ask: 1 }), asker.ask({ ask: 2 })].map((one) => expect(one).rejects.toThrow(Stopped));
    await settled();
    asker.stop();
    await Promise.all(stopped);
    const next = asker.ask({ ask: 3 });
    await settled();
    expect(FakeWorker.all.map(({ ended, asked }) => [ended, asked])).toEqual([
      [true, ['{"ask":1}']],
      [false, ['{"ask":3}']],
    ]);
    FakeWorker.all[1]!.onmessage({ data: { reply: '{"answer":3}' } });
    expect(await next).toBe(3);
  });

  it("asks the newest only", async () => {
    const latest = new Latest();
    const done: number[] = [];
    let end = (): void => undefined;
    const work = (name: number) => () => new Promise<void>((resolve) => ((end = resolve), done.push(name)));
    for (const name of [1, 2, 3]) latest.run(work(name));
    expect(done).toEqual([1]);
    end();
    await settled();
    expect(done).toEqual([1, 3]);
  });
});

describe("the state", () => {
  it("has only numbers that a slider can stand at", () => {
    const settings = new Settings();
    const number = (value: string): number => {
      settings.set("n", value);
      return settings.number("n", 4, { from: 1, to: 7, step: 2 });
    };
    expect(["2.4", "8.5", "-3", "five", "4.1"].map(number)).toEqual([3, 7, 1, 4, 5]);
  });

  it("keeps a long text while the page is open, and out of the address", () => {
    const settings = new Settings();
    settings.set("text", "x".repeat(LONGEST + 1));
    settings.set("key", "array");
    expect(settings.addressed()).toEqual([["key", "array"]]);
    settings.restore([["key", "drive"]]);
    expect(settings.option("text", "")).toHaveLength(LONGEST + 1);
    expect(settings.option("key", "")).toBe("drive");
  });

  it("shows the page of the address, and writes what is set into it", () => {
    location.hash = "#b&depth=3";
    const pages = new Map([["a", new Settings()], ["b", new Settings()]]);
    const seen: string[] = [];
    followAddress(pages, "a", (page) => seen.push(page));
    expect([seen, pages.get("b")!.option("depth", "1")]).toEqual([["b"], "3"]);
    pages.get("b")!.set("depth", "5");
    pages.get("a")!.set("depth", "9");
    expect(location.hash).toBe("#b&depth=5");
  });

  it("gives a slider whole steps, whatever the address says", () => {
    const settings = new Settings();
    settings.restore([["budget", "2.5"]]);
    const said = (place: number): string => ["no", "a", "b", "c"][place] ?? "undefined";
    const { element, value } = slider(settings, "budget", { label: "", from: 0, to: 3, step: 1, first: 0, said });
    expect([value(), element.querySelector("output")!.textContent]).toEqual([3, "c"]);
  });
});

describe("a fault", () => {
  it("stands until the work that failed succeeds, and not longer", async () => {
    const attempts = new Attempts();
    const failing = (text: string) => () => Promise.reject(new Faults([{ text }]));
    await attempts.run("drawing", failing("no drawing"));
    await attempts.run("curves", failing("no curves"));
    await attempts.run("guess", () => Promise.reject(new Stopped()));
    expect([attempts.element.hidden, attempts.element.textContent]).toEqual([false, "no drawing\nno curves"]);
    await attempts.run("curves", () => Promise.resolve());
    expect([attempts.element.hidden, attempts.element.textContent]).toEqual([false, "no drawing"]);
    await attempts.run("drawing", () => Promise.resolve());
    expect(attempts.element.hidden).toBe(true);
  });
});

describe("a guess", () => {
  const texts = { guess: "How many?", answers: ["one", "two"] };

  it("loses its reply when it is no longer what was asked, even one that comes late", async () => {
    const { bench: on, settings } = bench();
    let answer = (_: string): void => undefined;
    const { element } = guess(on, texts, () => settings.option("drive", "a"), () => new Promise((resolve) => (answer = resolve)));
    press(element, "button");
    answer("of a");
    await settled();
    settings.set("depth", "4");
    expect(text(element, ".guessed")).toBe("of a");
    settings.set("drive", "b");
    expect([text(element, ".guessed"), element.querySelector('[aria-pressed="true"]')]).toEqual(["", null]);
    press(element, "button");
    const late = answer;
    settings.set("drive", "c");
    late("of b");
    await settled();
    expect(text(element, ".guessed")).toBe("");
  });

  it("cannot be made before there are data", () => {
    for (const build of [plugPage, rebuildPage]) {
      const page = shown(build, bench().bench);
      expect([...page.querySelectorAll<HTMLButtonElement>(".answers button")].every(({ disabled }) => disabled)).toBe(true);
    }
  });
});

describe("curves", () => {
  it("are never another drive's, and what is no longer wanted is given up", async () => {
    let [drive, end]: [string, () => void] = ["a", () => undefined];
    const drawn: string[] = [];
    const compute = async (wanted: () => boolean): Promise<Line[][] | null> => {
      const name = drive;
      await new Promise<void>((resolve) => (end = resolve));
      return wanted() ? [[{ name, colour: "", points: [] }]] : null;
    };
    const { show, trace } = traced(() => drive, compute, ([lines]) => drawn.push(lines?.[0]?.name ?? "none"));
    const first = trace();
    end();
    await first;
    drive = "b";
    show();
    const second = trace();
    drive = "c";
    end();
    await second;
    show();
    expect(drawn).toEqual(["a", "none", "none", "none"]);
  });
});

describe("a commit", () => {
  it("is told in turns of the drive that ran, if another is chosen meanwhile", async () => {
    const { bench: on, quick, slow, settings } = bench();
    const page = shown(commitPage, on);
    const appends = (): Waiting[] => slow.waiting.filter(({ question }) => question.setup?.job === "fsync");
    settings.set("drive", "cheetah-15k.4");
    for (const one of quick.waiting.slice()) await one.answer(committed(20));
    expect(appends().map(({ question }) => question.setup!.target)).toEqual(["barracuda-7200.7-ncq"]);
    // A turn of the first drive takes 10 ms.
    await appends()[0]!.answer(committed(30));
    expect(text(page, ".sentence")).toMatch(/each commit waits 2.00 turns .* a commit alone waits 3.00 turns/);
    await quick.waiting[0]!.answer([STRETCH]);
    settings.set("drive", null);
    for (let round = 0; round < 8; round++)
      for (const one of [...quick.waiting, ...appends()])
        await one.answer(one.question.ask === "timelines" ? [STRETCH] : committed(one.question.setup!.job === "fsync" ? 30 : 20));
    expect(text(page, ".sentence")).toContain("each commit waits 2.00 turns");
    expect(text(page, ".sentence")).toContain("a commit alone waits 3.00 turns");
  });
});

describe("the plug", () => {
  const listed = (writes: number): object => ({
    requests: Array.from({ length: writes }, () => ({ op: "write", issued_ns: 0, acknowledged_ns: 1, landed_ns: 2 })),
    end_ns: 200,
  });
  const cut = (lost: number): object => ({
    json: { acknowledged_lost: { writes: lost }, flushed_lost: { writes: 0 } },
    command: "seekwise power-cut",
  });
  const flushOf = ({ question }: Waiting): string => question.setup!.set![0]![1];

  it("tells a list and a cut of one run, if the flushes are changed while it is asked", async () => {
    const { bench: on, quick, settings } = bench();
    const page = shown(plugPage, on);
    await quick.waiting[0]!.answer(listed(10));
    await quick.waiting[0]!.answer(cut(3));
    const offered = page.querySelector<HTMLButtonElement>(".answers button")!;
    settings.set("cut", "60");
    expect(offered.disabled).toBe(false);
    settings.set("flush", "1");
    expect(offered.disabled).toBe(true);
    await quick.waiting[0]!.answer(cut(3));
    const list = quick.waiting[0]!;
    settings.set("flush", null);
    settings.set("cut", "50");
    await list.answer(listed(20));
    expect(quick.waiting.map(({ question }) => question.ask)).toEqual(["power-cut"]);
    expect(flushOf(quick.waiting[0]!)).toBe("1");
    await quick.waiting[0]!.answer(cut(0));
    expect([page.querySelectorAll(".row").length, text(page, ".sentence")]).toEqual([20, expect.stringContaining("20 writes were acknowledged; 0")]);
    expect(offered.disabled).toBe(true);
    await quick.waiting[0]!.answer(listed(10));
    expect(flushOf(quick.waiting[0]!)).toBe("0");
    await quick.waiting[0]!.answer(cut(3));
    expect([page.querySelectorAll(".row").length, text(page, ".sentence")]).toEqual([10, expect.stringContaining("10 writes were acknowledged; 3")]);
    expect(offered.disabled).toBe(false);
  });

  const write = (issued_ns: number, acknowledged_ns: number | null, landed_ns: number | null): Listed => ({
    op: "write", issued_ns, acknowledged_ns, landed_ns,
  });

  it("knows the fate of a write at a cut", () => {
    const fates = [write(11, 12, 13), write(1, 2, 10), write(1, 2, 11), write(1, 2, null), write(1, 11, 12), write(1, null, null)];
    expect(fates.map((one) => fate(one, 10))).toEqual(["later", "platter", "lost", "lost", "flight", "flight"]);
  });

  it("finds the last write on the platter and the first that is lost", () => {
    const requests = [write(1, 2, 3), write(1, 2, 30), write(1, 2, 4), { ...write(1, 2, null), op: "flush" as const }];
    expect(disorder({ requests, end_ns: 40 }, 10)).toEqual([3, 2]);
    expect(disorder({ requests, end_ns: 40 }, 35)).toEqual([3, 0]);
    expect(disorder({ requests: [], end_ns: 0 }, 35)).toEqual([0, 0]);
  });

  it("says what the flushes of its list take", () => {
    const flush = (ns: number): Listed => ({ op: "flush", issued_ns: 5, acknowledged_ns: 5 + ns, landed_ns: null });
    expect(flushed({ requests: [write(1, 2, 3), flush(10e6), flush(20e6)], end_ns: 0 }, 10)).toMatch(/2 flushes .* 15.0\sms .* 1.50 turns/);
    expect(flushed({ requests: [write(1, 2, 3)], end_ns: 0 }, 10)).toContain("Without a flush");
  });
});

describe("the queue", () => {
  const figures = (iops: number, p50: number, p99: number) => ({ iops, response_ms: { p50, p99 } });

  it("says that the slowest pay only if they do, and whether there is a queue", () => {
    const ordered = figures(100, 50, 60);
    expect(verdict(8, true, ordered, figures(200, 20, 90))).toMatch(/2.00 times .* within 20.0\sms instead of 50.0\sms, but .* 90.0\sms/);
    expect(verdict(8, true, ordered, figures(200, 20, 40))).toMatch(/, and the slowest one in a hundred waits 40.0\sms instead of 60.0\sms/);
    expect(verdict(8, false, ordered, ordered)).toContain("This drive has no queue");
    expect(verdict(1, true, ordered, ordered)).toContain("nothing to choose from");
  });
});

describe("your job", () => {
  it("knows an Iometer configuration from a fio job", () => {
    expect(fileName("Version 1.1.0 \n'TEST SETUP ====")).toBe("mine.icf");
    expect(fileName("'ACCESS SPECIFICATIONS =====")).toBe("mine.icf");
    expect(fileName("[Version]\nrw=read\n")).toBe("mine.fio");
  });

  it("keeps what is typed in the address, and its text asleep beside a pattern", () => {
    const { bench: on, settings } = bench();
    settings.restore([["pattern", "database"], ["key", "array"], ["from", "none"], ["text", "[a]"]]);
    const page = shown(jobPage, on);
    const [area] = page.querySelectorAll("textarea");
    const inputs = [...page.querySelectorAll<HTMLInputElement>('input[type="text"]')];
    expect([area!.disabled, area!.value, ...inputs.map(({ value }) => value)]).toEqual([true, "[a]", "array", "none", "32"]);
    settings.set("pattern", null);
    expect(area!.disabled).toBe(false);
    inputs[2]!.value = "raid-5";
    inputs[2]!.dispatchEvent(new Event("input"));
    expect(settings.addressed()).toContainEqual(["to", "raid-5"]);
    inputs[0]!.value = "drive.cache.write_back";
    inputs[0]!.dispatchEvent(new Event("input"));
    inputs[0]!.dispatchEvent(new Event("change"));
    expect(inputs.map(({ value }) => value)).toEqual(["drive.cache.write_back", "true", "false"]);
  });

  const answer = (said: string): object => ({
    json: { said, to: "32", title: "rate", cause: null, beside: [], refused: null },
    warnings: ["the depth is 1"], question: "?", command: "seekwise compare", page: "", files: [],
  });

  it("stops only its own comparison, and a second one ends the first for good", async () => {
    const { bench: on, slow } = bench();
    const page = shown(jobPage, on);
    const stop = [...page.querySelectorAll("button")].find(({ textContent }) => textContent === "Stop")!;
    press(page, ".go");
    press(page, ".go");
    await settled();
    expect([slow.stopped(), slow.waiting.length, stop.disabled]).toEqual([1, 1, false]);
    await slow.waiting[0]!.answer(answer("faster"));
    expect([text(page, ".answer-box .sentence"), stop.disabled]).toEqual(["32: faster, by rate", true]);
    expect(text(page, ".answer-box .faults")).toBe("the depth is 1");
    // Another page asks now.
    void slow.engine.ask({ ask: "drives" });
    stop.disabled = false;
    stop.click();
    expect([slow.stopped(), slow.waiting.length]).toEqual([1, 1]);
  });

  it("can no longer be stopped once its page is left", async () => {
    const { bench: on, slow } = bench();
    const page = shown(jobPage, on);
    press(page, ".go");
    slow.engine.stop();
    void slow.engine.ask({ ask: "drives" });
    await settled();
    const stop = [...page.querySelectorAll("button")].find(({ textContent }) => textContent === "Stop")!;
    expect(stop.disabled).toBe(true);
    expect(page.textContent).toContain("Stopped.");
  });

  it("gives back the address of its report with the next comparison", async () => {
    const given = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:1");
    const back = vi.spyOn(URL, "revokeObjectURL").mockReturnValue();
    vi.spyOn(window, "open").mockReturnValue(null);
    const { bench: on, slow } = bench();
    const page = shown(jobPage, on);
    press(page, ".go");
    await slow.waiting[0]!.answer(answer("faster"));
    press(page, ".answer-box button");
    press(page, ".answer-box button");
    expect(given).toHaveBeenCalledTimes(1);
    press(page, ".go");
    expect(back).toHaveBeenCalledWith("blob:1");
    vi.restoreAllMocks();
  });
});

describe("rows", () => {
  it("are gone through by keys, and explain themselves", () => {
    const drawing = svg("svg", {});
    const chosen: number[] = [];
    const list = rowList(drawing, "requests");
    const elements = [0, 1, 2].map(() => svg("g", {}));
    list.load(elements.map((element, place) => ({ element, explain: () => `row ${place}`, chosen: () => chosen.push(place) })));
    expect([drawing.getAttribute("role"), drawing.getAttribute("tabindex"), list.told.className]).toEqual(["listbox", "0", "small told hint"]);
    for (const key of ["ArrowDown", "ArrowDown", "End", "ArrowUp", "Home", "x"])
      drawing.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
    elements[1]!.dispatchEvent(new Event("click"));
    expect(chosen).toEqual([0, 1, 2, 1, 0, 1]);
    expect([list.told.textContent, drawing.getAttribute("aria-activedescendant")]).toEqual(["row 1", elements[1]!.id]);
    expect(elements.map((one) => one.getAttribute("aria-selected"))).toEqual(["false", "true", "false"]);
  });
});

describe("the player", () => {
  it("is silent while it plays, and says where it stands once it is stopped", async () => {
    vi.useFakeTimers();
    const view = player();
    document.body.append(view.element);
    const voice = view.element.querySelector('[aria-live="polite"]')!;
    view.load([{ side: { level: "", index: 0, name: "a", letter: "A" }, stretch: STRETCH }]);
    view.element.querySelector("button")!.click();
    view.element.querySelector("button")!.click();
    vi.advanceTimersByTime(3000);
    expect(voice.textContent).toBe("");
    view.element.querySelector("button")!.click();
    vi.advanceTimersByTime(1000);
    expect(voice.textContent).not.toBe("");
    vi.useRealTimers();
  });
});
