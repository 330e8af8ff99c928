// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";

import { Choice } from "../src/choice";
import { anatomy } from "../src/anatomy";
import { arm } from "../src/arm";
import { waitingWords } from "../src/disc";
import { cells } from "../src/cells";
import { claims } from "../src/claims";
import { curves, lines } from "../src/curves";
import { cumulative } from "../src/distribution";
import { el, section } from "../src/dom";
import { first, howSure } from "../src/first";
import { heading, mainFigures, unfinished, warnings } from "../src/overview";
import { legend } from "../src/controls";
import { members } from "../src/members";
import { method } from "../src/method";
import { stack } from "../src/stack";
import { verdictTable } from "../src/verdicts";
import { sorted } from "../src/table";
import { percentiles } from "../src/percentiles";
import { readReport, type Cell, type Report, type Stretch } from "../src/report";
import { requestsFigure } from "../src/requests";
import { accesses, sharedBeginning, waitingAt } from "../src/queue";
import { at, current, ending, movedFor, movements, requests, told, writtenOut } from "../src/stretch";
import { apart } from "../src/chart";
import { follow, parse, write } from "../src/address";
import { csv } from "../src/csv";
import { standalone } from "../src/download";
import { named } from "../src/palette";
import { partOf, show } from "../src/zoom";
import { cell, HOSTILE, interval, report, stretch } from "./sample";

describe("names from files", () => {
  it("stay text wherever they stand", () => {
    const hostile = report();
    const choice = new Choice(hostile);
    const parts = [
      heading(hostile),
      warnings(hostile),
      first(hostile, true),
      howSure(hostile),
      table(hostile, choice),
      stack(hostile),
      cells(hostile, choice),
      requestsFigure(choice, told(hostile, choice), null),
      arm(choice, told(hostile, choice)).element,
      claims(hostile),
      method(hostile),
      legend(choice),
      anatomy(choice),
    ];
    for (const part of parts) {
      expect(part?.textContent).toContain(HOSTILE);
      expect(part?.querySelector("img")).toBeNull();
      expect(part?.querySelector("[onerror]")).toBeNull();
    }
  });

  it("stay text in elements and attributes", () => {
    const element = el("p", { title: HOSTILE }, HOSTILE);
    expect(element.childNodes.length).toBe(1);
    expect(element.getAttribute("title")).toBe(HOSTILE);
  });
});

describe("the members of an array", () => {
  const member = {
    member: 0,
    read_mb: 4,
    written_mb: 4,
    read_before_writes_mb: 4,
    sync_mb: 0,
    bitmap_mb: 0,
    busy_percent: 50,
  };
  const array = {
    before_writes: `first ${HOSTILE}`,
    bytes: HOSTILE,
    read_per_byte_read: null,
    read_per_byte_written: 2,
    written_per_byte_written: 2,
    members: [member, { ...member, member: 1, busy_percent: 99.5 }],
  };

  it("are told by side, without columns that none of them uses", () => {
    const some = report();
    const with_array = { ...some, cells: some.cells.map((one) => ({ ...one, array })) };
    const section = members(new Choice(with_array), true);
    expect(section?.textContent).toContain(HOSTILE);
    expect(section?.querySelector("img")).toBeNull();
    expect(anatomy(new Choice(with_array)).textContent).toContain(`first ${HOSTILE}`);
    const heads = [...section!.querySelectorAll("table")[0]!.querySelectorAll("thead th")];
    expect(heads.map(({ textContent }) => textContent)).toEqual([
      "member",
      "read, MB",
      "of it before writes, MB",
      "written, MB",
      "busy, %",
    ]);
    expect(section?.querySelectorAll("tbody tr").length).toBe(4);
    const metrics = new Choice(with_array).metrics.map(({ id }) => id);
    expect(metrics.slice(-2)).toEqual(["array.read_per_byte_written", "array.written_per_byte_written"]);
  });

  it("are left out without an array", () => {
    expect(members(new Choice(report()), false)).toBeNull();
    expect(new Choice(report()).metrics.some(({ id }) => id.startsWith("array."))).toBe(false);
  });
});

describe("the choice", () => {
  it("opens on the headline's cells and compares its sides", () => {
    const choice = new Choice(report());
    expect(choice.compared).toBe(0);
    expect(choice.levels).toEqual(["on", "8"]);
    expect(choice.reference()?.level).toBe(HOSTILE);
    expect(choice.numericFactors()).toEqual([1]);
    expect(choice.sides().map((side) => choice.cell(side)?.id)).toEqual([`${HOSTILE}/8`, "on/8"]);
  });

  it("has one side for a plain run", () => {
    const choice = new Choice({ ...report(), factors: [], verdicts: [], cells: [cell([], 5)] });
    expect(choice.sides().map((side) => choice.cell(side)?.iops.estimate)).toEqual([5]);
    expect(choice.grouped).toBe(-1);
  });

  it("hides a side, and shows all when another factor is compared", () => {
    const choice = new Choice(report());
    choice.change(() => choice.hidden.add("on"));
    expect(choice.sides().map(({ letter }) => letter)).toEqual(["A"]);
    choice.change(() => choice.compare(1));
    expect(choice.sides().map(({ letter }) => letter)).toEqual(["A", "B", "C"]);
    expect(choice.grouped).toBe(0);
  });
});

