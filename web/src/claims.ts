// Findings of the source studies, and whether they came out again.

import { el, scroller, section } from "./dom";
import type { Claim, Report } from "./report";

export function claims({ claims: all }: Report): HTMLElement | null {
  if (all.length === 0) return null;
  const run = all.filter(({ reproduced }) => reproduced !== null);
  const held = run.filter(({ reproduced }) => reproduced === true).length;
  const lead =
    `${held} of ${run.length} findings that can hold or fail came out again` +
    (run.length < all.length ? `; of ${all.length - run.length} the figures are shown.` : ".");
  const names = ["", "finding", "counts as reproduced when", "figure", "result", "rests on"];
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
  const table = el("table", { class: "text" }, el("thead", {}, head), el("tbody", {}, ...all.map(row)));
  return section("claims", "Findings of the source studies", lead, scroller("findings", table));
}

function row(claim: Claim): HTMLElement {
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, claim.id),
    el("td", {}, claim.finding, el("span", { class: "soft small" }, ` (${claim.class})`)),
    el("td", {}, claim.condition),
    el("td", { class: "figures" }, ...claim.figure.split("\n").map(figure)),
    el("td", {}, result(claim.reproduced)),
    el("td", {}, claim.mechanism),
  );
}

// A line of figures; those below an expression stand in.
function figure(line: string): HTMLElement {
  return el("div", line.startsWith("  ") ? { class: "below" } : {}, line.trim());
}

function result(reproduced: boolean | null): HTMLElement {
  if (reproduced === null) return el("span", { class: "badge not-enough-data" }, "shown");
  const [kind, mark, words] = reproduced ? ["faster", "✓ ", "reproduced"] : ["slower", "✗ ", "not reproduced"];
  return el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, mark!), words!);
}
