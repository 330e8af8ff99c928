// A single run's figures, turned round: what was measured down the side, the kinds of requests along the top.

import type { Table } from "./csv";
import { el, scroller, section } from "./dom";
import { csvButton, files } from "./download";
import { count, number } from "./format";
import { mega, PROCESSOR, QUANTILES } from "./metrics";
import type { Cell, Figure, Report, Response } from "./report";

/** A figure of each kind of request, and how it is written. */
interface Row {
  name: string;
  values: (Figure | undefined)[];
  write: (value: Figure | undefined) => string;
}

export function percentiles({ cells }: Report): HTMLElement | null {
  const [cell] = cells;
  if (cell === undefined || cells.length > 1) return null;
  const kinds = kindsOf(cell);
  const rows = rowsOf(cell, kinds);
  const head = ["", ...kinds.map(([name]) => name)];
  const table = (): Table => ({ head, rows: rows.map(({ name, values }) => [name, ...values]) });
  const body = rows.map(({ name, values, write }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      ...values.map((value) => el("td", { class: "figure" }, value === undefined ? "" : write(value))),
    ),
  );
  const heads = head.map((name) => el("th", { scope: "col", class: name === "" ? "" : "figure" }, name));
  const drawn = el("table", { class: "turned" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body));
  const lead = "Response times in ms. MB are 10⁶ bytes.";
  return section("percentiles", "All figures", lead, files(csvButton("figures", table)), scroller("all figures", drawn));
}

/** All requests, each kind that was kept apart, and what each program did. */
function kindsOf({ response_ms, reads, writes, flushes, operations }: Cell): [string, Response][] {
  const mixed = reads !== null && writes !== null;
  const apart: [string, Response | null | undefined][] = [
    ["reads", mixed ? reads : null],
    ["writes", mixed ? writes : null],
    ["flushes", flushes],
    ...operations.map((done): [string, Response] => [`operations of ${done.program}`, done.response_ms]),
  ];
  const all = mixed ? "reads and writes" : reads !== null ? "reads" : writes !== null ? "writes" : "requests";
  return [[all, response_ms], ...apart.flatMap(([name, kind]): [string, Response][] => (kind ? [[name, kind]] : []))];
}

function rowsOf(cell: Cell, kinds: [string, Response][]): Row[] {
  const whole = (name: string, value: Figure, write: Row["write"] = number): Row => ({ name, values: [value], write });
  const { cpu } = cell;
  return [
    ...(cell.operations.length > 0 ? [whole("whole run, s", cell.elapsed_s.estimate)] : []),
    ...cell.operations.flatMap(({ program, count: done, per_s }) => [
      whole(`operations of ${program}`, done, (value) => count(value ?? 0)),
      whole(`operations of ${program}/s`, per_s.estimate),
    ]),
    whole("requests", cell.ios, (value) => count(value ?? 0)),
    whole("requests/s", cell.iops.estimate),
    whole("MB/s", mega(cell.bytes_per_s.estimate)),
    ...(cell.flushes ? [whole("flushes/s", cell.flushes_per_s)] : []),
    ...QUANTILES.map(([key, name]): Row => ({ name, values: kinds.map(([, kind]) => kind[key]), write: number })),
    ...(cpu === null ? [] : PROCESSOR.map(([key, name, unit]) => whole(unit ? `${name}, ${unit}` : name, cpu[key]))),
  ].map((row) => ({ ...row, values: kinds.map((_, place) => row.values[place]) }));
}
