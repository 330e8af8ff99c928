// The page, top to bottom: the question, the answer, the evidence, the method.

import "./style/colours.css";
import "./style/page.css";
import "./style/figures.css";
import "./style/media.css";

import { anatomy } from "./anatomy";
import { bars } from "./bars";
import { cells } from "./cells";
import { Choice } from "./choice";
import { claims } from "./claims";
import { curves } from "./curves";
import { differences, stack } from "./stack";
import { distribution } from "./distribution";
import { el } from "./dom";
import { followPrinting } from "./chart";
import { heading, mainFigures, warnings } from "./overview";
import { method } from "./method";
import { readReport, type Report } from "./report";
import { themeSwitch } from "./theme";
import { verdicts } from "./verdicts";

/** The sections in reading order; those with nothing to say are left out. */
function sections(report: Report): HTMLElement[] {
  const choice = new Choice(report);
  const beware = warnings(report);
  const compared = report.verdicts.length > 0;
  const some = report.cells.length > 0;
  const all = [
    compared ? verdicts(report, beware) : null,
    mainFigures(report),
    compared ? null : beware,
    stack(report),
    report.cells.length > 1 ? bars(choice) : null,
    some ? curves(choice) : null,
    report.cells.some(({ histogram }) => histogram.length > 0) ? distribution(choice) : null,
    some ? anatomy(choice) : null,
    some ? cells(report) : null,
    claims(report),
    differences(report),
    method(report),
  ];
  return all.filter((section) => section !== null);
}

/** Links to the sections that are there. */
function contents(all: HTMLElement[]): HTMLElement {
  const links = all.flatMap((section) => {
    const words = section.querySelector("h2")?.textContent;
    return section.id && words ? [el("li", {}, el("a", { href: `#${section.id}` }, words))] : [];
  });
  return el("nav", { class: "contents", "aria-label": "contents" }, el("ul", {}, ...links));
}

/** What is folded away on the screen is unfolded on paper. */
function unfoldInPrint(): void {
  const opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      (details as HTMLDetailsElement).open = true;
      opened.push(details as HTMLDetailsElement);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}

function build(report: Report): void {
  document.title = `${report.title} · Seekwise`;
  const all = sections(report);
  const bar = el("div", { class: "bar" }, el("span", { class: "mark" }, "Seekwise report"), themeSwitch());
  const foot = el(
    "footer",
    {},
    "Made by Seekwise. Charts by Apache ECharts; its licences stand at the end of this file.",
  );
  const main = el("main", { id: "main" }, heading(report), contents(all), ...all, foot);
  document
    .getElementById("page")
    ?.replaceChildren(el("a", { class: "skip", href: "#main" }, "To the report"), bar, main);
  unfoldInPrint();
  followPrinting();
}

const report = readReport(document);
if (report === null) document.getElementById("page")?.append("This is the template of a report; it holds no results.");
else build(report);
