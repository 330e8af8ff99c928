// A table that sorts by any column. Of many rows it shows the first, and the rest when the reader asks.

import type { Options } from "./choice";
import { press } from "./controls";
import { el, scroller, type Child } from "./dom";
import { count, counted } from "./format";

export interface Column<Row> {
  name: string;
  unit: string;
  /** Text columns stand on the left, figures on the right. */
  figure: boolean;
  show: (row: Row) => Child;
  order: (row: Row) => number | string;
}

export interface Sortable<Row> {
  element: HTMLElement;
  /** All rows as they are sorted. */
  sorted: () => Row[];
  /** Shows the rows that are wanted now. */
  fill: () => void;
}

/** A table of the rows that `wanted` gives; how it is sorted stands among `options`. More than `most` rows are shown when asked for. */
export function sortable<Row>(id: string, columns: Column<Row>[], options: Options, wanted: () => Row[], most: number): Sortable<Row> {
  const body = el("tbody");
  const heads = columns.map((column) => heading(column));
  heads.forEach(({ button }, index) => button.addEventListener("click", () => sortBy(id, options, columns[index]!.name)));
  const more = el("p", { class: "more soft" });
  const rows = (): Row[] => {
    const now = sorting(id, options);
    const column = columns.find(({ name }) => name === now?.column);
    return column && now ? sorted(wanted(), column.order, now.falling) : wanted();
  };
  // A row that is drawn stays as it is, so that what is open stays open.
  const drawn = new Map<Row, HTMLElement>();
  const draw = (row: Row): HTMLElement => {
    const made = drawn.get(row) ?? el("tr", {}, ...columns.map((column) => cell(row, column)));
    drawn.set(row, made);
    return made;
  };
  let filled: unknown[] = [];
  const fill = (): void => {
    const all = rows();
    const shown = options.option(`${id}.rows`, "") === "all" ? all : all.slice(0, most);
    heads.forEach(({ head }, index) => mark(head, columns[index]!.name, sorting(id, options)));
    // What is under the reader's hands stays there, unless other rows are wanted.
    if (filled.length > 0 && [...shown, all.length].every((one, place) => one === filled[place])) return;
    filled = [...shown, all.length];
    more.replaceChildren(...(shown.length === all.length ? [] : rest(id, options, shown.length, all.length)));
    body.replaceChildren(...shown.map(draw));
  };
  fill();
  const table = el("table", { class: `sorts ${id}` }, el("thead", {}, el("tr", {}, ...heads.map(({ head }) => head))), body);
  return { element: el("div", {}, scroller(`all ${id}`, table), more), sorted: rows, fill };
}

export function sorted<Row>(all: Row[], order: (row: Row) => number | string, falling: boolean): Row[] {
  const sign = falling ? -1 : 1;
  return [...all].sort((a, b) => {
    const [x, y] = [order(a), order(b)];
    if (typeof x === "string" || typeof y === "string") return sign * String(x).localeCompare(String(y), "en");
    return sign * (x - y);
  });
}

/** How many rows there are beyond those shown, and a button for them. */
function rest(id: string, options: Options, shown: number, all: number): Node[] {
  const button = press("Show all", `show all ${id}`, () => options.set(`${id}.rows`, "all"));
  return [el("span", {}, `${count(shown)} of ${counted(all, "row")}; the CSV has all. `), button];
}

/** By which column it is sorted, and which way. */
interface Sorting {
  column: string;
  falling: boolean;
}

function sorting(id: string, options: Options): Sorting | null {
  const word = options.option(`${id}.sort`, "");
  return word === "" ? null : { column: word.replace(/^-/, ""), falling: word.startsWith("-") };
}

/** Sorts rising, or falling at the second press. */
function sortBy(id: string, options: Options, name: string): void {
  const now = sorting(id, options);
  options.set(`${id}.sort`, now?.column === name && !now.falling ? `-${name}` : name);
}

function heading<Row>({ name, unit, figure }: Column<Row>): { head: HTMLElement; button: HTMLButtonElement } {
  const said = el("span", { class: "name" }, name);
  const button = el("button", { type: "button" }, said, unit === "" ? null : el("span", { class: "unit" }, unit));
  return { button, head: el("th", { scope: "col", class: figure ? "figure" : "" }, button) };
}

function mark(head: HTMLElement, name: string, now: Sorting | null): void {
  if (now?.column === name) head.setAttribute("aria-sort", now.falling ? "descending" : "ascending");
  else head.removeAttribute("aria-sort");
}

function cell<Row>(row: Row, { figure, show }: Column<Row>): HTMLElement {
  return el("td", { class: figure ? "figure" : "" }, show(row));
}
