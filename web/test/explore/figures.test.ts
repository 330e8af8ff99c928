// The figures of the page Explore are the program's: fifty cells by hash, and what the commands that the pages show print, in node and
// in a browser. `cargo xtask explore` runs this with the program, the module and the page that it built; the browser's part is skipped
// where there is none.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { connect } from "../../src/explore/connect";
import * as read from "../../src/explore/pages/read";
import * as rebuild from "../../src/explore/pages/rebuild";
import type { Stretch } from "../../src/report";
import { requests } from "../../src/stretch";

const { SEEKWISE_PROGRAM: PROGRAM = "", SEEKWISE_MODULE: MODULE = "", SEEKWISE_PAGE: PAGE = "" } = process.env;
const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const NAMES = ["read", "queue", "plug", "commit", "rebuild", "job"];

const DRIVES = ["barracuda-7200.7-ncq", "cheetah-15k.4", "atlas-10k-v-300", "exos-x18", "travelstar-5k250-160"];
const JOBS = ["random-read", "file-server", "oltp-4k", "flushed-writes", "two-reads"];

interface Cell {
  job: string;
  target: string;
  set: [string, string][];
  runtime?: string;
}

/** Each job on each drive, alone, and on a mirror below a driver that sorts requests. */
const CELLS: Cell[] = JOBS.flatMap((job) =>
  DRIVES.flatMap((target) =>
    [[], [["driver.queue.policy", "look"], ["array", "raid-1"], ["array.drives", "2"]]].map((set) => ({
      job,
      target,
      set: set as [string, string][],
      ...(job === "two-reads" ? {} : { runtime: "5 s" }),
    })),
  ),
);

/** The same words on a command line. */
function words({ job, target, set, runtime }: Cell): string[] {
  const settings = set.flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  return ["run", job, "--on", target, ...settings, ...(runtime ? ["--runtime", runtime] : []), "--json"];
}

/** A hash of a value whose keys may stand in any order. */
function hash(value: unknown): string {
  const sorted = (_: string, inner: unknown): unknown =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner;
  return createHash("sha256").update(JSON.stringify(value, sorted)).digest("hex");
}

/** The build of the program and that of the module are named in a record; they are two builds of the same sources. */
function figures(record: Record<string, unknown>): unknown {
  const { schema: _, ...rest } = record;
  return rest;
}

