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
import { curves, leadingCurve } from "./curves";
import { differences, stack } from "./stack";
import { distribution } from "./distribution";
import { el } from "./dom";
import { followPrinting } from "./chart";
import { heading, mainFigures, unfinished, warnings } from "./overview";
import { type Choices, review } from "./review";
import { members } from "./members";
import { method } from "./method";
import { percentiles } from "./percentiles";
import { readReport, type Report, type Review } from "./report";
import { requestsFigure } from "./requests";
import { told } from "./stretch";
import { themeSwitch } from "./theme";
import { verdicts } from "./verdicts";

/** The sections in reading order; those with nothing to say are left out. */
function sections(report: Report, choice: Choice): HTMLElement[] {
  const beware = warnings(report);
  const compared = report.verdicts.length > 0;
  const some = report.cells.length > 0;
  const all = [
    compared ? verdicts(report, beware, undefined, leadingCurve(report, choice)) : null,
    mainFigures(report),
    compared ? null : beware,
    report.cells.length > 1 ? bars(choice) : null,
    some ? curves(choice) : null,
    report.cells.some(({ histogram }) => histogram.length > 0) ? distribution(choice) : null,
    some ? anatomy(choice) : null,
    members(choice, report.cells.some(({ array }) => array !== null)),
    ...following(report, choice),
    cells(report, choice),
    percentiles(report),
    claims(report),
    stack(report),
    differences(report),
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

/** Links to the sections that are there. */
function contents(all: HTMLElement[]): HTMLElement {
  const links = all.flatMap((section) => {
    const words = section.querySelector("h2")?.textContent;
    return section.id && words ? [el("li", {}, el("a", { href: `#${section.id}` }, words))] : [];
  });
  return el("nav", { class: "contents", "aria-label": "contents" }, el("ul", {}, ...links));
}

/** On paper a report that compares is short: the answer, the curve, the largest verdicts, the method. If the reader wants all of
    it, what is folded away on the screen is unfolded too; a chapter's single verdicts only on the part's own page. */
function unfoldInPrint(whole: HTMLInputElement): void {
  const opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.toggle("print-whole", whole.checked);
    const short = document.documentElement.classList.contains("short-in-print") && !whole.checked;
    const folded = short ? [] : document.querySelectorAll("details:not([open], .chapter .others details)");
    for (const details of folded) {
      (details as HTMLDetailsElement).open = true;
      opened.push(details as HTMLDetailsElement);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}

/** One report: what stands on its page, and what can be chosen there. */
function single(report: Report): { all: (HTMLElement | null)[]; choice: Choice } {
  const choice = new Choice(report);
  const parts = sections(report, choice);
  const [links, answer] = [contents(parts), parts[0]?.querySelector(".hero")];
  document.documentElement.classList.toggle("short-in-print", !!answer);
  // The answer and its curve stand on the first screen; the way to the rest is below them.
  if (answer) answer.after(links);
  return { all: [unfinished(report), heading(report), ...(answer ? [] : [links]), ...parts], choice };
}

/** The same of several in one. */
function several(report: Review): { all: HTMLElement[]; choice: Choices } {
  const { sections: all, choices: choice } = review(report);
  return { all, choice };
}

function build(report: Report | Review): void {
  document.title = `${report.title} · Seekwise`;
  const { all, choice } = "chapters" in report ? several(report) : single(report);
  const whole = el("input", { type: "checkbox" });
  const print = el("button", { type: "button" }, "Print");
  print.addEventListener("click", () => window.print());
  const settings = el("label", { class: "small soft" }, whole, " the whole page");
  const tools = el("div", { class: "tools" }, print, settings, themeSwitch());
  const bar = el("div", { class: "bar" }, el("span", { class: "mark" }, "Seekwise report"), tools);
  const foot = el(
    "footer",
    {},
    "Made by Seekwise. Charts by Apache ECharts; its licences stand at the end of this file.",
  );
  const main = el("main", { id: "main" }, ...all, foot);
  document
    .getElementById("page")
    ?.replaceChildren(el("a", { class: "skip", href: "#main" }, "To the report"), bar, main);
  unfoldInPrint(whole);
  followPrinting();
  follow(choice);
}

const report = readReport(document);
if (report === null) document.getElementById("page")?.append("This is the template of a report; it holds no results.");
else build(report);
