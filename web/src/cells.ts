// Every cell with every figure, to sort and to read off.

import { count, numeric, number } from "./format";
import { el, scroller, section } from "./dom";
import { mega, PROCESSOR, QUANTILES } from "./metrics";
import type { Cell, Report, Response } from "./report";

interface Column {
  name: string;
  unit: string;
  /** Text columns stand on the left, figures on the right. */
  figure: boolean;
  text: (cell: Cell) => string;
  order: (cell: Cell) => number | string;
}

export function cells(report: Report): HTMLElement {
  const columns = columnsOf(report);
  const body = el("tbody", {});
  const heads = columns.map((column) => heading(column));
  const fill = (order: Cell[]): void => body.replaceChildren(...order.map((cell) => row(cell, columns)));
  heads.forEach(({ button }, index) =>
    button.addEventListener("click", () => fill(sortBy(report.cells, columns[index]!, heads, index))),
  );
  fill(report.cells);
  const table = el("table", { class: "cells" }, el("thead", {}, el("tr", {}, ...heads.map(({ head }) => head))), body);
  const lead =
    `${report.cells.length === 1 ? "The one cell" : `All ${report.cells.length} cells`}. A heading sorts by ` +
    "its column. MB are 10⁶ bytes.";
  return section("cells", "All figures", lead, scroller("all cells", table));
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

function row(cell: Cell, columns: Column[]): HTMLElement {
  return el("tr", {}, ...columns.map(({ figure, text }) => el("td", { class: figure ? "figure" : "" }, text(cell))));
}

/** Sorts rising, or falling at the second press; equal cells keep the report's order. */
function sortBy(all: Cell[], column: Column, heads: Heading[], index: number): Cell[] {
  const head = heads[index]!.head;
  const falling = head.getAttribute("aria-sort") === "ascending";
  heads.forEach((other) => other.head.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  return sorted(all, column.order, falling);
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
    return { name, unit: unit ?? "", figure: numbers, text: level, order };
  });
  const apart = report.cells.some(({ reads, writes }) => reads !== null || writes !== null);
  return [...factors, ...rates(), ...responses(), ...(apart ? readsAndWrites() : []), processor(report), remarks(report)].flat();
}

function figureColumn(name: string, unit: string, read: (cell: Cell) => number | null | undefined): Column {
  return {
    name,
    unit,
    figure: true,
    text: (cell) => number(read(cell)),
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

function responses(): Column[] {
  return QUANTILES.map(([key, name]) => figureColumn(name, "ms", ({ response_ms }) => response_ms[key]));
}

function readsAndWrites(): Column[] {
  const keys: [keyof Response, string][] = [
    ["mean", "mean"],
    ["p99", "99th percentile"],
  ];
  return keys.flatMap(([key, name]) => [
    figureColumn(`reads, ${name}`, "ms", ({ reads }) => reads?.[key]),
    figureColumn(`writes, ${name}`, "ms", ({ writes }) => writes?.[key]),
  ]);
}

function processor({ cells: all }: Report): Column[] {
  if (all.every(({ cpu }) => cpu === null)) return [];
  return PROCESSOR.map(([key, name, unit]) => figureColumn(name, unit, ({ cpu }) => cpu?.[key]));
}

function remarks({ cells: all }: Report): Column[] {
  if (all.every(({ flags }) => flags.length === 0)) return [];
  const text = ({ flags }: Cell): string => flags.join("; ");
  return [{ name: "remarks", unit: "", figure: false, text, order: text }];
}
