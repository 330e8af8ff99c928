// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";

import { Choice } from "../src/choice";
import { anatomy, PARTS } from "../src/anatomy";
import { cells, sorted } from "../src/cells";
import { claims } from "../src/claims";
import { curves } from "../src/curves";
import { cumulative } from "../src/distribution";
import { el } from "../src/dom";
import { heading, warnings } from "../src/overview";
import { legend } from "../src/controls";
import { method } from "../src/method";
import { differences, stack } from "../src/stack";
import { verdicts } from "../src/verdicts";
import { readReport, type Anatomy, type Cell, type Report } from "../src/report";

const HOSTILE = '<img src=x onerror="alert(1)">&amp;{value}';

const interval = (estimate: number) => ({ estimate, low: estimate * 0.9, high: estimate * 1.1 });

function cell(levels: string[], iops: number): Cell {
  const parts = Object.fromEntries(PARTS.map(([part]) => [part, 1])) as unknown as Anatomy;
  return {
    id: levels.join("/"),
    levels,
    runs: 3,
    ios: 1000,
    iops: interval(iops),
    bytes_per_s: interval(iops * 4096),
    response_ms: { mean: 11, p50: 10, p90: 20, p99: 30, p99_9: 40, p99_99: 50, max: 60 },
    reads: null,
    writes: null,
    flushes: null,
    flushes_per_s: 0,
    histogram: [
      [10, 500],
      [20, 400],
      [60, 100],
    ],
    anatomy_ms: parts,
    cpu: null,
    flags: [HOSTILE],
  };
}

function report(): Report {
  const sides = [HOSTILE, "on"];
  return {
    title: HOSTILE,
    question: HOSTILE,
    expectation: HOSTILE,
    command: HOSTILE,
    version: HOSTILE,
    seed: "18446744073709551615",
    runs_per_cell: 3,
    runtime_s: 60,
    virtual_time: true,
    interval: HOSTILE,
    verdicts: [1, 2].map(() => ({
      headline: HOSTILE,
      factor: HOSTILE,
      side_a: HOSTILE,
      side_b: "on",
      cell: HOSTILE,
      cell_ids: [`${HOSTILE}/8`, "on/8"],
      metric: HOSTILE,
      better: "higher" as const,
      ratio: interval(1.2),
      verdict: "faster" as const,
      p_adjusted: 0.01,
      margin_percent: 2,
      differs: [HOSTILE],
      note: HOSTILE,
      cause: null,
      beside: [HOSTILE],
      place: null,
    })),
    meanings: [{ word: HOSTILE, says: HOSTILE }],
    stack: [{ role: HOSTILE, name: HOSTILE, settings: [{ key: HOSTILE, value: HOSTILE, source: HOSTILE }] }],
    factors: [
      { name: HOSTILE, unit: null, levels: sides },
      { name: "depth", unit: HOSTILE, levels: ["1", "8", "64"] },
    ],
    cells: sides.flatMap((side) => ["1", "8", "64"].map((depth) => cell([side, depth], 100 + Number(depth)))),
    claims: [
      {
        id: HOSTILE,
        class: HOSTILE,
        finding: HOSTILE,
        condition: HOSTILE,
        figure: HOSTILE,
        reproduced: null,
        mechanism: HOSTILE,
      },
    ],
    warnings: [HOSTILE],
    provenance: { hash: HOSTILE, drive: HOSTILE, notes: [HOSTILE] },
  };
}

describe("names from files", () => {
  it("stay text wherever they stand", () => {
    const hostile = report();
    const choice = new Choice(hostile);
    const parts = [
      heading(hostile),
      verdicts(hostile, warnings(hostile)),
      stack(hostile),
      cells(hostile),
      claims(hostile),
      differences(hostile),
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
    const section = cells(report());
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
