// The figures of the page Explore are the program's: fifty cells, by hash, in node and in a browser. `cargo xtask explore` runs
// this with the program, the module and the page that it built; the browser's part is skipped where there is none.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { connect } from "../../src/explore/connect";

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
    expect(await page.textContent("#job .command code")).toContain("seekwise compare mine.fio --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32");
  }, 180_000);
});
