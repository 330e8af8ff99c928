// A review: one summary on top, then a chapter for each of its studies. What a chapter leaves out stands on its own page,
// in the folder beside this one.

import { bars } from "./bars";
import { best } from "./best";
import { anatomy } from "./anatomy";
import { Choice, type State } from "./choice";
import { badge, cameAgain, claims, result } from "./claims";
import { curves } from "./curves";
import { csvButton, files } from "./download";
import { below, el, section } from "./dom";
import { command, facts, words } from "./method";
import { unbroken } from "./format";
import { unfinished, warnings } from "./overview";
import type { Chapter, Review, Sentence } from "./report";
import { leading, verdicts, WHICH } from "./verdicts";

/** Verdicts of a chapter beside its first, before the rest is folded away: comparisons come before their single cells. */
const SHOWN = 3;

/** The choices of all chapters as one: in the address each stands under its chapter's name. */
export class Choices {
  constructor(private readonly all: Map<string, Choice>) {}

  watch(watcher: () => void): void {
    for (const choice of this.all.values()) choice.watch(watcher);
  }

  state(): State {
    return [...this.all].flatMap(([chapter, choice]) =>
      choice.state().map(([name, value]): [string, string] => [`${chapter}:${name}`, value]),
    );
  }

  restore(state: State): void {
    for (const [chapter, choice] of this.all) {
      const own = state.filter(([name]) => name.startsWith(`${chapter}:`));
      choice.restore(own.map(([name, value]) => [name.slice(chapter.length + 1), value]));
    }
  }
}

/** The page of a review, top to bottom. */
export function review(all: Review): { sections: HTMLElement[]; choices: Choices } {
  const choices = new Map<string, Choice>();
  const chapters = all.chapters.map((one, index) => {
    const choice = new Choice(one.report);
    choices.set(one.folder, choice);
    return chapter(one, index + 1, choice);
  });
  const sections = [heading(all), best(all.chapters), answers(all), about(all), contents(all), findings(all), compared(all), ...chapters, method(all)];
  return { sections: sections.filter((part) => part !== null), choices: new Choices(choices) };
}

/** The question, and right under it the answer in plain sentences. */
function heading({ title, question, answer }: Review): HTMLElement {
  const said = answer.length === 0 ? null : el("div", { class: "answer" }, ...answer.map(sentence));
  return el("header", { class: "question" }, el("h1", {}, title), el("p", { class: "asked" }, question), said);
}

/** A sentence of the answer: what it is of stands out from what is said of it. */
function sentence({ about: of, says }: Sentence): HTMLElement {
  return of === "" ? el("p", {}, unbroken(says)) : el("p", {}, el("strong", {}, unbroken(`${of}:`)), ` ${unbroken(says)}`);
}

/** Where the question comes from: it stands behind the answer. */
function about({ introduction }: Review): HTMLElement | null {
  const paragraphs = introduction.map((paragraph) => el("p", { class: "introduction" }, paragraph));
  return paragraphs.length === 0 ? null : el("div", { class: "about" }, ...paragraphs);
}

function contents({ chapters }: Review): HTMLElement {
  const links = chapters.map(({ folder, heading: title }, index) =>
    el("li", {}, el("a", { href: `#${folder}` }, `${index + 1} ${title}`)),
  );
  const named = (id: string, words: string): HTMLElement => el("li", {}, el("a", { href: `#${id}` }, words));
  const all = [...(chapters.some(({ report }) => report.best.length > 0) ? [named("best", "Best")] : []),
    ...(chapters.some(answering) ? [named("answers", "Answer")] : []),
    named("findings", "Findings"),
    named("compared", "Compared"), ...links, named("method", "Method")];
  return el("nav", { class: "contents", "aria-label": "contents" }, el("ul", {}, ...all));
}

function answering({ answers: does, report }: Chapter): boolean {
  return does && report.verdicts.length > 0;
}

const READ_AS =
  "A cell, or case, is one combination of what a part varies. The dot is the geometric mean of its cells' ratios, the thin line their " +
  `range, the grey band the margin within which sides count as equal. ${WHICH}`;

/** What leads the chapters that answer the question. */
function answers({ chapters }: Review): HTMLElement | null {
  const shown = chapters.filter(answering);
  return shown.length === 0 ? null : section("answers", "The answer part by part", READ_AS, leaders(shown));
}

/** What leads the other chapters. */
function compared({ chapters }: Review): HTMLElement | null {
  const shown = chapters.filter((one) => one.report.verdicts.length > 0 && !answering(one));
  if (shown.length === 0) return null;
  return section("compared", "What else was compared", `The leading comparison of each part. ${READ_AS}`, leaders(shown));
}

function leaders(chapters: Chapter[]): HTMLElement {
  return leading(chapters.map(({ folder, heading: title, held, report }) => ({ place: folder, words: title, held, report })));
}

