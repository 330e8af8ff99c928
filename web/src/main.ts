// The page, top to bottom: the question, the answer, the evidence, the method.

import "./style/colours.css";
import "./style/page.css";
import "./style/figures.css";
import "./style/media.css";

import { follow } from "./address";
import { anatomy } from "./anatomy";
import { arm } from "./arm";
import { bars } from "./bars";
import { cells } from "./cells";
import { Choice } from "./choice";
import { claims } from "./claims";
import { curves } from "./curves";
import { stack } from "./stack";
import { distribution } from "./distribution";
import { el } from "./dom";
import { first, howSure } from "./first";
import { followPrinting } from "./chart";
import { press } from "./controls";
import { heading, mainFigures, unfinished, warnings } from "./overview";
import { review } from "./review";
import { members } from "./members";
import { method } from "./method";
import { percentiles } from "./percentiles";
import { readReport, type Report, type Review } from "./report";
import { requestsFigure } from "./requests";
import { told } from "./stretch";
import { themeSwitch } from "./theme";
import { verdictTable } from "./verdicts";

/** The sections in reading order; those with nothing to say are left out. */
function sections(report: Report, choice: Choice): HTMLElement[] {
  const some = report.cells.length > 0;
  const drawn = following(report, choice);
  const answer = first(report, drawn.some(({ id }) => id === "arm"));
  const parts = some ? anatomy(choice) : null;
  // Where nothing is compared, this is the picture.
  if (answer === null) parts?.setAttribute("open", "");
  const all = [
    unfinished(report),
    answer ?? heading(report),
    mainFigures(report),
    warnings(report),
    howSure(report),
    verdictTable([{ report, place: "", part: "", held: [] }], choice),
    report.cells.length > 1 ? bars(choice) : null,
    some ? curves(choice) : null,
    report.cells.some(({ histogram }) => histogram.length > 0) ? distribution(choice) : null,
    parts,
    members(choice, report.cells.some(({ array }) => array !== null)),
    ...drawn,
    cells(report, choice),
    percentiles(report),
    claims(report),
    stack(report),
    method(report),
  ];
  return all.filter((section) => section !== null);
}

/** Request by request, and the arm: of the stretches that there are. */
function following(report: Report, choice: Choice): HTMLElement[] {
  const stretches = told(report, choice);
  if (stretches.length === 0) return [];
  const moves = stretches.some(({ stretch }) => stretch.movements.to.length > 0);
  const picture = moves ? arm(choice, stretches) : null;
  const points = requestsFigure(choice, stretches, picture?.jump ?? null);
  return picture ? [points, picture.element] : [points];
}

/** On paper a report that compares is short: the answer, how sure it is, the first verdicts, the method. If the reader wants all of it, all
    that is folded on the screen is unfolded. */
function unfoldInPrint(whole: HTMLInputElement): void {
  const opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    const short = document.querySelector(".first") !== null && !whole.checked;
    document.documentElement.classList.toggle("short-in-print", short);
    for (const details of document.querySelectorAll<HTMLDetailsElement>(short ? IN_SHORT : "details:not([open])")) {
      if (!details.open) opened.push(details);
      details.open = true;
      // The browser tells of it only after it has printed.
      details.dispatchEvent(new Event("toggle"));
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}

/** What is printed, folded or not, of a report that compares. */
const IN_SHORT = "#sure, #answer, #verdicts, #method";

/** What is done with the whole page: every section unfolded, and folded again; printing; the colours. */
function tools(whole: HTMLInputElement): HTMLElement {
  const open = press("Open all", "open or close all parts", () => {
    const wanted = open.textContent === "Open all";
    for (const details of document.querySelectorAll<HTMLDetailsElement>("details.section")) details.open = wanted;
    open.textContent = wanted ? "Close all" : "Open all";
  });
  const print = press("Print", "print", () => window.print());
  return el("div", { class: "tools" }, open, print, el("label", { class: "small soft" }, whole, " the whole page"), themeSwitch());
}

function build(report: Report | Review): void {
  document.title = `${report.title} · Seekwise`;
  const choice = "chapters" in report ? null : new Choice(report);
  const { sections: all, choices } = choice === null ? review(report as Review) : { sections: sections(report as Report, choice), choices: choice };
  const folded = all.findIndex(({ classList }) => classList.contains("section"));
  const whole = el("input", { type: "checkbox" });
  const bar = el("div", { class: "bar" }, el("span", { class: "mark" }, "Seekwise report"));
  const foot = el(
    "footer",
    {},
    "Made by Seekwise. Charts by Apache ECharts; its licences stand at the end of this file.",
  );
  const main = el("main", { id: "main" }, ...all.slice(0, folded), tools(whole), ...all.slice(folded), foot);
  document
    .getElementById("page")
    ?.replaceChildren(el("a", { class: "skip", href: "#main" }, "To the report"), bar, main);
  unfoldInPrint(whole);
  followPrinting();
  follow(choices);
}

const report = readReport(document);
if (report === null) document.getElementById("page")?.append("This is the template of a report; it holds no results.");
else build(report);