it("keeps every figure in step when the only factor of numbers is compared", () => {
  const choice = new Choice(report());
  const [lines, parts] = [curves(choice), anatomy(choice)];
  const letters = (part: Element | null): number | undefined => part?.querySelectorAll(".legend li").length;
  expect(letters(lines)).toBe(2);
  choice.change(() => choice.compare(1));
  expect(letters(lines)).toBe(0);
  expect([...parts.querySelectorAll(".legend li")].map((item) => item.textContent)).toEqual([
    "Adepth 1",
    "Bdepth 8",
    "Cdepth 64",
  ]);
  choice.change(() => choice.compare(0));
  expect(letters(lines)).toBe(2);
});

describe("curves", () => {
  const drawn = (depths: string[]): object[] => {
    const some = report();
    some.factors[1]!.levels = depths;
    some.cells = some.cells.filter(({ levels }) => depths.includes(levels[1]!));
    return lines(new Choice(some), 1) as object[];
  };

  it("are lines through three points, and points with whiskers where there are two", () => {
    const shape = (series: object[]): unknown[] =>
      series.map((one) => {
        const { name, lineStyle } = one as { name: string; lineStyle?: { width: number } };
        return lineStyle ? lineStyle.width > 0 : name.split(" ").at(-1);
      });
    expect(shape(drawn(["1", "8", "64"]))).toEqual(["band", true, "band", true]);
    expect(shape(drawn(["1", "64"]))).toEqual(["whiskers", false, "whiskers", false]);
  });
});

/** The table of a report's verdicts. */
function table(of: Report, choice = new Choice(of)): HTMLElement {
  return verdictTable([{ report: of, place: "", part: "", held: [] }], choice)!;
}

