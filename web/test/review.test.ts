// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";

import { parse, write } from "../src/address";
import type { Brief, BriefLine, Chapter, Claim, Review, Verdict } from "../src/report";
import { review } from "../src/review";
import { report } from "./sample";

const HOSTILE = '<img src=x onerror="alert(1)">';

const claim = (id: string, reproduced: boolean | null, pending: string | null = null): Claim => ({
  ...{ id, class: "M", finding: HOSTILE, condition: "c", figure: "f", mechanism: "m" },
  ...{ deciding: "9.3, wanted > 10", reading: null, unchecked: null },
  answer: reproduced === null ? "shown" : reproduced ? "reproduced" : "not reproduced",
  reproduced,
  pending,
});

function chapter(folder: string, claims: Claim[], answers = false): Chapter {
  return { folder, heading: `About ${folder}`, why: HOSTILE, answers, held: [], arm: true, report: { ...report(), claims } };
}

/** A review that asks for no best level. */
function changes(of: Partial<Review>): Review {
  const whole = { ...sample(), ...of };
  return { ...whole, chapters: whole.chapters.map((one) => ({ ...one, report: { ...one.report, best: [] } })) };
}

const dots = (...ratios: number[]): BriefLine["cases"] =>
  ratios.map((ratio) => ({ ratio, verdict: ratio > 1 ? "faster" : ratio < 1 ? "slower" : "not enough data" }));

/** An answer in two sentences. */
function brief(): Brief {
  return { says: "", lines: [{ says: "The queue: faster in 2 of 3 cases, slower in 1.", cases: dots(1.5, 2, 0.9) }, { says: HOSTILE, cases: dots(1) }] };
}

function sample(): Review {
  const chapters = [
    chapter("late", [claim("Q10", false), claim("Q2", true)]),
    chapter("early", [claim("Q9", null), claim("Q1", null, "if more comes out")]),
  ];
  return { title: "Two in one", question: HOSTILE, brief: brief(), answer: [{ about: "", says: "Some gain." }, { about: HOSTILE, says: HOSTILE }], introduction: ["First.", HOSTILE], command: "c", hash: "h", chapters };
}

/** The page's parts in one element. */
function page(of: Review): HTMLElement {
  const main = document.createElement("main");
  main.append(...review(of).sections);
  return main;
}

