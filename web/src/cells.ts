// Every cell with every figure, to sort and to read off.

import { keepFocus, select } from "./controls";
import type { Choice } from "./choice";
import type { Table } from "./csv";
import { csvButton, files } from "./download";
import { count, counted, numeric, number, shown } from "./format";
import { el, section } from "./dom";
import { arrivalsOf, mega, membersOf, OF_OPERATIONS, operationsOf, PROCESSOR, programs, QUANTILES } from "./metrics";
import type { Cell, Report, Response } from "./report";
import { sortable, type Column as Of } from "./table";

/** More rows are shown when the reader asks: to lay out thousands takes seconds. */
const ROWS = 300;

interface Column extends Of<Cell> {
  /** As a file has it, with every digit. */
  value: (cell: Cell) => string | number | null | undefined;
}

/** The table; null for a single run, whose figures stand turned round. */
export function cells(report: Report, choice: Choice): HTMLElement | null {
  if (report.cells.length < 2) return null;
  const columns = columnsOf(report);
  const bar = el("div", { class: "controls" });
  const words = el("p", { class: "caption", "aria-live": "polite" });
  const found = (): Cell[] => report.cells.filter(({ levels }) => levels.every((level, factor) => ["", level].includes(wanted(choice, factor))));
  const { element, sorted, fill } = sortable("cells", columns, choice, found, ROWS);
  const update = (): void => {
    fill();
    keepFocus(bar, () => bar.replaceChildren(...filters(report, choice)));
    const left = found().length;
    words.textContent = left === report.cells.length ? "" : `${count(left)} of ${counted(report.cells.length, "cell")}.`;
  };
  update();
  choice.watch(update);
  const csv = csvButton("cells", () => file(columns, sorted()));
  const lead = `All ${counted(report.cells.length, "cell")}. A heading sorts by its column. MB are 10⁶ bytes.`;
  return section("cells", "All figures", lead, bar, words, files(csv), element);
}

function file(columns: Column[], all: Cell[]): Table {
  const head = columns.map(({ name, unit }) => (unit === "" ? name : `${name}, ${unit}`));
  return { head, rows: all.map((cell) => columns.map(({ value }) => value(cell))) };
}

/** A selector of one level or all for each factor. */
function filters({ factors }: Report, choice: Choice): HTMLElement[] {
  return factors.flatMap(({ name, levels }, factor) => {
    if (levels.length < 2) return [];
    const options = [{ value: "", text: "all" }, ...levels.map((level) => ({ value: level, text: shown(level) }))];
    const set = (level: string): void => choice.set(`cells.only${factor}`, level === "" ? null : level);
    return [select(name, options, wanted(choice, factor), set)];
  });
}

function wanted(choice: Choice, factor: number): string {
  return choice.option(`cells.only${factor}`, "");
}

function columnsOf(report: Report): Column[] {
  const factors = report.factors.map(({ name, unit, levels }, index): Column => {
    const numbers = levels.every(numeric);
    const level = (cell: Cell): string => cell.levels[index] ?? "";
    const order = (cell: Cell): number | string => (numbers ? Number(level(cell)) : levels.indexOf(level(cell)));
    return { name, unit: unit ?? "", figure: numbers, show: (cell) => shown(level(cell)), value: level, order };
  });
  const apart = report.cells.some(({ reads, writes, flushes }) => reads || writes || flushes);
  return [
    ...factors,
    ...done(report),
    ...rates(),
    ...paced(report),
    ...responses(),
    ...(apart ? kinds(report) : []),
    processor(report),
    arrays(report),
    remarks(report),
  ].flat();
}

function figureColumn(name: string, unit: string, read: (cell: Cell) => number | null | undefined): Column {
  return {
    name,
    unit,
    figure: true,
    show: (cell) => number(read(cell)),
    value: read,
    order: (cell) => read(cell) ?? Number.NEGATIVE_INFINITY,
  };
}

function rates(): Column[] {
  const whole = (name: string, read: (cell: Cell) => number): Column => ({
    ...figureColumn(name, "", read),
    show: (cell) => count(read(cell)),
  });
  return [
    whole("runs", ({ runs }) => runs),
    whole("requests", ({ ios }) => ios),
    figureColumn("rate", "requests/s", ({ iops }) => iops.estimate),
    figureColumn("rate, low", "requests/s", ({ iops }) => iops.low),
    figureColumn("rate, high", "requests/s", ({ iops }) => iops.high),
    figureColumn("throughput", "MB/s", ({ bytes_per_s }) => mega(bytes_per_s.estimate)),
  ];
}

/** How long scenes took, and what their programs did. */
function done({ cells: all }: Report): Column[] {
  const known = programs(all);
  if (known.length === 0) return [];
  const ofProgram = (program: string): Column[] => [
    figureColumn(`${program}, rate`, "operations/s", (cell) => operationsOf(cell, program)?.per_s.estimate),
    ...OF_OPERATIONS.map(([key, name]) =>
      figureColumn(`${program}, ${name}`, "ms", (cell) => operationsOf(cell, program)?.response_ms[key]),
    ),
  ];
  const elapsed = ([name, key]: [string, keyof Cell["elapsed_s"]]): Column =>
    figureColumn(name, "s", ({ elapsed_s }) => elapsed_s[key]);
  const ends: [string, keyof Cell["elapsed_s"]][] = [
    ["whole run", "estimate"],
    ["whole run, low", "low"],
    ["whole run, high", "high"],
  ];
  return [...ends.map(elapsed), ...known.flatMap(ofProgram)];
}

/** What was asked of jobs with a rate, what was reached, and how long requests that were due waited to be issued. */
function paced({ cells: all }: Report): Column[] {
  return arrivalsOf(all).map(([key, name, unit]) => figureColumn(name, unit, ({ arrivals }) => arrivals?.[key]));
}

function responses(): Column[] {
  return QUANTILES.map(([key, name]) => figureColumn(name, "ms", ({ response_ms }) => response_ms[key]));
}

function kinds({ cells }: Report): Column[] {
  const keys: [keyof Response, string][] = [
    ["mean", "mean"],
    ["p99", "99th percentile"],
  ];
  const flushed = cells.some(({ flushes }) => flushes);
  return keys.flatMap(([key, name]) => [
    figureColumn(`reads, ${name}`, "ms", ({ reads }) => reads?.[key]),
    figureColumn(`writes, ${name}`, "ms", ({ writes }) => writes?.[key]),
    ...(flushed ? [figureColumn(`flushes, ${name}`, "ms", ({ flushes }) => flushes?.[key])] : []),
  ]);
}

function processor({ cells: all }: Report): Column[] {
  if (all.every(({ cpu }) => cpu === null)) return [];
  return PROCESSOR.map(([key, name, unit]) => figureColumn(name, unit, ({ cpu }) => cpu?.[key]));
}

/** Bytes at the members of arrays for each byte. */
function arrays({ cells: all }: Report): Column[] {
  return membersOf(all).map(([key, name, unit]) => figureColumn(name, unit, ({ array }) => array?.[key]));
}

function remarks({ cells: all }: Report): Column[] {
  if (all.every(({ flags }) => flags.length === 0)) return [];
  const text = ({ flags }: Cell): string => flags.join("; ");
  return [{ name: "remarks", unit: "", figure: false, show: text, value: text, order: text }];
}
