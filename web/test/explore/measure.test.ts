// What is measured of the page Explore, by a clock or at length, and so not in ci: run it with SEEKWISE_MEASURE=1 and the
// variables of `figures.test.ts`; SEEKWISE_WILD names a folder of fio job files to paste.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { connect } from "../../src/explore/connect";

const { SEEKWISE_PROGRAM: PROGRAM = "", SEEKWISE_MODULE: MODULE = "", SEEKWISE_PAGE: PAGE = "" } = process.env;
const { SEEKWISE_MEASURE, SEEKWISE_WILD: WILD = "" } = process.env;
const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const DRAGGED = ["read", "queue", "plug", "commit", "rebuild"];
const MINUTES = 60_000;

describe.skipIf(SEEKWISE_MEASURE === undefined || !BROWSER)("measured", () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: BROWSER!, args: ["--no-sandbox", "--enable-precise-memory-info"] });
    page = await browser.newPage();
  });
  afterAll(() => browser?.close());
  const open = async (name: string): Promise<void> => {
    await page.goto("about:blank");
    await page.goto(`${pathToFileURL(PAGE).href}#${name}`);
    await page.waitForSelector(name === "job" ? "#job textarea" : `#${name} .sentence:not(:empty)`, { timeout: MINUTES });
  };

  it("how long until the first picture moves", async () => {
    const began = Date.now();
    await open("read");
    await page.waitForFunction(() => Number(document.querySelector<HTMLInputElement>(".clock input")?.value) > 0);
    console.log(`first moving picture after ${Date.now() - began} ms`);
  }, MINUTES);

  it("how long frames take while each page is dragged for 10 s", async () => {
    for (const name of DRAGGED) {
      await open(name);
      await page.waitForTimeout(3000);
      const gaps = await page.evaluate(async (id) => {
        const range = document.querySelector<HTMLInputElement>(`#${id} .slider input`)!;
        const [least, most] = [Number(range.min), Number(range.max)];
        const found: number[] = [];
        let before = performance.now();
        const until = before + 10_000;
        await new Promise<void>((resolve) => {
          const frame = (now: number): void => {
            found.push(now - before);
            before = now;
            const phase = (now / 2000) % 2;
            range.value = String(least + (most - least) * (phase < 1 ? phase : 2 - phase));
            range.dispatchEvent(new Event("input"));
            if (now < until) requestAnimationFrame(frame);
            else resolve();
          };
          requestAnimationFrame(frame);
        });
        return found.slice(2);
      }, name);
      const long = gaps.filter((gap) => gap > 50).length;
      console.log(`${name}: ${gaps.length} frames, the longest ${Math.max(...gaps).toFixed(0)} ms, ${long} over 50 ms`);
    }
  }, 3 * MINUTES);

  it("that a second run stops the first", async () => {
    await open("job");
    const text = (seconds: number): string => `[a]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\niodepth=16\ntime_based\nruntime=${seconds}\n`;
    const commands = async (): Promise<string[]> => page.locator("#job .answer-box .command code").allTextContents();
    await page.selectOption("#job select >> nth=1", "exos-x18");
    await page.fill("#job textarea", text(3000));
    await page.click("#job .go");
    await page.waitForTimeout(1500);
    expect(await commands()).toEqual([]);
    await page.selectOption("#job select >> nth=1", "cheetah-15k.4");
    await page.fill("#job textarea", text(5));
    const began = Date.now();
    await page.click("#job .go");
    await page.waitForSelector("#job .answer-box .sentence", { timeout: MINUTES });
    console.log(`the second answer stands ${Date.now() - began} ms after it was asked for`);
    const second = await commands();
    expect(second).toEqual([expect.stringContaining("cheetah-15k.4")]);
    // The first, if it went on, would be an answer by now.
    await page.waitForTimeout(20_000);
    expect(await commands()).toEqual(second);
  }, 2 * MINUTES);

  it("that a thousand runs leave the memory flat", async () => {
    await open("queue");
    const used = (): Promise<number> =>
      page.evaluate(async () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize);
    const client = await page.context().newCDPSession(page);
    const after = async (runs: number): Promise<number> => {
      await page.evaluate(async (many) => {
        const range = document.querySelector<HTMLInputElement>("#queue .slider input")!;
        for (let run = 0; run < many; run++) {
          const sentence = document.querySelector("#queue .sentence")!;
          const before = sentence.textContent;
          range.value = String(1 + ((run * 7) % 32));
          range.dispatchEvent(new Event("input"));
          for (let wait = 0; wait < 400 && sentence.textContent === before; wait++) await new Promise((done) => setTimeout(done, 5));
        }
      }, runs);
      await client.send("HeapProfiler.collectGarbage");
      return used();
    };
    const sizes = [await after(50), await after(450), await after(500)];
    console.log(`heap after 50, 500, 1000 runs: ${sizes.map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`).join(", ")}`);
    expect(sizes[2]! / sizes[1]!).toBeLessThan(1.1);
  }, 20 * MINUTES);

  it("what becomes of wild job files", async () => {
    const names = WILD === "" ? [] : readdirSync(WILD).filter((name) => name.endsWith(".fio")).sort();
    for (const name of names) {
      await open("job");
      await page.fill("#job textarea", readFileSync(join(WILD, name), "utf8"));
      await page.click("#job .go");
      await page.waitForSelector("#job .answer-box .sentence, #job .faults", { timeout: MINUTES }).catch(() => undefined);
      console.log(`${name}: ${(await page.textContent("#job .answer-box"))!.slice(0, 200)}`);
    }
  }, 20 * MINUTES);

  it("requests a second, beside the program, in turn", () => {
    const ask = connect(new WebAssembly.Module(readFileSync(MODULE)), () => undefined);
    for (const depth of ["1", "32"]) {
      const [set, runtime] = [[["job.depth", depth]], "20000 s"];
      const question = JSON.stringify({ ask: "run", setup: { job: "random-read", target: "exos-x18", set, runtime } });
      const words = ["run", "random-read", "--on", "exos-x18", "--set", `job.depth=${depth}`, "--runtime", runtime, "--json"];
      const took = (work: () => unknown): number => {
        const began = performance.now();
        work();
        return performance.now() - began;
      };
      const native = (): unknown => execFileSync(PROGRAM, words, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
      const ratios = [0, 1, 2].map(() => took(() => ask(question)) / took(native));
      console.log(`depth ${depth}: WebAssembly takes ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")} times as long`);
    }
  }, 5 * MINUTES);
});