/** All findings of all chapters, and whether they came out again. */
function findings({ chapters }: Review): HTMLElement | null {
  const all = chapters.flatMap((chapter) => chapter.report.claims.map((claim) => ({ claim, chapter })));
  if (all.length === 0) return null;
  all.sort((a, b) => place(a.claim.id) - place(b.claim.id));
  const rows = all.map(({ claim, chapter: { folder, heading: title } }) =>
    el(
      "li",
      {},
      el("strong", {}, claim.id),
      el(
        "p",
        {},
        claim.finding,
        " ",
        el("a", { class: "small", href: `#${folder}` }, title),
        claim.deciding === null ? null : el("span", { class: "soft small deciding" }, claim.deciding),
      ),
      badge(claim),
    ),
  );
  const csv = csvButton("findings", () => ({
    head: ["id", "class", "finding", "part", "result"],
    rows: all.map(({ claim, chapter: { heading: part } }) => [
      claim.id,
      claim.class,
      claim.finding,
      part,
      result(claim),
    ]),
  }));
  const list = el("ul", { class: "findings" }, ...rows);
  return section("findings", "Findings of the source study", cameAgain(all.map(({ claim }) => claim)), files(csv), list);
}

/** Where a finding stands in its source: the number in its name. */
function place(id: string): number {
  return Number(id.replace(/\D/g, ""));
}

function chapter({ folder, heading: title, why, report }: Chapter, number: number, choice: Choice): HTMLElement {
  const beware = warnings(report);
  const compared = report.verdicts.length > 0;
  const parts = [
    unfinished(report),
    compared ? verdicts(report, beware, SHOWN) : beware,
    report.cells.length > 1 ? bars(choice) : null,
    report.cells.length > 0 ? curves(choice) : null,
    report.cells.length > 0 ? anatomy(choice) : null,
    claims(report),
  ].filter((part) => part !== null);
  const page = below(folder, "report.html");
  const own = el("p", { class: "own" }, "Every figure, the spread, the requests one by one, the arm and the whole stack: ");
  own.append(el("a", { href: page }, "the part's own page"), ".");
  const body = el(
    "section",
    { id: folder, class: "chapter", "aria-labelledby": `${folder}-heading` },
    el("h2", { id: `${folder}-heading` }, `${number} ${title}`),
    why === null ? null : el("p", { class: "asked" }, why),
    el("p", { class: "lead" }, report.question),
    report.expectation === null ? null : el("p", { class: "expected" }, `Expected beforehand: ${report.expectation}`),
    ...parts.map((part) => lowered(part)),
    own,
  );
  settle(body, folder, page);
  return body;
}

/** A section as one of a chapter: its headings one level lower. */
function lowered(part: HTMLElement): HTMLElement {
  for (const [from, to] of [["h3", "h4"] as const, ["h2", "h3"] as const]) {
    for (const old of part.querySelectorAll(from)) {
      const fresh = el(to, old.id ? { id: old.id } : {});
      fresh.append(...old.childNodes);
      old.replaceWith(fresh);
    }
  }
  return part;
}

/** Gives what stands in a chapter names of its own; a link to what it leaves out goes to the part's own page. */
function settle(body: HTMLElement, folder: string, page: string): void {
  const inside = new Set([...body.querySelectorAll("section [id], section[id]")].map(({ id }) => id));
  for (const link of body.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
    const place = link.getAttribute("href")!.slice(1);
    link.setAttribute("href", inside.has(place) ? `#${folder}-${place}` : `${page}#${place}`);
  }
  for (const named of body.querySelectorAll("section[id], section [id]")) {
    if (named.id !== `${folder}-heading`) named.id = `${folder}-${named.id}`;
  }
  for (const named of body.querySelectorAll("section[aria-labelledby]")) {
    named.setAttribute("aria-labelledby", `${folder}-${named.getAttribute("aria-labelledby")}`);
  }
}

function method({ command: line, hash, chapters }: Review): HTMLElement {
  const notes = [...new Set(chapters.flatMap(({ report }) => report.provenance.notes))];
  const version = [...new Set(chapters.map(({ report }) => report.version))].join(", ");
  const intervals = [...new Set(chapters.map(({ report }) => report.interval))];
  const compared = chapters.find(({ report }) => report.verdicts.length > 0) ?? chapters[0];
  return section(
    "method",
    "How it was measured",
    null,
    facts([
      ["run it again", command(line)],
      ...intervals.map((said): [string, string] => ["intervals", said]),
      ["version", `Seekwise ${version}`],
      ["made-from.json", el("code", {}, hash)],
      ...notes.map((note): [string, string] => ["note", note]),
    ]),
    compared === undefined ? null : words(compared.report),
  );
}