/** Words that are seen on a screen. */
function words(text: string | null | undefined): number {
  return (text ?? "").split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** A report of a comparison over so many cells, half as good to many times as good. */
function withCells(count: number, better: "higher" | "lower" = "lower"): Report {
  const some = report();
  const lead = { ...some.verdicts[0]!, name: "The queue", side_a: "1", side_b: "32", metric: "requests per second", better };
  const cells = Array.from({ length: count }, (_, index) => {
    const estimate = 0.5 * 1.1 ** index;
    const verdict = estimate < 1 === (better === "lower") ? "faster" : "slower";
    const ratio = { estimate, low: 0.95 * estimate, high: 1.05 * estimate };
    return { ...lead, cells: 1, cell: `depth ${index}`, ratio, range: null, verdict, leads: false } as typeof lead;
  });
  some.question = "Is it faster with a queue of 32 than with a queue of 1?";
  some.verdicts = [{ ...lead, cells: count, verdict: "mixed", word: `mixed: faster in 7 of ${count}`, leads: true, price: null, at_once: [] }, ...cells];
  return some;
}

describe("the first screen", () => {
  const screen = (of: Report): HTMLElement => first(of, true)!;
  const lines = (of: Report): (string | null)[] => [...screen(of).querySelectorAll(".by-cell li > span")].map((it) => it.textContent!.replace(/\u00a0[\d.]+×$/, ""));

  it("has the question first, the answer within 40 words of it, and 120 words in all", () => {
    const drawn = screen(withCells(20));
    const before = drawn.querySelector("h1")!;
    expect(before.textContent).toBe("Is it faster with a queue of 32 than with a queue of 1?");
    expect(before.compareDocumentPosition(drawn.querySelector(".headline")!) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(words(before.textContent)).toBeLessThanOrEqual(40);
    expect(words(drawn.textContent)).toBeLessThanOrEqual(120);
  });

  it("has one picture, one number with its interval, why, and the way to the arm", () => {
    const drawn = screen(withCells(20));
    expect(drawn.querySelectorAll("figure").length).toBe(1);
    expect([...drawn.querySelectorAll(".ratio")].map(({ textContent }) => textContent)).toEqual([
      "On average 1.20\u00a0times the requests per second (95\u00a0% interval 1.08 to 1.32)",
    ]);
    expect(drawn.querySelector(".onward a")?.getAttribute("href")).toBe("#arm");
    expect(first(withCells(20), false)!.querySelector(".onward")).toBeNull();
    expect(first({ ...report(), verdicts: [] }, true)).toBeNull();
  });

  it("says a long answer by its word, and a single cell's without the figures that stand beside it", () => {
    const said = (of: Report, change: Partial<Report["verdicts"][0]>): string | undefined => {
      of.verdicts[0] = { ...of.verdicts[0]!, ...change };
      return screen(of).querySelector(".headline")?.textContent?.slice(of.verdicts[0].verdict === "mixed" ? 2 : 1);
    };
    expect(said(withCells(20), { headline: "The queue: faster at depth 8 and more; the answer changes between 4 and 8" })).toBe("The queue: faster at depth 8 and more");
    expect(said(withCells(20), { headline: "word ".repeat(40) })).toBe("The queue: faster in 7 of 20 cells");
    const one = { cells: 1, cell: "depth 8", verdict: "faster" as const, word: "faster", headline: "The queue: faster, 1.86 × [1.85, 1.87]" };
    expect(said(withCells(0), one)).toBe("The queue: faster at depth 8");
  });

  it("tells why by the work of each request: without waiting that follows from it, and without small parts", () => {
    const why = (text: string): string | undefined => {
      const of = withCells(3);
      of.verdicts.forEach((verdict) => (verdict.cause = null));
      of.verdicts[2]!.cause = { of: "reads", from_ms: 9, to_ms: 4, parts: {}, text };
      return first(of, false)!.querySelector(".cause")?.textContent ?? undefined;
    };
    expect(why("each read: own work 13.1 -> 7.2 ms, -5.9 (seek -4.7, the rest -0.1). Waiting falls with it")).toBe("Why, at depth 1: each read: own work 13.1 → 7.2 ms, −5.9 (seek −4.7).");
    expect(why("mean response 9 -> 4 ms, -5 ms: waiting -1.0, 20 % (queue -1.0); own work -4.0, 80 % (seek -4.0)")).toBe("Why, at depth 1: mean response 9 → 4 ms, −5 ms: own work −4.0 (seek −4.0).");
    expect(why("each read: own work 13.1 -> 13.1 ms. Waiting 0.1 -> 9.1 ms, +9.0 (queue +9.0), with 2 outstanding. Mean")).toBe("Why, at depth 1: Waiting 0.1 → 9.1 ms, +9.0 (queue +9.0), with 2 outstanding.");
    expect(why("mean response 9 -> 4 ms, -5 ms: waiting -4.0 (queue -4.0); own work -1.0 (seek -1.0)")).toBe("Why, at depth 1: mean response 9 → 4 ms, −5 ms: waiting −4.0 (queue −4.0).");
  });

  it("draws cells from the best to the worst in the colours of their verdicts", () => {
    expect(lines(withCells(5)).slice(0, 5)).toEqual([0, 1, 2, 3, 4].map((cell) => `depth ${cell}`));
    expect(lines(withCells(3, "higher")).slice(0, 3)).toEqual(["depth 2", "depth 1", "depth 0"]);
    const dots = [...screen(withCells(5)).querySelectorAll(".dot")].map(({ classList }) => classList[1]);
    expect(dots).toEqual(["faster", "faster", "faster", "faster", "faster"]);
  });

  it("draws the best and the worst of many, and the others as dots on one line", () => {
    const many = lines(withCells(20));
    expect(many.slice(0, 7)).toEqual(["depth 0", "depth 1", "depth 2", "14 cells between", "depth 17", "depth 18", "depth 19"]);
    expect(screen(withCells(20)).querySelectorAll(".dot").length).toBe(20);
    expect(screen(withCells(20)).querySelectorAll(".dot.slower").length).toBe(12);
  });

  it("draws the regions of an effect with their ranges, where there are several", () => {
    const of = withCells(20, "higher");
    const region = (place: string, low: number, high: number) => ({ place, verdict: "faster" as const, word: "faster", cells: 3, undecided: low < 1 ? 13 : 0, ratio: { low, high }, by: "" });
    of.verdicts[0]!.place = { text: "", regions: [region("reads", 1.1, 1.3), region("writes", 0.9, 0.9)], turns: [] };
    expect(lines(of).slice(0, 2)).toEqual(["reads (3 cells)", "writes (3 of 16 cells)"]);
    expect(screen(of).querySelectorAll(".span").length).toBe(1);
    expect(screen(of).querySelectorAll(".dot").length).toBe(1);
    of.verdicts[0]!.place.regions = Array.from({ length: 9 }, () => region("all over", 1, 2));
    expect(lines(of)[0]).toBe("depth 19");
  });

  it("names the best of several sides that stand against one base, and none that is not known to be", () => {
    const of = report();
    const side = (side_b: string, estimate: number, verdict: Report["verdicts"][0]["verdict"] = estimate > 1 ? "faster" : "slower") => ({
      ...of.verdicts[0]!, side_a: "1", side_b, cells: 1, range: null, verdict,
      ratio: { estimate, low: estimate - 0.01, high: estimate + 0.01 },
    });
    const said = (...verdicts: Report["verdicts"]): (string | null | undefined)[] => {
      const drawn = screen({ ...of, verdicts });
      return [drawn.querySelector(".headline")?.textContent, drawn.querySelector(".ratio")?.textContent?.split(" the ")[0]];
    };
    expect(said(side("8", 1.5), side("64", 2))).toEqual(["Best of 3: depth 64", "Depth 64: 2.00\u00a0times"]);
    expect(said(side("8", 0.5), side("64", 0.8))).toEqual(["Best of 3: depth 1", "Depth 64: 0.800\u00a0times"]);
    expect(said(side("8", 1.1), side("64", 1.2, "not enough data"))[0]).toBe("Best of 3: depth 8");
    expect(said(side("8", 1.5), side("64", 1.51), side("16", 1.2))[0]).toBe("Best of 4: depth 64 or depth 8");
    expect(said(side("8", 1.1, "not enough data"), side("64", 1, "no difference"))[0]).toBe("Not decided between 3");
    expect(said(side("8", 1, "no difference"), side("64", 1.001, "no difference"))[0]).toBe("No difference between 3");
    expect(said(side("8", 0.5), side("64", 1, "no difference"))[0]).toBe("No difference between 3");
  });

  it("draws each side of a single cell against the base", () => {
    const one = report();
    one.verdicts = one.verdicts.map((verdict) => ({ ...verdict, cells: 1, range: null }));
    expect(lines(one).slice(0, 2)).toEqual([HOSTILE, `${HOSTILE} on`]);
    expect([...screen(one).querySelectorAll(".by-cell strong")].map(({ textContent }) => textContent)).toContain("\u00a01.2×");
  });
});

describe("the table of verdicts", () => {
  const shown = (section: HTMLElement): (string | undefined)[] => [...section.querySelectorAll("tbody tr")].map((row) => row.querySelectorAll("td")[1]?.textContent ?? undefined);
  const press = (section: HTMLElement, name: string): void =>
    [...section.querySelectorAll<HTMLElement>("thead button")].find(({ textContent }) => textContent === name)!.click();

  it("sorts by every column, and says so", () => {
    const section = table(withCells(4));
    expect(shown(section)[0]).toBe("all 4 cells");
    for (const head of section.querySelectorAll("thead th")) {
      head.querySelector("button")!.click();
      expect(head.getAttribute("aria-sort")).toBe("ascending");
      expect(section.querySelectorAll("[aria-sort]").length).toBe(1);
    }
    press(section, "ratio");
    expect(shown(section).slice(0, 2)).toEqual(["depth 0", "depth 1"]);
    press(section, "ratio");
    expect(shown(section)[0]).toBe("all 4 cells");
  });

  it("searches, in the address too, and shows the rest of many rows when asked", () => {
    const of = withCells(30);
    const choice = new Choice(of);
    const section = table(of, choice);
    expect(shown(section).length).toBe(20);
    [...section.querySelectorAll("button")].find(({ textContent }) => textContent === "Show all")!.click();
    expect(shown(section).length).toBe(31);
    const box = section.querySelector<HTMLInputElement>("input[type=search]")!;
    expect(box.closest("label")?.textContent).toBe("search the verdicts");
    box.value = "Depth 29";
    box.dispatchEvent(new Event("input"));
    expect(shown(section)).toEqual(["depth 29"]);
    box.dispatchEvent(new Event("change"));
    expect(choice.state()).toContainEqual(["verdicts.find", "Depth 29"]);
    choice.restore([["verdicts.find", "no such words"]]);
    expect(shown(section)).toEqual([]);
  });

  it("opens a row to all that is known of its verdict", () => {
    const section = table(report());
    const row = section.querySelector<HTMLDetailsElement>("tbody details")!;
    row.dispatchEvent(new Event("toggle"));
    for (const said of [`cause ${HOSTILE}`, `beside ${HOSTILE}`, "Changes at once", `… ${HOSTILE}.`, "corrected for the number of comparisons", "margin"])
      expect(row.textContent).toContain(said);
  });
});

it("opens what an address leads into", () => {
  const of = report();
  const inner = el("p", { id: "inside" });
  const outer = section("outer", "Outer", null, section("inner", "Inner", null, inner));
  document.body.replaceChildren(outer, el("a", { href: "#inside" }, "there"));
  inner.scrollIntoView = () => undefined;
  expect([outer.open, inner.closest("details")!.open]).toEqual([false, false]);
  history.replaceState(null, "", "#inside");
  follow(new Choice(of));
  expect([outer.open, inner.closest("details")!.open]).toEqual([true, true]);
  outer.open = false;
  document.querySelector("a")!.click();
  expect(outer.open).toBe(true);
  history.replaceState(null, "", "#");
});

describe("figures", () => {
  it("add up to the whole distribution", () => {
    const steps = cumulative({
      histogram: [
        [10, 500],
        [20, 400],
        [60, 100],
      ],
    });
    expect(steps).toEqual([
      { ms: 10, part: 0.5 },
      { ms: 20, part: 0.9 },
      { ms: 60, part: 1 },
    ]);
  });

  it("are sorted as numbers, missing ones last when falling", () => {
    const order = ({ iops }: Cell): number => iops.estimate ?? Number.NEGATIVE_INFINITY;
    const all = [9, 100, 20].map((iops) => cell(["on", "1"], iops));
    all[2]!.iops.estimate = null;
    expect(sorted(all, order, true).map(({ iops }) => iops.estimate)).toEqual([100, 9, null]);
  });

  it("are sorted by pressing a heading", () => {
    const of = report();
    const section = cells(of, new Choice(of))!;
    const rate = [...section.querySelectorAll("button")].find((button) => button.textContent?.startsWith("rate"));
    const first = (): string | null | undefined => section.querySelector("tbody tr td:nth-child(2)")?.textContent;
    rate?.click();
    expect(first()).toBe("1");
    rate?.click();
    expect(first()).toBe("64");
    expect(section.querySelector('[aria-sort="descending"]')?.textContent).toContain("rate");
  });
});

it("always leaves one side to look at", () => {
  const choice = new Choice(report());
  choice.change(() => choice.hidden.add("on"));
  const boxes = [...(legend(choice)?.querySelectorAll("input") ?? [])];
  expect(boxes.map((box) => box.disabled)).toEqual([true, false]);
});

it("finds no report in the bare template", () => {
  document.body.replaceChildren(el("script", { type: "application/json", id: "report-data" }, "/*…*/"));
  expect(readReport(document)).toBeNull();
});

describe("a single run", () => {
  const single = (): Report => {
    const one = { ...cell([], 5), flags: ["too short"] };
    return {
      ...report(),
      factors: [],
      verdicts: [],
      claims: [],
      runs_per_cell: [1, 1],
      runs_planned: 1,
      runs_done: 1,
      cells: [one],
    };
  };

  it("has its figures turned round, and no table of one cell", () => {
    const of = single();
    expect(cells(of, new Choice(of))).toBeNull();
    const rows = [...percentiles(of)!.querySelectorAll("tbody tr")].map((row) => row.textContent);
    expect(rows).toContain("99th percentile30.0");
    of.cells[0]!.reads = of.cells[0]!.response_ms;
    of.cells[0]!.writes = { ...of.cells[0]!.response_ms, p99: 70 };
    of.cells[0]!.flushes = { ...of.cells[0]!.response_ms, p99: 90 };
    const head = [...percentiles(of)!.querySelectorAll("thead th")].map((name) => name.textContent);
    expect(head).toEqual(["", "reads and writes", "reads", "writes", "flushes"]);
  });

  it("speaks of one run, explains no verdict and says its own remarks", () => {
    const words = method(single()).textContent!;
    expect(words).toContain("1 run,");
    expect(words).not.toContain("▲");
    expect(words).not.toContain("corrected p");
    expect(warnings(single())?.textContent).toContain("too short");
    expect(warnings(single())?.textContent).not.toContain("cells");
    const named = { ...single(), warnings: ["drive: `cache.segments`: at most 64 <b>"] };
    expect(warnings(named)?.querySelector("code")?.textContent).toBe("cache.segments");
    expect(warnings(named)?.textContent).toContain("drive: cache.segments: at most 64 <b>");
  });
});

describe("a study that was sampled until decided", () => {
  it("says how many runs its cells took, and how long they were", () => {
    const words = (of: Partial<Report>): string => method({ ...report(), ...of }).textContent!.replace(/\s/g, " ");
    expect(words({ runs_per_cell: [3, 7], runtime_s: [5, 7.5] })).toContain("3 to 7 runs in each cell, 5.00 to 7.50 s of virtual");
    expect(words({ runs_per_cell: [3, 3], runtime_s: [5, 5] })).toContain("3 runs in each cell, 5.00 s of virtual");
  });
});

describe("a job with a rate", () => {
  const arrivals = (asked: number | null, longest: number) => ({
    asked_iops: asked,
    asked_mb_per_s: null,
    reached_iops: 134,
    reached_mb_per_s: 0.55,
    backlog_mean_ms: longest / 2,
    backlog_max_ms: longest,
  });

  it("shows what was asked and reached and the backlog among the main figures", () => {
    const of = { ...report(), cells: [{ ...cell([], 5), arrivals: arrivals(200, 1600) }] };
    const told = (one: Report): string => mainFigures(one)!.textContent!.replace(/\s/g, " ");
    const words = told(of);
    expect(words).toContain("longest backlog1 600 ms");
    expect(words).toContain("in the mean 800 ms; rate asked 200 requests/s, reached 134");
    const played = { ...of, cells: [{ ...cell([], 5), arrivals: arrivals(null, 0) }] };
    expect(told(played)).toContain("134 requests/s came at instants of their own");
    expect(told({ ...of, cells: [cell([], 5)] })).not.toContain("backlog");
  });

  it("has columns for them, where some cell has such requests", () => {
    const whole = report();
    whole.cells[1]!.arrivals = arrivals(200, 1600);
    const heads = (of: Report): (string | null)[] =>
      [...cells(of, new Choice(of))!.querySelectorAll("thead .name")].map((head) => head.textContent);
    const paced = heads(whole).filter((head) => /backlog|asked|reached/.test(head!));
    expect(paced).toEqual(["rate asked", "rate reached", "backlog, mean", "backlog, longest"]);
    expect(heads(report()).join()).not.toContain("backlog");
    const backlog = new Choice(whole).metrics.find(({ id }) => id === "arrivals.backlog_max_ms")!;
    expect(whole.cells.slice(0, 2).map((one) => backlog.read(one).estimate)).toEqual([null, 1600]);
  });
});

describe("a scene", () => {
  const done = (program: string, per_s: number) => ({
    program,
    count: 20,
    per_s: interval(per_s),
    response_ms: { mean: 81, p50: 80, p90: 90, p95: null, p99: 97, p99_9: 97, p99_99: 97, max: 97 },
  });
  const scene = (): Report => {
    const whole = report();
    // One program is in some cells only.
    whole.cells.forEach((cell, place) => {
      cell.elapsed_s = interval(place + 1);
      cell.operations = place === 0 ? [done(HOSTILE, 12)] : [done(HOSTILE, 12), done("boot", 3)];
    });
    return whole;
  };

  it("opens on how long it took, and what its programs did comes before requests", () => {
    const choice = new Choice(scene());
    expect(choice.metric.id).toBe("elapsed");
    expect(choice.metrics.slice(0, 3).map(({ unit }) => unit)).toEqual(["s", "operations/s", "ms"]);
    expect(choice.metrics.slice(9).map(({ id }) => id)).toContain("iops");
    expect(new Choice(report()).metric.id).toBe("iops");
    const [first, second] = scene().cells;
    const boots = choice.metrics.find(({ id }) => id === "operations.boot.per_s");
    expect([first, second].map((cell) => boots?.read(cell!).estimate)).toEqual([null, 3]);
  });

  it("has a column for each figure of each program", () => {
    const whole = scene();
    const table = cells(whole, new Choice(whole));
    const heads = [...table!.querySelectorAll("thead .name")].map((head) => head.textContent);
    expect(heads).toEqual(expect.arrayContaining(["whole run", "boot, rate", "boot, median", "boot, 99th percentile"]));
    expect(table!.querySelector("img")).toBeNull();
    const requests = cells(report(), new Choice(report()));
    expect(requests!.textContent).not.toContain("whole run");
  });

  it("stands turned round where it is one run", () => {
    const one = scene();
    one.cells.length = 1;
    const table = percentiles(one);
    expect(table!.textContent).toContain("whole run, s");
    expect(table!.textContent).toContain(`operations of ${HOSTILE}/s`);
    expect(table!.querySelector("img")).toBeNull();
  });
});

it("says on top that a study is unfinished", () => {
  expect(unfinished(report())).toBeNull();
  expect(unfinished({ ...report(), runs_done: 1 })?.textContent).toContain("1 of 18 runs are done");
});

it("takes what a verdict means from the report", () => {
  const badge = table(report()).querySelector(".badge");
  expect(badge?.getAttribute("title")).toBe(HOSTILE);
});

it("tells cause, what went the other way, and where the effect is", () => {
  const words = howSure(report())?.textContent;
  for (const said of [`cause ${HOSTILE}`, `beside ${HOSTILE}`, `The answer changes ${HOSTILE}`])
    expect(words).toContain(said);
});

it("folds the settings in which no sides differ", () => {
  const layer = (key: string) => ({ key, value: "1", source: "" });
  const of = { ...report(), stack: [{ role: "drive", name: "d", settings: [layer(HOSTILE), layer("a"), layer("b")] }] };
  const drawn = stack(of)!;
  expect(drawn.querySelectorAll(".folded .setting").length).toBe(2);
  expect(drawn.querySelectorAll(".setting.varied").length).toBe(1);
  expect(drawn.querySelector(".folded summary")?.textContent).toBe("2 other settings");
});

describe("where the time went", () => {
  it("is the whole response until the reader wants a part, which is never called faster", () => {
    const choice = new Choice(report());
    const figure = anatomy(choice);
    const caption = (): string => figure.querySelector("figcaption")?.textContent ?? "";
    expect(caption()).toContain("shorter is faster");
    choice.set("anatomy.show", "served");
    expect(caption()).toContain("not the whole");
    expect(caption()).not.toContain("faster");
  });
});

describe("the address", () => {
  it("keeps place and choice apart, and gives both back", () => {
    const state: [string, string][] = [
      ["at.a&b=c#d", "50 %"],
      ["hide", "x"],
      ["hide", "y"],
    ];
    expect(parse(write("curves", state))).toEqual({ place: "curves", state });
    expect(parse("#cells")).toEqual({ place: "cells", state: [] });
    expect(write("", [])).toBe("");
  });

  it("brings the choice back, and what it does not name as the page opened", () => {
    const of = report();
    const choice = new Choice(of);
    expect(choice.state()).toEqual([]);
    choice.change(() => {
      choice.compare(1);
      choice.levels[0] = HOSTILE;
      choice.hidden.add("8");
    });
    choice.set("cells.sort", "-rate");
    const kept = choice.state();
    const other = new Choice(of);
    other.restore(parse(write("", kept)).state);
    expect(other.state()).toEqual(kept);
    expect([other.compared, other.grouped, [...other.hidden]]).toEqual([1, 0, ["8"]]);
    other.restore([]);
    expect(other.state()).toEqual([]);
    expect([other.compared, other.levels[0]]).toEqual([0, "on"]);
  });

  it("leaves out what does not fit", () => {
    const choice = new Choice(report());
    choice.restore([
      ["metric", "none"],
      ["compare", "nothing"],
      ["at.depth", "9"],
      ["hide", HOSTILE],
      ["hide", "on"],
      ["curves.zoom", "90-10"],
    ]);
    expect(choice.state()).toEqual([["curves.zoom", "90-10"]]);
    expect(partOf(choice, "curves")).toEqual({ start: 0, end: 100 });
    show(choice, "curves", { start: -5, end: 50 });
    expect(partOf(choice, "curves")).toEqual({ start: 0, end: 50 });
  });
});

describe("files", () => {
  it("hold no formula, and quote what must be", () => {
    const table = {
      head: ["a", 'b"c'],
      rows: [
        ["=1+1", "x,y"],
        [-1.5, null],
        ["-1", "@sum"],
        [Number.NaN, "two\nlines"],
      ],
    };
    expect(csv(table)).toBe('a,"b""c"\r\n\'=1+1,"x,y"\r\n-1.5,\r\n\'-1,\'@sum\r\n,"two\nlines"\r\n');
  });

  it("hold pictures without a style sheet's names, and text as text", () => {
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.innerHTML = '<rect fill="var(--ink)"/>';
    document.documentElement.style.setProperty("--ink", "#123456");
    const { text } = standalone([drawing, drawing], [HOSTILE]);
    expect(text.split("#123456").length).toBe(4);
    expect(text).not.toContain("var(");
    expect(text).not.toContain("<img");
  });

  it("can be had of every figure and table", () => {
    const of = report();
    const choice = new Choice(of);
    for (const part of [
      curves(choice),
      anatomy(choice),
      requestsFigure(choice, told(of, choice), null),
      arm(choice, told(of, choice)).element,
    ])
      expect([...part!.querySelectorAll(".save")].map(({ textContent }) => textContent)).toEqual(["CSV", "PNG"]);
    for (const part of [cells(of, choice), claims(of), table(of)])
      expect(part?.querySelector(".save")?.textContent).toBe("CSV");
  });
});

describe("labels", () => {
  it("of an axis stand apart, the ends among them", () => {
    const levels = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000];
    const shown = apart(levels, (level) => level / 1000, 300);
    expect(shown[0]).toBe(1);
    expect(shown.at(-1)).toBe(1000);
    expect(shown.length).toBeLessThan(4);
    expect(apart([1, 2, 4], (level) => level / 4, 300)).toEqual([1, 2, 4]);
  });

  it("that are long take lines, and lose nothing while three do", () => {
    const side = { level: "", name: "new drive on the chip set's own controller, queue off", letter: "B", index: 1 };
    const lines = named(side, 170).split("\n");
    expect(lines.length).toBe(3);
    expect(lines.join(" ")).toBe(`${side.name}  B`);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(25);
  });

  it("of switches say of what", () => {
    const of = {
      ...report(),
      factors: [{ name: "cache", unit: null, says: null, levels: ["true", "false"] }],
      verdicts: [],
      cells: [cell(["true"], 1), cell(["false"], 2)],
    };
    expect(new Choice(of).sides().map(({ name }) => name)).toEqual(["cache on", "cache off"]);
  });
});

describe("a stretch", () => {
  const all = movements(stretch("x"), 0);

  it("says where the arm is, and what it does there", () => {
    expect([current(all, -1), current(all, 0), current(all, 9.9), current(all, 10)]).toEqual([-1, 0, 0, 1]);
    const turned = (time: number): number => 0.25 + time / 8;
    const state = (time: number) => at(all[current(all, time)]!, turned(time), time);
    expect(state(2)).toEqual({ cylinder: 250, doing: "seek" });
    expect(state(4.5)).toEqual({ cylinder: 500, doing: "rotation" });
    expect(state(5.75)).toEqual({ cylinder: 500, doing: "transfer" });
    expect(state(8)).toEqual({ cylinder: 500, doing: "rest" });
    expect(state(13.5)).toEqual({ cylinder: 700, doing: "settle" });
  });

  it("has requests whose parts are their response, and knows which movements were theirs", () => {
    const [read, write] = requests(stretch("x"));
    expect(read!.response).toBeCloseTo(6.1);
    expect(ending(stretch("x"))).toBeCloseTo(9.1);
    expect(movedFor(read!, all, 1)).toEqual([all[0]]);
    expect(movedFor(read!, all, 2)).toEqual([]);
    expect(movedFor(write!, all, 1)).toEqual([]);
    expect(writtenOut(write!, all, 1)).toEqual(all[1]);
  });

  it("explains the request that was chosen, and none unasked", () => {
    const of = report();
    const choice = new Choice(of);
    const figure = requestsFigure(choice, told(of, choice), null);
    expect(figure.querySelector(".explained")).toBeNull();
    choice.set("requests.pick", "on/8-0");
    const steps = [...figure.querySelectorAll(".steps li")].map((step) => step.textContent);
    expect(steps[0]).toContain("seek 4.00\u00a0ms (from 0 to 4.00\u00a0ms)");
    expect(steps[0]).toContain("500 cylinders, from 0 to 500, head 1");
    expect(steps[2]).toContain("from 5.50 to 6.00\u00a0ms");
    choice.set("requests.pick", "on/8-1");
    expect(figure.querySelector(".explained")?.textContent).toContain(
      "the drive's buffer took the data. They were written 18.0\u00a0ms",
    );
    choice.set("requests.pick", "on/8-7");
    expect(figure.querySelector(".explained")).toBeNull();
  });

  it("stands under the letters of the headline's sides", () => {
    const of = report();
    expect(told(of, new Choice(of)).map(({ side, stretch: { cell: id } }) => [side.letter, id])).toEqual([
      ["A", `${HOSTILE}/8`],
      ["B", "on/8"],
    ]);
  });

  it("shows how many are done when the clock is moved", () => {
    const of = report();
    const choice = new Choice(of);
    const { element, jump } = arm(choice, told(of, choice));
    element.scrollIntoView = () => undefined;
    jump(7);
    const words = [...element.querySelectorAll(".disc-box")].map((box) => box.textContent);
    expect(words[0]).toContain("1 of 2 requests done");
    expect(words[0]).toContain("rests");
    jump(1);
    expect(element.querySelector(".status")?.textContent).toContain("seeks to read: cylinder 0 to 500, head 1");
  });
});

/** Four reads of one side; the third waits in the host at first, the fourth is beyond the stretch. */
function queued(): Stretch {
  const one = stretch("x");
  one.movements = {
    drive: [0, 0, 0],
    errand: ["read", "read", "destage"],
    from: [0, 500, 700],
    to: [500, 700, 100],
    head: [0, 0, 0],
    lba: [5000, 7000, 1000],
    sectors: [8, 8, 8],
    angle: [0.5, 0.25, 0.75],
    arc: [0.01, 0.01, 0.01],
    course_us: [
      [1000, 3000, 0, 2000, 0],
      [6000, 1000, 0, 1000, 0],
      [8000, 5000, 0, 1000, 0],
    ],
  };
  one.queue = {
    writes: [3],
    issued_us: [0, 0, 500, 2000],
    host_us: [0, 0, 4500, 0],
    done_us: [9100, 6100, null, 1000],
    cylinder: [700, 500, 900, 100],
    angle: [0.25, 0.5, 0.1, 0.75],
    movement: [1, 0, null, 2],
    earlier: [],
  };
  return one;
}

describe("what waits", () => {
  const one = queued();
  const moves = movements(one, 0);
  const all = accesses(one, moves)!;
  const at = (time: number) =>
    waitingAt(all, time).map(({ access, where, turn }) => [access.cylinder, where, turn]);

  it("is what has arrived and is not begun, in the order in which the arm takes it", () => {
    expect(at(0)).toEqual([[500, "drive", 1], [700, "drive", 2]]);
    // The first is being served; the third has come and is in the host, and no movement takes it in the stretch.
    expect(at(1)).toEqual([[700, "drive", 1], [900, "host", null]]);
    expect(at(2)).toEqual([[700, "drive", 1], [100, "drive", 2], [900, "host", null]]);
    // The write is answered and in the buffer; the third is in the drive.
    expect(at(5)).toEqual([[700, "drive", 1], [100, "held", 2], [900, "drive", null]]);
    expect(at(6)).toEqual([[100, "held", 1], [900, "drive", null]]);
    expect(at(13)).toEqual([[900, "drive", null]]);
  });

  it("is said in words", () => {
    expect(waitingWords(waitingAt(all, 5))).toBe("2 wait: in the drive; 1 write in the buffer; next: cylinder 700");
    expect(waitingWords(waitingAt(all, 1))).toBe("2 wait: 1 in the drive, 1 in the host; next: cylinder 700");
    expect(waitingWords(waitingAt(all, 13))).toBe("1 waits: in the drive");
    expect(waitingWords([])).toBe("nothing waits");
  });

  it("has one turn where one movement serves several, and one before what the buffer held earlier", () => {
    const shared = queued();
    shared.queue!.movement = [0, 0, null, null];
    shared.queue!.earlier = [2];
    const now = waitingAt(accesses(shared, moves)!, 0);
    expect(now.map(({ access, where, turn }) => [access.cylinder, where, turn])).toEqual([
      [700, "drive", 1],
      [500, "drive", 1],
      [100, "held", 2],
    ]);
  });

  it("is equal on both sides if the same requests wait when the clock begins", () => {
    const other = queued();
    other.queue!.movement = [0, 1, null, 2];
    const sides = [all, accesses(other, movements(other, 0))];
    expect(sharedBeginning(sides)).toBe(2);
    other.queue!.angle[0] = 0.26;
    expect(sharedBeginning([all, accesses(other, movements(other, 0))])).toBeNull();
    expect(sharedBeginning([all, null])).toBeNull();
    expect(sharedBeginning([all])).toBeNull();
  });

  it("is drawn with numbers, and said to be unknown where several drives share it", () => {
    const of = report();
    of.stretches = [{ ...queued(), cell: `${HOSTILE}/8` }];
    const choice = new Choice(of);
    const { element, jump } = arm(choice, told(of, choice));
    element.scrollIntoView = () => undefined;
    jump(2);
    expect([...element.querySelectorAll(".disc .numbered")].map(({ textContent }) => textContent)).toEqual(["2", "1"]);
    expect(element.querySelector(".disc .next")?.getAttribute("class")).toContain("drive");
    expect(element.querySelectorAll(".disc circle.waiting.host").length).toBe(1);
    expect(element.querySelector("[aria-live]")?.textContent).toContain("next: cylinder 700");
    of.stretches[0]!.queue = null;
    of.stretches[0]!.platters.push(of.stretches[0]!.platters[0]!);
    expect(arm(choice, told(of, choice)).element.querySelector(".lead")?.textContent).toContain("are not drawn");
  });
});

describe("the address of the arm", () => {
  it("names its moment, and leads there through what is folded", async () => {
    vi.useFakeTimers();
    const of = report();
    const choice = new Choice(of);
    const { element, jump } = arm(choice, told(of, choice));
    const details = document.createElement("details");
    details.append(element);
    document.body.append(details);
    const scrolled = vi.fn();
    element.scrollIntoView = scrolled;
    history.replaceState(null, "", "#arm.t=5.5");
    follow(choice);
    expect(details.open).toBe(true);
    expect(scrolled).toHaveBeenCalled();
    expect(element.querySelector("output")?.textContent).toBe("5.5 ms");
    jump(7);
    vi.runAllTimers();
    expect(location.hash).toBe("#arm&arm.t=7");
    vi.useRealTimers();
    details.remove();
  });

  it("steps to where something changes on one of the sides", () => {
    const of = report();
    const choice = new Choice(of);
    of.stretches[0]!.queue!.host_us = [250, 0];
    const { element } = arm(choice, told(of, choice));
    const press = (label: string): string => {
      [...element.querySelectorAll("button")].find(({ textContent }) => textContent === label)!.click();
      return element.querySelector("output")!.textContent;
    };
    expect([press("Step ▸"), press("Step ▸"), press("Step ▸")]).toEqual(["0.3 ms", "4.0 ms", "6.0 ms"]);
    expect(press("◂ Step")).toBe("4.0 ms");
  });
});

it("writes the choice into the address, and follows the address back", () => {
  const of = report();
  const choice = new Choice(of);
  history.replaceState(null, "", "#curves&metric=p99&none");
  follow(choice);
  expect(choice.metric.id).toBe("p99");
  choice.set("cells.sort", "rate");
  expect(location.hash).toBe("#curves&metric=p99&cells.sort=rate");
  history.replaceState(null, "", "#");
  window.dispatchEvent(new Event("popstate"));
  expect(choice.metric.id).toBe("iops");
  expect(choice.state()).toEqual([]);
});
