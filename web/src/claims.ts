// Findings of the source studies, and whether they came out again.

import { el, scroller, section } from "./dom";
import { csvButton, files } from "./download";
import { counted } from "./format";
import type { Claim, Report } from "./report";

export function claims({ claims: all }: Report): HTMLElement | null {
  if (all.length === 0) return null;
  const run = all.filter(({ reproduced }) => reproduced !== null);
  const held = run.filter(({ reproduced }) => reproduced === true).length;
  const lead =
    (run.length === 0 ? "" : `${held} of ${counted(run.length, "finding")} that can hold or fail came out again`) +
    (run.length === 0 || run.length === all.length ? "" : "; ") +
    (run.length < all.length ? `of ${counted(all.length - run.length, "finding")} the figures are shown` : "") +
    ".";
  const names = ["", "finding", "counts as reproduced when", "figure", "result", "rests on"];
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
  const table = el("table", { class: "text" }, el("thead", {}, head), el("tbody", {}, ...all.map(row)));
  const csv = csvButton("claims", () => ({
    head: ["id", "class", ...names.slice(1)],
    rows: all.map((claim) => [
      claim.id,
      claim.class,
      claim.finding,
      claim.condition,
      claim.figure,
      claim.reproduced === null ? "shown" : claim.reproduced ? "reproduced" : "not reproduced",
      claim.mechanism,
    ]),
  }));
  return section("claims", "Findings of the source studies", lead, files(csv), scroller("findings", table));
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
