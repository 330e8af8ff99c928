// How the figures were obtained, how to obtain them again, and what the words mean.

import { count, counted, number, quantity } from "./format";
import { el, section, type Child } from "./dom";
import { markOf } from "./verdicts";
import type { Figure, Report } from "./report";

const ALWAYS: [string, string][] = [
  ["response time", "From the moment a request was handed over until it was answered."],
  ["percentile", "The 99th percentile is the time within which 99 % of requests were answered."],
];

/** Where sides were compared. */
const COMPARED: [string, string][] = [
  ["ratio", "The judged side's figure over that of the side it stands against. Above 1 a rate is faster, a time longer, the processor used more."],
  ["interval", "The range in which the true figure lies, at the stated level, if the runs are typical."],
  ["margin", "The largest difference that still counts as none."],
  ["corrected p", "The chance of such a difference if there were none, corrected for the number of comparisons."],
];

/** Where something was varied. */
const VARIED: [string, string][] = [["cell", "One combination of the levels that were varied."]];

export function method(report: Report): HTMLElement {
  const { provenance } = report;
  const clock = report.virtual_time ? "of virtual time" : "by the wall clock";
  const each = report.cells.length > 1 ? " in each cell" : "";
  const apiece = report.runs_planned > 1 ? " each" : "";
  const all: [string, Child][] = [
    ["title", report.title],
    ["run it again", command(report.command)],
    ["runs", `${runs(report.runs_per_cell)}${each}, ${seconds(report.runtime_s)} ${clock}${apiece}`],
    ...(report.verdicts.length > 0 ? [] : [["intervals", report.interval] as [string, Child]]),
    ["seed", el("code", {}, report.seed)],
    ["version", `Seekwise ${report.version}`],
    ["drive", provenance.drive],
    ["made-from.json", el("code", {}, provenance.hash)],
    ...provenance.notes.map((note): [string, Child] => ["note", note]),
  ];
  return section("method", "How it was measured", null, facts(all), report.verdicts.length > 0 ? null : words(report));
}

/** How many runs, or from how many to how many. */
function runs([least, most]: [number, number]): string {
  return least === most ? counted(most, "run") : `${count(least)} to ${counted(most, "run")}`;
}

/** How long, or from how long to how long. */
function seconds([least, most]: [Figure, Figure]): string {
  return least === most ? quantity(most, "s") : `${number(least)} to ${quantity(most, "s")}`;
}

/** What can be said of how it was measured, without what is empty. */
export function facts(all: [string, Child][]): HTMLElement {
  const given = all.filter(([, value]) => value !== "" && (value as Node).textContent !== "");
  return el("dl", { class: "facts" }, ...given.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A command that can be copied. */
export function command(line: string): HTMLElement {
  const code = el("code", { class: "command" }, line);
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => void copy(line, code, button));
  return el("div", { class: "run-again" }, code, button);
}

/** Copies, or selects the text where a file may not write to the clipboard. */
async function copy(line: string, code: HTMLElement, button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(line);
    button.textContent = "Copied";
  } catch {
    getSelection()?.selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

/** What the words of a report mean. */
export function words({ verdicts, meanings, cells }: Report): HTMLElement {
  const compared = verdicts.length > 0;
  const outcomes = meanings.map(({ word, says }): [string, string] => [`${markOf(word)} ${word}`, says]);
  const all = [...(compared ? [...outcomes, ...COMPARED] : []), ...ALWAYS, ...(cells.length > 1 ? VARIED : [])];
  const entries = all.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
  return el("div", {}, el("h3", {}, "The words"), el("dl", { class: "facts glossary" }, ...entries));
}
