// Findings of the source studies, and whether they came out again.

import { el, section, type Child } from "./dom";
import { csvButton, files } from "./download";
import { sentence } from "./figure";
import { counted, unbroken } from "./format";
import type { Claim, Report } from "./report";

export function claims({ claims: all }: Report): HTMLElement | null {
  if (all.length === 0) return null;
  const csv = csvButton("claims", () => ({
    head: ["id", "class", "finding", "counts as reproduced when", "figure", "result", "rests on"],
    rows: all.map((claim) => [
      claim.id,
      claim.class,
      claim.finding,
      claim.condition,
      claim.figure,
      result(claim),
      claim.mechanism,
    ]),
  }));
  const list = el("ul", { class: "claims" }, ...all.map((claim) => el("li", {}, ...card(claim))));
  return section("claims", "Findings of the source studies", cameAgain(all), files(csv), list);
}

/** The answer to a finding of which some is not checked. */
export const IN_PART = "reproduced in part";

/** How many came out again, in a sentence. */
export function cameAgain(all: Claim[]): string {
  const run = all.filter(({ reproduced }) => reproduced !== null);
  const part = run.filter(({ answer }) => answer === IN_PART).length;
  const held = run.filter(({ reproduced }) => reproduced === true).length - part;
  const pending = all.filter((claim) => claim.reproduced === null && claim.pending !== null).length;
  const open = all.filter(({ answer }) => answer === "not decided").length;
  const shown = all.length - run.length - pending - open;
  const said = [
    run.length > 0 ? `${held} of ${counted(run.length, "finding")} that can hold or fail came out again` : "",
    part > 0 ? `${counted(part, "finding")} in part` : "",
    pending > 0 ? `${counted(pending, "finding")} so far, with one check left to seekwise claims` : "",
    open > 0 ? `${counted(open, "finding")} not decided` : "",
    shown > 0 ? `of ${counted(shown, "finding")} the figures are shown` : "",
  ];
  return `${sentence(said.filter((words) => words !== "").join("; "))}.`;
}

/** More lines of figures than this are folded. */
const LINES = 4;

function card(claim: Claim): Child[] {
  const { id, class: kind, finding, condition, figure: figures, mechanism, pending } = claim;
  const lines = figures.split("\n");
  const shown = el("div", { class: "measured" }, ...lines.map(figure));
  const folded = el("details", {}, el("summary", {}, `${counted(lines.length, "line")} of figures`), shown);
  const facts: [string, Child][] = [
    ["counts as reproduced when", unbroken(condition)],
    ...(claim.reading === null ? [] : [["read as", unbroken(claim.reading)] as [string, Child]]),
    ...(claim.unchecked === null ? [] : [["not checked", unbroken(claim.unchecked)] as [string, Child]]),
    ["rests on", unbroken(mechanism)],
    ...(claim.deciding === null ? [] : [["decides", unbroken(claim.deciding)] as [string, Child]]),
    ...(pending === null ? [] : [["holds so far", pending] as [string, Child]]),
    ["figures", lines.length > LINES ? folded : shown],
  ];
  return [
    el("h3", {}, `${id}  `, badge(claim)),
    el("p", {}, unbroken(finding), el("span", { class: "soft small" }, ` (${kind})`)),
    el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
  ];
}

// A line of figures; those below an expression stand in.
function figure(line: string): HTMLElement {
  return el("div", line.startsWith("  ") ? { class: "at-cell" } : {}, line.trim());
}

/** What came of a finding, in words. */
export function result({ reproduced, pending, answer }: Claim): string {
  return reproduced === null && pending !== null ? "holds so far" : answer;
}

/** The same as a badge. */
export function badge(claim: Claim): HTMLElement {
  const { reproduced, pending } = claim;
  const kind = reproduced === null ? "not-enough-data" : reproduced ? "faster" : "slower";
  const mark = reproduced === null ? null : el("span", { "aria-hidden": "true" }, reproduced ? "✓ " : "✗ ");
  return el("span", { class: `badge ${kind}`, title: pending }, mark, result(claim));
}
