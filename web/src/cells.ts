// Every cell with every figure, to sort and to read off.

import { press, select } from "./controls";
import type { Choice } from "./choice";
import type { Table } from "./csv";
import { csvButton, files } from "./download";
import { count, counted, numeric, number, shown } from "./format";
import { el, scroller, section } from "./dom";
import { arrivalsOf, mega, membersOf, OF_OPERATIONS, operationsOf, PROCESSOR, programs, QUANTILES } from "./metrics";
import type { Cell, Report, Response } from "./report";

/** More rows are shown when the reader asks: to lay out thousands takes seconds. */
const ROWS = 300;

interface Column {
  name: string;
  unit: string;
  /** Text columns stand on the left, figures on the right. */
  figure: boolean;
  text: (cell: Cell) => string;
  /** As a file has it, with every digit. */
  value: (cell: Cell) => string | number | null | undefined;
  order: (cell: Cell) => number | string;
}

/** The table; null for a single run, whose figures stand turned round. */
export function cells(report: Report, choice: Choice): HTMLElement | null {
  if (report.cells.length < 2) return null;
  const columns = columnsOf(report);
  const body = el("tbody", {});
  const heads = columns.map((column) => heading(column));
  const bar = el("div", { class: "controls" });
  const more = el("div", { class: "more" });
  const words = el("p", { class: "caption", "aria-live": "polite" });
  heads.forEach(({ button }, index) => button.addEventListener("click", () => sortBy(choice, columns[index]!)));
  const found = (): Cell[] => ordered(report, choice, columns);
  let filled = "";
  const fill = (): void => {
    const view = JSON.stringify([
      choice.option("cells.rows", ""),
      sorting(choice),
      ...report.factors.map((_, factor) => wanted(choice, factor)),
    ]);
    if (view === filled) return;
    filled = view;
    const all = found();
    const shown = choice.option("cells.rows", "") === "all" ? all : all.slice(0, ROWS);
    body.replaceChildren(...shown.map((cell) => row(cell, columns)));
    more.replaceChildren(shown.length === all.length ? "" : rest(choice, shown.length, all.length));
    bar.replaceChildren(...filters(report, choice));
    words.textContent =
      all.length === report.cells.length ? "" : `${count(all.length)} of ${counted(report.cells.length, "cell")}.`;
    heads.forEach(({ head }, index) => mark(head, columns[index]!, sorting(choice)));
  };
  fill();
  choice.watch(fill);
  const table = el("table", { class: "cells" }, el("thead", {}, el("tr", {}, ...heads.map(({ head }) => head))), body);
  const csv = csvButton("cells", () => asTable(columns, found()));
  const lead = `All ${counted(report.cells.length, "cell")}. A heading sorts by its column. MB are 10⁶ bytes.`;
  return section("cells", "All figures", lead, bar, words, files(csv), scroller("all cells", table), more);
}

/** How many rows there are beyond those shown, and a button for them. */
function rest(choice: Choice, shown: number, all: number): HTMLElement {
  const button = press("Show all", "show all rows", () => choice.set("cells.rows", "all"));
  return el("p", { class: "soft" }, `${count(shown)} of ${counted(all, "row")}; the CSV has all. `, button);
}

function asTable(columns: Column[], all: Cell[]): Table {
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

/** By which column it is sorted, and which way. */
interface Sorting {
  column: string;
  falling: boolean;
}

function sorting(choice: Choice): Sorting | null {
  const word = choice.option("cells.sort", "");
  return word === "" ? null : { column: word.replace(/^-/, ""), falling: word.startsWith("-") };
}

/** Sorts rising, or falling at the second press. */
function sortBy(choice: Choice, { name }: Column): void {
  const now = sorting(choice);
  choice.set("cells.sort", now?.column === name && !now.falling ? `-${name}` : name);
}

/** The cells that the filters leave, sorted; equal ones keep the report's order. */
function ordered(report: Report, choice: Choice, columns: Column[]): Cell[] {
  const fits = ({ levels }: Cell): boolean =>
    levels.every((level, factor) => ["", level].includes(wanted(choice, factor)));
  const left = report.cells.filter(fits);
  const now = sorting(choice);
  const column = columns.find(({ name }) => name === now?.column);
  return column && now ? sorted(left, column.order, now.falling) : left;
}

interface Heading {
  head: HTMLTableCellElement;
  button: HTMLButtonElement;
}

function heading({ name, unit, figure }: Column): Heading {
  const button = el(
    "button",
    { type: "button" },
    el("span", { class: "name" }, name),
    unit === "" ? null : el("span", { class: "unit" }, unit),
  );
  return { button, head: el("th", { scope: "col", class: figure ? "figure" : "" }, button) };
}

function mark(head: HTMLElement, { name }: Column, now: Sorting | null): void {
  if (now?.column === name) head.setAttribute("aria-sort", now.falling ? "descending" : "ascending");
  else head.removeAttribute("aria-sort");
}

function row(cell: Cell, columns: Column[]): HTMLElement {
  return el("tr", {}, ...columns.map(({ figure, text }) => el("td", { class: figure ? "figure" : "" }, text(cell))));
}

export function sorted(all: Cell[], order: (cell: Cell) => number | string, falling: boolean): Cell[] {
  const sign = falling ? -1 : 1;
  return [...all].sort((a, b) => {
    const [x, y] = [order(a), order(b)];
    if (typeof x === "string" || typeof y === "string") return sign * String(x).localeCompare(String(y), "en");
    return sign * (x - y);
  });
}

function columnsOf(report: Report): Column[] {
  const factors = report.factors.map(({ name, unit, levels }, index): Column => {
    const numbers = levels.every(numeric);
    const level = (cell: Cell): string => cell.levels[index] ?? "";
    const order = (cell: Cell): number | string => (numbers ? Number(level(cell)) : levels.indexOf(level(cell)));
    return { name, unit: unit ?? "", figure: numbers, text: (cell) => shown(level(cell)), value: level, order };
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
    text: (cell) => number(read(cell)),
    value: read,
    order: (cell) => read(cell) ?? Number.NEGATIVE_INFINITY,
  };
}

function rates(): Column[] {
  const whole = (name: string, read: (cell: Cell) => number): Column => ({
    ...figureColumn(name, "", read),
    text: (cell) => count(read(cell)),
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
  return [{ name: "remarks", unit: "", figure: false, text, value: text, order: text }];
}
