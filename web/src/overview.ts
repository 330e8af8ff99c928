// The head of a page that compares nothing: what was asked and expected, for a single cell its main figures; and what to beware of.

import { el, prose } from "./dom";
import { mega } from "./metrics";
import { count, counted, ends, number, quantity } from "./format";
import type { Cell, Report } from "./report";

/** The question of a report that compares nothing. */
export function heading({ title, question, expectation }: Report): HTMLElement {
  return el(
    "header",
    {},
    el("h1", { class: "asked" }, question || title),
    expectation === null ? null : el("p", { class: "expected" }, el("span", {}, "Expected beforehand: "), expectation),
  );
}

/** That runs are missing, where they are. */
export function unfinished({ runs_done, runs_planned }: Report): HTMLElement | null {
  if (runs_done >= runs_planned) return null;
  const words = `${count(runs_done)} of ${counted(runs_planned, "run")} are done. What follows is of these alone.`;
  return el("aside", { class: "unfinished", role: "status" }, el("strong", {}, "Unfinished: "), words);
}

/** Warnings of the report, then those of its cells, counted. */
export function warnings({ warnings: all, cells }: Report): HTMLElement | null {
  const flagged = cells.filter(({ flags }) => flags.length > 0).length;
  const items = all.map((warning) => el("li", {}, ...prose(warning)));
  const [only] = cells;
  if (cells.length === 1) {
    items.push(...only!.flags.filter((flag) => !all.includes(flag)).map((flag) => el("li", {}, ...prose(flag))));
  } else if (flagged > 0) {
    const carry = flagged === 1 ? "carries" : "carry";
    const which = `${flagged} of ${counted(cells.length, "cell")} ${carry} a remark; see the last column of `;
    items.push(el("li", {}, which, el("a", { href: "#cells" }, "all figures"), "."));
  }
  if (items.length === 0) return null;
  return el(
    "aside",
    { class: "warnings", "aria-label": "warnings" },
    el("strong", {}, "Beware"),
    el("ul", {}, ...items),
  );
}

/** How far a job with a rate, or a trace, fell behind what was due. */
function pace({ arrivals }: Cell): [string, string, string][] {
  if (arrivals === null) return [];
  const { asked_iops, reached_iops, asked_mb_per_s, reached_mb_per_s, backlog_mean_ms, backlog_max_ms } = arrivals;
  const asked =
    asked_iops !== null
      ? `rate asked ${quantity(asked_iops, "requests/s")}, reached ${number(reached_iops)}`
      : asked_mb_per_s !== null
        ? `asked ${quantity(asked_mb_per_s, "MB/s")}, reached ${number(reached_mb_per_s)}`
        : `${quantity(reached_iops, "requests/s")} came at instants of their own`;
  const mean = backlog_max_ms === 0 ? "" : `in the mean ${quantity(backlog_mean_ms, "ms")}; `;
  return [["longest backlog", quantity(backlog_max_ms, "ms"), `${mean}${asked}`]];
}

/** The main figures of a report that has one cell only. */
export function mainFigures({ cells }: Report): HTMLElement | null {
  const [cell] = cells;
  if (cell === undefined || cells.length > 1) return null;
  const { iops, bytes_per_s, response_ms, elapsed_s, operations } = cell;
  const scene: [string, string, string][] = operations.length > 0 ? [["whole run", quantity(elapsed_s.estimate, "s"), ""]] : [];
  const tiles: [string, string, string][] = [
    ...scene,
    ...operations.map(({ program, count: done, per_s, response_ms: response }): [string, string, string] => [
      program,
      quantity(per_s.estimate, "operations/s"),
      `${counted(done, "operation")}, median ${quantity(response.p50, "ms")}, p99 ${quantity(response.p99, "ms")}`,
    ]),
    ["rate", quantity(iops.estimate, "requests/s"), cell.runs > 1 ? `interval ${ends(iops)}` : ""],
    ["throughput", quantity(mega(bytes_per_s.estimate), "MB/s"), ""],
    ...pace(cell),
    ["mean response", quantity(response_ms.mean, "ms"), `median ${quantity(response_ms.p50, "ms")}`],
    ["99th percentile", quantity(response_ms.p99, "ms"), `longest ${number(response_ms.max)} ms`],
  ];
  const drawn = tiles.map(([name, value, more]) =>
    el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), el("span", {}, more))),
  );
  return el("section", { id: "figures", "aria-label": "main figures" }, el("dl", { class: "tiles" }, ...drawn));
}
