// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";

import { parse, write } from "../src/address";
import type { Chapter, Claim, Review, Verdict } from "../src/report";
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
  return { folder, heading: `About ${folder}`, why: HOSTILE, answers, held: [], report: { ...report(), claims } };
}

function sample(): Review {
  const chapters = [
    chapter("late", [claim("Q10", false), claim("Q2", true)]),
    chapter("early", [claim("Q9", null), claim("Q1", null, "if more comes out")]),
  ];
  return { title: "Two in one", question: HOSTILE, answer: [{ about: "", says: "Some gain." }, { about: HOSTILE, says: HOSTILE }], introduction: ["First.", HOSTILE], command: "c", hash: "h", chapters };
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
    const first = [...all.querySelectorAll("section")].map(({ id }) => id).slice(0, 3);
    expect(first).toEqual(["best", "findings", "compared"]);
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

  it("shows all that leads a part, and the first comparison of a part in which none does", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const verdict = (headline: string, leads: boolean): Verdict => ({ ...one!, headline, leads });
    const said = (verdicts: Verdict[]) => {
      const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, verdicts } }] });
      return [...all.querySelectorAll("#answers .saying > p:nth-child(2)")].map(({ textContent }) => textContent);
    };
    expect(said([verdict("rate", true), verdict("load", true), verdict("else", false)])).toEqual(["rate", "load"]);
    expect(said([verdict("rate", false), verdict("load", false)])).toEqual(["rate"]);
  });

  it("says of a row what is measured, what is held, what a power cut loses, and each figure once", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const verdict: Verdict = {
      ...{ ...one!, headline: "Dropped: shorter, 0.01 to 0.82 × as long at split 128", leads: true, note: null },
      ...{ better: "lower", word: "shorter, at a price", tempered: true, metric: "mean response time", price: "but a power cut loses 32 writes" },
      ...{ at_once: ["the bus", "the drive"] },
      ...{ range: { low: 0.0098, high: 0.821 } },
    };
    const factors = [
      { name: "split", unit: null, says: "commands of so many sectors", levels: ["128"] },
      { name: "depth", unit: null, says: "not spoken of", levels: ["1"] },
    ];
    const all = page({ ...sample(), chapters: [{ ...main, held: ["cache on"], report: { ...main.report, factors, verdicts: [verdict] } }] });
    const row = all.querySelector("#answers .verdicts > li:not(.scale)")!;
    const said = [...row.querySelectorAll(".saying > p")].map(({ textContent }) => textContent);
    expect(said[2]).toBe("… but a power cut loses 32 writes.");
    expect(said[3]).toBe("Changes at once: the bus, the drive. What each does by itself, this row cannot tell.");
    expect(said[4]).toBe("mean response time, of which less is better; all with cache on");
    expect(said.at(-1)).toBe("split: commands of so many sectors.");
    // How far the cells reach comes before their mean, both as the scale has them: half the time is twice as good. Which figure is corrected, stands where one asks for it.
    expect(row.querySelector(".figures")?.textContent).toBe("1.22 to 102 times as good; mean of these 4 cells 0.833 (0.758 to 0.926)");
    expect(row.querySelector(".figures")?.getAttribute("title")).toMatch(/^interval by itself 0.758 to 0.926 times as good .*, corrected for/);
    // The arrow goes with the figure; a gain at a price has no colour.
    expect(row.querySelector(".badge")?.textContent).toBe("▼ shorter, at a price");
    expect(row.querySelector(".badge")?.classList.contains("tempered")).toBe(true);
    expect(row.querySelector(".badge")?.classList.contains("faster")).toBe(false);
    expect(row.querySelector(".strip .range")).not.toBeNull();
    expect(all.querySelector("#answers .lead")?.textContent).toMatch(/A cell, or case, is one combination.*mean of exactly these cells.*if not, it is undecided/);
  });

  it("gives no colour to what is slight, and keeps that of the cells that have it", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const place = { ...one!.place!, regions: [{ ...one!.place!.regions[0]!, verdict: "faster" as const }] };
    const verdict: Verdict = { ...one!, leads: true, word: "faster in 1 of 18", slight: true, place };
    const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, verdicts: [verdict] } }] });
    const classes = (where: string) => [...all.querySelector(where)!.classList];
    expect(classes("#answers .badge")).toEqual(["badge", "tempered"]);
    expect(classes(".hero")).toEqual(["hero", "tempered"]);
    expect(classes(".where .badge")).toEqual(["badge", "faster"]);
  });

  it("lets what a sentence of the answer is of stand out", () => {
    const all = page({ ...sample(), answer: [{ about: "The price: a cut", says: "faster." }, { about: "", says: "1: it comes out." }] });
    const strong = [...all.querySelectorAll(".answer p")].map((p) => [p.querySelector("strong")?.textContent, p.textContent]);
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

  it("shows what leads the parts that answer the question before the findings, and the others after them", () => {
    const of = { ...sample(), chapters: [chapter("aside", []), chapter("main", [], true)] };
    const all = page(of);
    const first = [...all.querySelectorAll("section")].map(({ id }) => id).slice(0, 3);
    expect(first).toEqual(["best", "answers", "compared"]);
    const links = (id: string) => [...all.querySelectorAll(`#${id} .part a`)].map((a) => a.getAttribute("href"));
    expect([links("answers"), links("compared")]).toEqual([["#main"], ["#aside"]]);
  });

  it("puts the answer under the question, and where the question comes from behind it", () => {
    const main = page({ ...sample(), chapters: [chapter("one", [], true)] });
    const order = [".asked", ".answer", "#answers", ".introduction", ".contents", ".chapter"].map((name) => main.querySelector(name)!);
    for (const [first, second] of order.slice(1).map((next, index) => [order[index]!, next] as const)) {
      expect(first.compareDocumentPosition(second) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    }
    // Above its dots a list has their scale: its ends, and where sides are equal.
    expect(main.querySelector("#answers .verdicts > li")?.className).toBe("scale");
    const labels = [...main.querySelectorAll("#answers .scale text")].map(({ textContent }) => textContent);
    expect(labels).toHaveLength(3);
    expect([labels[0], labels[1], labels[2]]).toEqual([expect.stringMatching(/^← worse, 0/), "1 (equal)", expect.stringMatching(/better →$/)]);
    expect(main.querySelector("#answers .scale p")?.textContent).toMatch(/logarithmic.*Right is better\.$/);
  });

  it("draws what is better to the right, whatever is measured", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const dot = (better: Verdict["better"]): number => {
      const verdicts = [{ ...one!, better, ratio: { estimate: 0.5, low: 0.4, high: 0.6 }, range: { low: 0.3, high: 0.7 } }];
      const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, verdicts } }] });
      const [from, to] = ["x1", "x2"].map((end) => Number.parseFloat(all.querySelector("#answers .strip .range")!.getAttribute(end)!));
      expect(from).toBeLessThan(to!);
      return Number.parseFloat(all.querySelector("#answers .strip .dot")!.getAttribute("cx")!);
    };
    expect(dot("lower")).toBeGreaterThan(50);
    expect(dot("lower") + dot("higher")).toBeCloseTo(100, 1);
  });

  it("tells rows of one part apart by what is measured, else by the sides", () => {
    const main = chapter("main", [], true);
    const [one] = main.report.verdicts;
    const titles = (...verdicts: Partial<Verdict>[]) => {
      const led = verdicts.map((verdict) => ({ ...one!, side_a: "one, ICH6R", leads: true, ...verdict }));
      const all = page({ ...sample(), chapters: [{ ...main, report: { ...main.report, verdicts: led } }] });
      return [...all.querySelectorAll("#answers .part")].map(({ textContent }) => textContent);
    };
    expect(titles({ metric: "rate" }, { metric: "load" })).toEqual(["About main: rate", "About main: load"]);
    // Sentences that begin with different names need no more.
    const named = (name: string): Partial<Verdict> => ({ name, metric: "rate", side_b: name });
    expect(titles(named("The queue switched on"), named("A second drive"))).toEqual(["About main", "About main"]);
    expect(titles({ metric: "rate", side_b: "two" }, { metric: "rate", side_b: "three" })).toEqual([
      "About main: two against one, ICH6R",
      "About main: three against one, ICH6R",
    ]);
    expect(titles({ metric: "rate" })).toEqual(["About main"]);
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
    expect(late.querySelectorAll(":scope > section > h3").length).toBeGreaterThan(2);
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
    expect(all.querySelector("#answers")).toBeNull();
    expect(all.querySelector("#findings")).toBeNull();
    expect(all.querySelectorAll(".chapter").length).toBe(2);
  });
});
