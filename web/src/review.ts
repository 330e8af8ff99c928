// A review: its answer on the first screen, then, folded, a chapter for each of its studies. What a chapter leaves out stands on its own
// page, in the folder beside this one.

import { reveal } from "./address";
import { bars } from "./bars";
import { best } from "./best";
import { anatomy } from "./anatomy";
import { Choice, Options, type State } from "./choice";
import { badge, cameAgain, claims, result } from "./claims";
import { press } from "./controls";
import { curves } from "./curves";
import { csvButton, files } from "./download";
import { below, el, section } from "./dom";
import { firstOfReview, leading } from "./first";
import { command, facts, words } from "./method";
import { counted, unbroken } from "./format";
import { unfinished, warnings } from "./overview";
import type { Chapter, Review, Sentence } from "./report";
import { badges, priced, verdictTable, WHICH } from "./verdicts";

/** The choices of all chapters as one: in the address each stands under its chapter's name, and the options of the whole page under none. */
export class Choices {
  readonly own = new Options();

  constructor(private readonly all: Map<string, Choice>) {}

  /** The choice of a chapter. */
  of(chapter: string): Choice {
    return this.all.get(chapter)!;
  }

  /** Shows the verdicts that these words find. */
  find(words: string): void {
    this.own.set("verdicts.find", words);
    const table = document.getElementById("verdicts")!;
    reveal(table);
    table.scrollIntoView();
  }

  watch(watcher: () => void): void {
    for (const choice of [this.own, ...this.all.values()]) choice.watch(watcher);
  }

  state(): State {
    const chapters = [...this.all].flatMap(([chapter, choice]) =>
      choice.state().map(([name, value]): [string, string] => [`${chapter}:${name}`, value]),
    );
    return [...this.own.state(), ...chapters];
  }

  restore(state: State): void {
    this.own.restore(state);
    for (const [chapter, choice] of this.all) {
      const own = state.filter(([name]) => name.startsWith(`${chapter}:`));
      choice.restore(own.map(([name, value]) => [name.slice(chapter.length + 1), value]));
    }
  }
}

/** The page of a review, top to bottom. */
export function review(all: Review): { sections: HTMLElement[]; choices: Choices } {
  const choices = new Choices(new Map(all.chapters.map(({ folder, report }) => [folder, new Choice(report)])));
  const chapters = all.chapters.map((one, index) => chapter(one, index + 1, choices));
  const parts = all.chapters.map(({ folder, heading, held, report }) => ({ place: folder, part: heading, held, report }));
  const sections = [firstOfReview(all), howSure(all), answer(all), best(all.chapters), verdictTable(parts, choices.own), findings(all), ...chapters, method(all)];
  return { sections: sections.filter((part) => part !== null), choices };
}

/** How the words and intervals of its verdicts are meant. */
function howSure({ chapters }: Review): HTMLElement | null {
  const compared = chapters.find(({ report }) => report.verdicts.length > 0);
  if (compared === undefined) return null;
  const intervals = [...new Set(chapters.map(({ report }) => report.interval))];
  const said = facts([...intervals.map((interval): [string, string] => ["intervals", interval]), ["cells", WHICH]]);
  return section("sure", "How sure is this?", null, said, words(compared.report));
}

/** Every sentence of the answer, and where the question comes from. */
function answer({ answer: said, introduction }: Review): HTMLElement | null {
  if (said.length + introduction.length === 0) return null;
  const paragraphs = introduction.map((paragraph) => el("p", { class: "introduction" }, paragraph));
  return section("answer", "The answer in full, and its question", null, el("div", { class: "answer" }, ...said.map(sentence)), ...paragraphs);
}

/** A sentence of the answer: what it is of stands out from what is said of it. */
function sentence({ about: of, says }: Sentence): HTMLElement {
  return of === "" ? el("p", {}, unbroken(says)) : el("p", {}, el("strong", {}, unbroken(`${of}:`)), ` ${unbroken(says)}`);
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

function chapter({ folder, heading: title, why, report }: Chapter, number: number, choices: Choices): HTMLElement {
  const choice = choices.of(folder);
  const [some, several] = [report.cells.length > 0, report.cells.length > 1];
  const parts = [
    unfinished(report),
    warnings(report),
    several ? bars(choice) : null,
    some ? curves(choice) : null,
    some ? anatomy(choice) : null,
    claims(report),
  ].filter((part) => part !== null);
  const page = below(folder, "report.html");
  const own = el("p", { class: "own" }, "Every figure, the spread, the requests one by one, the arm and the whole stack: ");
  own.append(el("a", { href: page }, "the part's own page"), ".");
  const badge = badges(report);
  const led = report.verdicts.length === 0 ? [] : leading(report);
  const body = section(
    folder,
    `${number} ${title}`,
    report.question,
    why === null ? null : el("p", {}, why),
    report.expectation === null ? null : el("p", { class: "expected" }, `Expected beforehand: ${report.expectation}`),
    ...led.flatMap((verdict) => [el("p", { class: "led" }, badge(verdict, verdict), ` ${unbroken(verdict.headline)}`), priced(verdict)]),
    led.length === 0 ? null : el("p", {}, press(`${counted(report.verdicts.length, "verdict")} in the table`, `verdicts of ${title} in the table`, () => choices.find(title))),
    ...parts.map((part) => lowered(part)),
    own,
  );
  body.classList.add("chapter");
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
  const inside = new Set([...body.querySelectorAll(".section [id], .section[id]")].map(({ id }) => id));
  for (const link of body.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
    const place = link.getAttribute("href")!.slice(1);
    link.setAttribute("href", inside.has(place) ? `#${folder}-${place}` : `${page}#${place}`);
  }
  for (const named of body.querySelectorAll(".section[id], .section [id]")) {
    if (named.id !== `${folder}-heading`) named.id = `${folder}-${named.id}`;
  }
  for (const named of body.querySelectorAll(".section[aria-labelledby]")) {
    named.setAttribute("aria-labelledby", `${folder}-${named.getAttribute("aria-labelledby")}`);
  }
}

function method({ title, command: line, hash, chapters }: Review): HTMLElement {
  const notes = [...new Set(chapters.flatMap(({ report }) => report.provenance.notes))];
  const version = [...new Set(chapters.map(({ report }) => report.version))].join(", ");
  const said = facts([
    ["title", title],
    ["run it again", command(line)],
    ["version", `Seekwise ${version}`],
    ["made-from.json", el("code", {}, hash)],
    ...notes.map((note): [string, string] => ["note", note]),
  ]);
  return section("method", "How it was measured", null, said);
}