describe("a review", () => {
  it("begins with all findings in the source's order, each with its chapter and what came of it", () => {
    const rows = [...page(sample()).querySelectorAll(".findings > li")];
    expect(rows.map((row) => row.querySelector("strong")?.textContent)).toEqual(["Q1", "Q2", "Q9", "Q10"]);
    const came = rows.map((row) => row.querySelector(".badge")?.textContent);
    expect(came).toEqual(["holds so far", "✓ reproduced", "shown", "✗ not reproduced"]);
    expect(rows[0]!.querySelector("a")?.getAttribute("href")).toBe("#early");
    expect(page(sample()).querySelector("#findings .lead")?.textContent).toMatch(/^1 of 2 findings .*; 1 finding so far, .*; of 1 finding the figures/);
  });

  it("says first which level is best for each kind of work, and how far the others are behind", () => {
    const all = page(sample());
    const best = all.querySelector("#best")!;
    expect(best.querySelector("h2")?.textContent).toMatch(/^Which .* for which work$/);
    const row = [...best.querySelectorAll("tbody tr:first-child td")].map(({ textContent }) => textContent);
    expect(row.slice(0, 2)).toEqual(["100 % ± 0.0", "70 % ± 1.0"]);
    expect(best.querySelectorAll("tbody strong").length).toBe(2);
    const first = [...all.querySelectorAll(":scope > .section")].map(({ id }) => id);
    expect(first).toEqual(["sure", "answer", "best", "verdicts", "findings", "late", "early", "method"]);
  });

  it("leads to the pages of parts alone, whatever their folders are called", () => {
    for (const folder of ["javascript:alert(document.domain)%2f", "//example.org", "data:text/html,x", "a b#c?d"]) {
      const of = { ...sample(), chapters: [chapter(folder, [claim("Q1", true)])] };
      const links = [...page(of).querySelectorAll("a")].map((link) => link.getAttribute("href")!);
      const away = links.filter((href) => !href.startsWith("#"));
      expect(away.length).toBeGreaterThan(0);
      for (const href of away) {
        const { protocol, host, pathname } = new URL(href, "file:///results/report.html");
        expect([protocol, host, pathname.endsWith("/report.html")]).toEqual(["file:", "", true]);
        expect(decodeURIComponent(pathname)).toBe(`/results/${folder}/report.html`);
      }
    }
  });

  it("names a kind of work in which no level is best", () => {
    const share = (level: string, alike: boolean) => ({ level, ratio: alike ? 1 : 0.5, low: 1, high: 1, alike });
    const row = (work: string, ...alike: [boolean, boolean]) => ({
      ...{ work, factor: "segments", best: "4", claims: [], margin_percent: 2 },
      levels: [share("4", alike[0]), share("8", alike[1])],
    });
    const rows = [row("reads", true, true), row("writes", true, false)];
    const main = chapter("main", [], true);
    const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, best: rows } }] });
    const cells = [...all.querySelectorAll("#best tbody tr")].map((tr) => tr.querySelectorAll("td")[2]?.textContent);
    expect(cells).toEqual(["all alike", "4"]);
  });

  it("has an answer of several sentences in its picture, within 40 words of the question and 120 in all", () => {
    const of = changes({ question: "How much is gained?", chapters: [chapter("main", [claim("Q1", true)], true)] });
    of.chapters[0]!.report.verdicts = of.chapters[0]!.report.verdicts.map((one) => ({ ...one, at_once: ["the bus", "the drive"], cause: null, price: null, name: "The queue", metric: "rate" }));
    const first = page(of).querySelector(".first")!;
    expect(first.querySelector("h1")?.textContent).toBe("How much is gained?");
    expect(first.querySelector(".headline")).toBeNull();
    expect([...first.querySelectorAll(".saying li > span")].map(({ textContent }) => textContent).slice(0, 2)).toEqual(brief().lines.map(({ says }) => says));
    expect([...first.querySelectorAll(".dot")].map(({ classList }) => classList[1])).toEqual(["faster", "faster", "slower", "not-enough-data"]);
    expect(first.querySelector("figcaption")?.textContent).toBe("Each dot is one case; hollow: undecided");
    expect(first.querySelectorAll(".ratio").length).toBe(1);
    expect(first.querySelector(".ratio")?.textContent).toBe("The queue: on average 1.20\u00a0times the rate (95\u00a0% interval 1.08 to 1.32)");
    expect(first.textContent).toContain("2 things change at once.");
    expect(first.querySelector(".onward a")?.getAttribute("href")).toBe("./main/report.html#arm");
    const still = of.chapters.map((one) => ({ ...one, arm: false }));
    expect(page({ ...of, chapters: still }).querySelector(".onward")).toBeNull();
    expect(first.textContent).toContain("1 of 1 finding reproduced");
    const words = (first.textContent ?? "").split(/\s+/);
    expect(words.length).toBeLessThanOrEqual(120);
    expect(words.indexOf("queue:")).toBeLessThanOrEqual(40);
  });

  it("has a headline where one sentence answers, and its parts in the picture", () => {
    const parts = ["One", "Two"].map((says) => ({ says, cases: dots(1.5) }));
    const first = page(changes({ brief: { says: "The queue: faster in all 2 cases.", lines: parts } })).querySelector(".first")!;
    expect(first.querySelector(".headline")?.textContent).toBe("The queue: faster in all 2 cases.");
    expect(first.querySelector(".saying")).toBeNull();
    expect(first.querySelector("figcaption")?.textContent).toBe("The queue: each dot is one case");
    expect([...first.querySelectorAll("li > span")].map(({ textContent }) => textContent).slice(0, 2)).toEqual(["One\u00a01.5×", "Two\u00a01.5×"]);
  });

  it("draws no gain that costs data without saying so", () => {
    const one = chapter("cuts", [], true);
    const [verdict] = one.report.verdicts;
    const priced = { ...verdict!, price: "but a power cut loses 49 writes, none without it" };
    const chapters = [{ ...one, heading: "The price", report: { ...one.report, verdicts: [priced] } }];
    const lines = [{ says: "The price", cases: dots(1.5) }, { says: "Two", cases: dots(1.5) }];
    const first = page(changes({ chapters, brief: { says: "The cache: faster in all 2 cases.", lines } })).querySelector(".first")!;
    const said = [...first.querySelectorAll("li > span")].map(({ textContent }) => textContent);
    expect(said.slice(0, 2)).toEqual(["The price: a power cut loses 49 writes\u00a01.5×", "Two\u00a01.5×"]);
    expect([...first.querySelectorAll(".dot")].map((dot) => dot.getAttribute("class"))).toEqual(["dot tempered", "dot faster"]);
    expect(first.querySelector("p.price")).toBeNull();
  });

  it("takes its number and its reason from the first comparison that shows something, and names the change that has a price", () => {
    const [none, some] = [chapter("none", [], true), chapter("some", [], true)];
    const [one] = none.report.verdicts;
    const of = (part: Chapter, change: Partial<Verdict>): Chapter => ({ ...part, report: { ...part.report, verdicts: [{ ...one!, leads: true, price: null, cells: 1, ...change }] } });
    const chapters = [
      of(none, { verdict: "no difference", ratio: { estimate: 1, low: 1, high: 1 }, name: "The cache", price: "but a power cut loses 49 writes, none without it" }),
      of(some, { ratio: { estimate: 0.5, low: 0.4, high: 0.6 } }),
    ];
    const first = page(changes({ chapters })).querySelector(".first")!;
    expect(first.querySelector(".ratio")?.textContent).toContain("0.500\u00a0times");
    expect(first.querySelector(".ratio a")?.getAttribute("href")).toBe("#some");
    expect(first.querySelector(".price")?.textContent).toBe("The cache: a power cut loses 49 writes.");
  });

  it("draws each level, and names the one that falls least, where a level is asked for", () => {
    const share = (level: string, ratio: number) => ({ level, ratio, low: ratio - 0.01, high: ratio + 0.01, alike: ratio > 0.98 });
    const row = (work: string, few: number, many: number) => ({ ...{ work, factor: "segments", best: "4", claims: [], margin_percent: 2 }, levels: [share("4", few), share("64", many)] });
    const main = chapter("main", [], true);
    const best = [row("reads", 1, 0.5), row("writes", 0.8, 1)];
    const first = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, best } }] }).querySelector(".first")!;
    expect([...first.querySelectorAll("li > span")].map(({ textContent }) => textContent).slice(0, 2)).toEqual(["segments 4", "segments 64"]);
    expect([...first.querySelectorAll(".dot")].map(({ classList }) => classList[1])).toEqual(["faster", "slower", "slower", "faster"]);
    expect(first.querySelector(".ratio")?.textContent).toBe("80.0\u00a0% of the best at worst, with segments 4 (95\u00a0% interval 79.0 to 81.0, in writes)");
  });

  it("has all verdicts of all parts in one table, what leads first, and finds those of a part", () => {
    const of = sample();
    of.chapters[1]!.report.verdicts[1]!.leads = true;
    const { sections, choices } = review(of);
    const all = document.createElement("main");
    all.append(...sections);
    document.body.replaceChildren(all);
    const table = all.querySelector<HTMLDetailsElement>("#verdicts")!;
    table.scrollIntoView = () => undefined;
    expect(all.querySelectorAll("table.verdicts").length).toBe(1);
    const rows = (): (string | null | undefined)[] => [...all.querySelectorAll("table.verdicts tbody tr")].map((row) => row.querySelector("a")?.getAttribute("href"));
    expect(rows()).toEqual(["#early", "#late", "#late", "#early"]);
    [...all.querySelectorAll<HTMLButtonElement>("#late button")].find(({ textContent }) => textContent === "2 verdicts in the table")!.click();
    expect(rows()).toEqual(["#late", "#late"]);
    expect(choices.state()).toContainEqual(["verdicts.find", "About late"]);
    expect(table.open).toBe(true);
  });

  it("gives no colour to what is slight", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const verdict: Verdict = { ...one!, leads: true, word: "faster in 1 of 18", slight: true };
    const all = page(changes({ chapters: [{ ...main, report: { ...main.report, verdicts: [verdict, one!] } }] }));
    all.querySelector("table.verdicts details")!.dispatchEvent(new Event("toggle"));
    const classes = (where: string) => [...all.querySelector(where)!.classList];
    expect(classes("table.verdicts > tbody > tr > td > .badge")).toEqual(["badge", "tempered"]);
    expect(classes("#main .led .badge")).toEqual(["badge", "tempered"]);
    expect(classes(".hero")).toEqual(["hero", "tempered"]);
  });

  it("says in a row what is held, what a price is, and what factors are whose names do not say it", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const verdict: Verdict = { ...one!, headline: "Dropped: shorter at split 128", better: "lower", metric: "time", price: "but a power cut loses 32 writes", at_once: ["the bus", "the drive"], word: "shorter, at a price", tempered: true };
    const factors = [
      { name: "split", unit: null, says: "commands of so many sectors", levels: ["128"] },
      { name: "depth", unit: null, says: "not spoken of", levels: ["1"] },
    ];
    const all = page({ ...sample(), chapters: [{ ...main, held: ["cache on"], report: { ...main.report, factors, verdicts: [verdict, one!] } }] });
    const row = all.querySelector("table.verdicts tbody tr")!;
    row.querySelector("details")!.dispatchEvent(new Event("toggle"));
    for (const said of ["time, of which less is better", "all withcache on", "… but a power cut loses 32 writes.", "Changes at once: the bus, the drive.", "split: commands of so many sectors."])
      expect(row.textContent).toContain(said);
    expect(row.textContent).not.toContain("not spoken of");
    // The arrow goes with the figure.
    expect(row.querySelector(":scope > td > .badge")?.textContent).toBe("▼ shorter, at a price");
  });

  it("lets what a sentence of the answer is of stand out", () => {
    const all = page({ ...sample(), answer: [{ about: "The price: a cut", says: "faster." }, { about: "", says: "1: it comes out." }] });
    const strong = [...all.querySelectorAll("#answer .answer p")].map((p) => [p.querySelector("strong")?.textContent, p.textContent]);
    expect(strong).toEqual([["The price: a cut:", "The price: a cut: faster."], [undefined, "1: it comes out."]]);
  });

  it("tells fields apart down to the worst, and names the margin", () => {
    const share = (level: string, ratio: number) => ({ level, ratio, low: ratio, high: ratio, alike: ratio > 0.98 });
    const row = (...ratios: [number, number, number]) => ({
      ...{ work: "w", factor: "segments", best: "4", claims: [], margin_percent: 2 },
      levels: [share("4", ratios[0]), share("8", ratios[1]), share("16", ratios[2])],
    });
    const rows = [row(1, 0.4, 0.97), row(1, 0.7, 0.97), row(0.5, 1, 0.97)];
    const main = chapter("main", [], true);
    const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, best: rows } }] });
    const shades = [...all.querySelectorAll<HTMLElement>("#best .share")].map((td) => Number(/\d+/.exec(td.getAttribute("style")!)?.[0]));
    expect([shades[1], shades[4], shades[6], shades[0]]).toEqual([100, 62, 88, 0]);
    expect(all.querySelector("#best .lead")?.textContent).toMatch(/surely behind it by no more than 2 %.*the darkest is 40\u202f% of the best/);
  });

  it("draws what is better to the right, whatever is measured", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const dot = (better: Verdict["better"]): number => {
      const verdicts = [{ ...one!, better, ratio: { estimate: 0.5, low: 0.4, high: 0.6 }, range: { low: 0.3, high: 0.7 } }, one!];
      const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, verdicts } }] });
      const [from, to] = ["x1", "x2"].map((end) => Number.parseFloat(all.querySelector("table.verdicts .strip .stem")!.getAttribute(end)!));
      expect(from).toBeLessThan(to!);
      return Number.parseFloat(all.querySelector("table.verdicts .strip .dot")!.getAttribute("cx")!);
    };
    expect(dot("lower")).toBeGreaterThan(50);
    expect(dot("lower") + dot("higher")).toBeCloseTo(100, 1);
  });

  it("gives every place one name, and no link leads nowhere", () => {
    const all = page(sample());
    const names = [...all.querySelectorAll("[id]")].map(({ id }) => id);
    expect(new Set(names).size).toBe(names.length);
    for (const link of all.querySelectorAll("a")) {
      const href = link.getAttribute("href")!;
      if (href.startsWith("#")) expect(names).toContain(href.slice(1));
      else expect(href).toMatch(/^\.\/(late|early)\/report\.html/);
    }
    for (const named of all.querySelectorAll("[aria-labelledby]")) {
      expect(names).toContain(named.getAttribute("aria-labelledby"));
    }
  });

  it("has headings of one level below another", () => {
    const late = page(sample()).querySelector("#late")!;
    expect([...late.querySelectorAll("h2")].map(({ textContent }) => textContent)).toEqual(["1 About late"]);
    expect(late.querySelectorAll(":scope > .section > summary > h3").length).toBeGreaterThan(2);
  });

  it("keeps each chapter's choice apart in the address", () => {
    const { choices } = review(sample());
    const address = "#early-bars&early:metric=p99&late:at.depth=64";
    choices.restore(parse(address).state);
    expect(new Set(parse(write("", choices.state())).state)).toEqual(new Set(parse(address).state));
    choices.restore([]);
    expect(choices.state()).toEqual([]);
  });

  it("lets names from files stay text", () => {
    const all = page(sample());
    expect(all.textContent).toContain(HOSTILE);
    expect(all.querySelector("img")).toBeNull();
  });

  it("has chapters without comparisons, claims and cells", () => {
    const bare = sample();
    const none: { verdicts: Verdict[]; claims: Claim[] } = { verdicts: [], claims: [] };
    bare.chapters = bare.chapters.map((one) => ({ ...one, report: { ...one.report, ...none, cells: [] } }));
    const all = page(bare);
    expect(all.querySelector("#verdicts")).toBeNull();
    expect(all.querySelector("#findings")).toBeNull();
    expect(all.querySelectorAll(".chapter").length).toBe(2);
  });
});