/** The hashes of what the program prints. */
let printed: string[] = [];
function expected(): string[] {
  const print = (cell: Cell): string => execFileSync(PROGRAM, words(cell), { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  if (printed.length === 0) printed = CELLS.map((cell) => hash(figures(JSON.parse(print(cell)))));
  return printed;
}

function answered(reply: string): Record<string, unknown> {
  const { answer, faults } = JSON.parse(reply) as { answer?: { json: Record<string, unknown> }; faults?: unknown };
  if (!answer) throw new Error(JSON.stringify(faults));
  return answer.json;
}

describe.skipIf(PROGRAM === "")("in node", () => {
  const ask = PROGRAM === "" ? () => "" : connect(new WebAssembly.Module(readFileSync(MODULE)), () => undefined);

  it("computes the program's figures in fifty cells", () => {
    expect(CELLS.length).toBe(50);
    const found = CELLS.map((setup) => hash(figures(answered(ask(JSON.stringify({ ask: "run", setup }))))));
    expect(found).toEqual(expected());
    expect(new Set(found).size).toBe(50);
  }, 300_000);

  /** What the program prints as JSON for a command that a page shows. */
  function print(command: string, folder = "."): Record<string, unknown> {
    const [program, ...rest] = command.split(" ");
    expect(program).toBe("seekwise");
    const text = execFileSync(PROGRAM, [...rest, "--json"], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return JSON.parse(text) as Record<string, unknown>;
  }
  /** An answer with the command that it names; two builds of the same sources differ in their schema alone. */
  function asked(question: object): { json: Record<string, unknown>; command: string } {
    const { answer, faults } = JSON.parse(ask(JSON.stringify(question))) as { answer?: { json: Record<string, unknown>; command: string }; faults?: unknown };
    if (!answer) throw new Error(JSON.stringify(faults));
    return answer;
  }

  it.each([["barracuda-7200.7-ncq", "0", 90e6], ["exos-x18", "16", 400e6]])("cuts the power of %s as the command shown does, flush %s", (target, flush, at_ns) => {
    const { json, command } = asked({ ask: "power-cut", setup: { job: "paced-writes", target, set: [["job.env.FLUSH", flush]] }, at_ns });
    expect(figures(json)).toEqual(figures(print(command)));
  });

  it.each([["exos-x18", 20], ["cheetah-15k.4", 100]])("rebuilds %s at %s MB/s as the command shown does", (drive, megabytes) => {
    const { json } = asked(rebuild.questionOf(drive, megabytes));
    expect(figures(json)).toEqual(figures(print(rebuild.shellWords(drive, megabytes))));
  }, 120_000);

  it.each([["mine.fio", "drive.firmware.depth", ["1", "32"]], ["random-write", "drive.cache.write_back", ["true", "false"]]])("compares %s as the command shown does", (job, key, values) => {
    const text = "[a]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\niodepth=16\ntime_based\nruntime=5\n";
    const folder = mkdtempSync(join(tmpdir(), "seekwise-"));
    writeFileSync(join(folder, "mine.fio"), text);
    const setup = { job, target: "barracuda-7200.7-ncq", ...(job === "mine.fio" ? { texts: { [job]: text } } : {}) };
    const { json, command } = asked({ ask: "compare", setup, key, values, runs: 3 });
    const printed = print(command, folder);
    rmSync(folder, { recursive: true });
    expect(figures(json)).toEqual(figures(printed));
  }, 120_000);

  it.each([["barracuda-7200.7-ncq", 10, 45], ["exos-x18", 99, 0]])("reads on %s from %i to %i percent as the command shown does", (drive, from, to) => {
    const setup = read.setup(drive, from, to);
    const { answer } = JSON.parse(ask(JSON.stringify({ ask: "timelines", setups: [setup], requests: 2, together: false }))) as { answer: Stretch[] };
    const { response, parts } = requests(answer[0]!).at(-1)!;
    const { groups } = print(read.shellWords(setup)) as { groups: { name: string; all: { response_ms: { mean: number }; anatomy_ms: object } }[] };
    const second = groups.find(({ name }) => name === "second")!.all;
    expect(response).toBeCloseTo(second.response_ms.mean, 9);
    const met = Object.entries(second.anatomy_ms).filter(([, ms]) => ms > 0);
    expect(Object.keys(parts).sort()).toEqual(met.map(([part]) => part).sort());
    for (const [part, ms] of met) expect(parts[part as keyof typeof parts]).toBeCloseTo(ms as number, 9);
  });

  it("ends with the licences of its scripts and of its library", () => {
    const end = readFileSync(PAGE, "utf8").slice(-600_000);
    for (const words of ["echarts/LICENSE", "serde_json-", "Apache License", "Permission is hereby granted"]) expect(end).toContain(words);
  });

  it("names the line of a fault as the program does", () => {
    const text = "[a]\nioengine=libaio\nrw=randraed\n";
    const setup = { job: "mine.fio", target: "exos-x18", texts: { "mine.fio": text } };
    const { faults } = JSON.parse(ask(JSON.stringify({ ask: "run", setup }))) as { faults: { text: string; line: number }[] };
    expect(faults[0]!.line).toBe(3);
    expect(faults[0]!.text).toContain("mine.fio:3");
    expect(faults[0]!.text).toContain("randread");
  });
});

if (PROGRAM !== "" && !BROWSER) console.log("skipped: the page in a browser; there is no chromium");

describe.skipIf(PROGRAM === "" || !BROWSER)("in a browser", () => {
  let browser: Browser;
  let page: Page;
  const asked: string[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    // The page starts its library in a worker. This test does so beside the page, where Chromium allows 8 MB, and the library as tests
    // build it has more.
    const args = ["--no-sandbox", "--enable-features=WebAssemblyUnlimitedSyncCompilation"];
    browser = await chromium.launch({ executablePath: BROWSER!, args });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 1000 } })).newPage();
    await page.route("**", (route) => {
      const address = route.request().url();
      if (!/^(file|blob|data):/.test(address)) asked.push(address);
      return /^(file|blob|data):/.test(address) ? route.continue() : route.abort();
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(pathToFileURL(PAGE).href);
    await page.waitForSelector("#read .figures", { timeout: 120_000 });
  }, 180_000);
  afterAll(() => browser?.close());

  it("computes the program's figures in fifty cells", async () => {
    const questions = CELLS.map((setup) => JSON.stringify({ ask: "run", setup }));
    // The page's own policy forbids `eval`, so the function stands in the text.
    const program = `(async () => {
      const connect = ${connect.toString()};
      const packed = document.getElementById("module").textContent;
      const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
      const unpacked = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
      const ask = connect(await WebAssembly.compile(await unpacked.arrayBuffer()), () => undefined);
      return ${JSON.stringify(questions)}.map((question) => ask(question));
    })()`;
    const replies = (await page.evaluate(program)) as string[];
    expect(replies.map((reply) => hash(figures(answered(reply))))).toEqual(expected());
  }, 300_000);

  it("opens every page, asks the network for nothing, and says each thing to a reader who does not see it", async () => {
    for (const name of NAMES) {
      await page.goto(`${pathToFileURL(PAGE).href}#${name}`);
      await page.waitForSelector(name === "job" ? "#job textarea" : `#${name} .sentence:not(:empty)`, { timeout: 120_000 });
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes[0]?.html}`)).toEqual([]);
      for (const width of [360, 1280, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide, `${name} at ${width}`).toBeLessThanOrEqual(0);
      }
    }
    expect(asked).toEqual([]);
    expect(errors).toEqual([]);
  }, 300_000);

  it("is dragged by keys, keeps its state in the address, and comes back to it", async () => {
    await page.goto(`${pathToFileURL(PAGE).href}#queue`);
    const slider = page.locator("#queue .slider input").first();
    await slider.focus();
    await page.keyboard.press("PageUp");
    await page.waitForFunction(() => location.hash === "#queue&depth=18");
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#queue .sentence")?.textContent?.startsWith("With 18"), undefined, { timeout: 120_000 });
    await page.click('nav a:text-is("One read")');
    await page.waitForSelector("#read .sentence:not(:empty)", { timeout: 120_000 });
    await page.click('nav a:text-is("The queue")');
    await page.waitForFunction(() => location.hash === "#queue&depth=18" && document.querySelector("#queue .sentence")?.textContent?.startsWith("With 18"));
  }, 180_000);

  it("stands at whole steps, if an address says otherwise", async () => {
    const said = { rebuild: [".slider output", "budget=2.5", "50 MB/s"], queue: [".slider output", "depth=8.5", "9"] };
    for (const [name, [selector, state, words]] of Object.entries(said)) {
      await page.goto(`${pathToFileURL(PAGE).href}#${name}&${state}`);
      await page.reload();
      await page.waitForSelector(`#${name} .sentence:not(:empty)`, { timeout: 120_000 });
      expect(await page.textContent(`#${name} ${selector}`)).toBe(words);
      expect(await page.isHidden(`#${name} .trouble`)).toBe(true);
    }
    expect(errors).toEqual([]);
  }, 180_000);

  it("tells a curve's figures at the pointer, and takes a press on the platter", async () => {
    await page.goto(`${pathToFileURL(PAGE).href}#read`);
    await page.waitForSelector("#read .curve ul.legend", { timeout: 120_000 });
    const box = (await page.locator("#read .curve .chart").boundingBox())!;
    const told: string[] = [];
    for (const share of [0.3, 0.8]) {
      await page.mouse.move(box.x + share * box.width, box.y + 60);
      await page.waitForTimeout(300);
      told.push((await page.textContent("#read .curve .chart > div:last-of-type"))!);
    }
    const places = told.map((words) => Number(/drive: (\d+)/.exec(words)?.[1]));
    expect(places[0], told.join()).toBeGreaterThan(10);
    expect(places[0], told.join()).toBeLessThan(40);
    expect(places[1], told.join()).toBeGreaterThan(65);
    const disc = page.locator("#read svg.disc");
    const { width, height } = (await disc.boundingBox())!;
    const targets: number[] = [];
    for (const up of [0.85, 0.5]) {
      // The drawing has 232 by 216 parts; the spindle is 12 left of its middle and 4 below, the outermost track 92 away from there.
      const scale = Math.min(width / 232, height / 216);
      const [x, y] = [width / 2 - 12 * scale, height / 2 + (4 + up * 92) * scale];
      await disc.click({ position: { x, y } });
      targets.push(Number(await page.inputValue("#read .slider input >> nth=0")));
    }
    expect(targets[0]).toBeGreaterThan(10);
    expect(targets[1]).toBeGreaterThan(targets[0]! + 20);
  }, 180_000);

  it("explains each write to a keyboard", async () => {
    await page.goto(`${pathToFileURL(PAGE).href}#plug`);
    await page.waitForSelector("#plug .sentence:not(:empty)", { timeout: 120_000 });
    await page.focus("#plug svg.ribbon");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    expect(await page.textContent("#plug .told")).toMatch(/^Write 3: issued at/);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id }) => id)).toEqual([]);
  }, 180_000);

  it("prints what is set and the cut, and nothing that paper cannot answer", async () => {
    await page.goto(`${pathToFileURL(PAGE).href}#plug&flush=16`);
    await page.waitForSelector("#plug .sentence:not(:empty)", { timeout: 120_000 });
    await page.emulateMedia({ media: "print" });
    const seen = (selector: string): Promise<boolean> => page.isVisible(`#plug ${selector}`);
    const shown = await Promise.all([".slider output", ".control select"].map(seen));
    const hidden = await Promise.all([".guess", ".hint", ".slider input"].map(seen));
    expect([shown, hidden]).toEqual([[true, true], [false, false, false]]);
    expect(await page.locator("#plug line.cut").evaluate((line) => getComputedStyle(line).display)).toBe("inline");
    await page.emulateMedia({ media: null });
  }, 180_000);

  it("compares a pasted job, and shows a fault with its line", async () => {
    await page.goto(`${pathToFileURL(PAGE).href}#job`);
    const text = page.locator("#job textarea");
    await text.fill("[a]\nioengine=libaio\nrw=randraed\n");
    await page.click("#job .go");
    await page.waitForSelector("#job .faults");
    expect(await page.textContent("#job .faults")).toContain("mine.fio:3");
    await text.fill("[a]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\niodepth=16\ntime_based\nruntime=5\n");
    await page.click("#job .go");
    await page.waitForSelector("#job .answer-box .sentence", { timeout: 120_000 });
    expect(await page.textContent("#job .answer-box")).toContain("faster");
    expect(await page.textContent("#job .answer-box .sentence")).toMatch(/faster, [\d.]+ × \[[\d.]+, [\d.]+\], by requests per second/);
    expect(await page.textContent("#job .command code")).toContain("seekwise compare mine.fio --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32");
    await text.fill("[a]\nrw=randread\nbs=4k\nsize=1g\niodepth=8\ntime_based\nruntime=5\n");
    await page.click("#job .go");
    await page.waitForSelector("#job .answer-box .faults", { timeout: 120_000 });
    expect(await page.textContent("#job .answer-box")).toContain("the depth is 1, not 8");
    expect(await page.textContent("#job .answer-box")).toContain("at most one request in flight");
  }, 180_000);
});
