// The first screen: the question, one sentence of answer, a picture of it, one number, why it is so, and the way to the arm. What else is
// known of the answer is folded below it.

import { below, el, section, type Child } from "./dom";
import { counted, ends, estimated, levelName, number, unbroken } from "./format";
import { facts, words } from "./method";
import { IN_PART } from "./claims";
import { sentence } from "./figure";
import { forward, picture, ratioScale, shareScale, type Dot, type Line, type Scale } from "./picture";
import type { Best, BriefCase, Cause, Chapter, Range, Report, Review, Share, Verdict } from "./report";
import { detail, sideNames, signOf, tone, WHICH } from "./verdicts";

/** The parts of an answer. */
interface Answer {
  question: string;
  /** The colour of its verdict, and its mark. */
  tone: string;
  mark: string;
  says: string;
  picture: HTMLElement | null;
  number: Child;
  /** What takes the gain back, and what else must be known with it. */
  but: Child[];
  cause: string | null;
  /** The address of the arm at work. */
  arm: string | null;
}

function screen({ question, tone: colour, mark, says, picture: drawn, number: figure, but, cause, arm }: Answer): HTMLElement {
  const sign = mark === "" ? null : el("span", { class: "sign", "aria-hidden": "true" }, mark);
  const why = cause === null ? null : el("p", { class: "cause" }, el("strong", {}, "Why"), unbroken(cause));
  // A picture that is passed on alone tells its cause.
  if (why !== null) drawn?.append(why);
  const onward = arm === null ? null : el("p", { class: "onward" }, el("a", { href: arm }, "See the arm"));
  const hero = el(
    "section",
    { id: "verdict", class: `hero ${colour}`, "aria-label": "answer" },
    says === "" ? null : el("p", { class: "headline" }, sign, unbroken(says)),
    drawn,
    el("div", { class: "why" }, figure, drawn === null ? why : null, ...but, onward),
  );
  return el("div", { class: "first" }, el("h1", { class: "asked" }, question), hero);
}

/** The first screen of a report that compares; null for one that does not. */
export function first(report: Report, arm: boolean): HTMLElement | null {
  if (report.verdicts.length === 0) return null;
  const [headline, several] = chosen(report);
  return screen({
    question: report.question || report.title,
    tone: several === null || headline.verdict === "faster" ? tone(headline.verdict, headline) : "no-difference",
    mark: several === null ? signOf(headline) : "",
    says: several ?? briefly(headline),
    but: [...costs(headline), ...headline.beside.slice(0, 1).map((said) => el("p", { class: "beside" }, `But ${said.split(":")[0]}.`))],
    picture: cellsPicture(report, headline),
    number: ratioOf(headline, "", several === null ? "" : sideNames(report)(headline, headline.side_b)),
    cause: causeOf(report, headline),
    arm: arm ? "#arm" : null,
  });
}

/** The verdict that answers, and a sentence where several sides stand against one base: which of them may be the best, the base if all are
    worse, else that none is known to be. */
function chosen(report: Report): [Verdict, string | null] {
  const [headline] = report.verdicts as [Verdict];
  const sides = sidesOf(report, headline);
  if (headline.cells !== 1 || sides.length < 2) return [headline, null];
  const bestOf = (all: Verdict[]): Verdict => all.reduce((one, other) => (goodness(other) > goodness(one) ? other : one));
  const better = sides.filter(({ verdict }) => verdict === "faster");
  const best = bestOf(better.length > 0 ? better : sides);
  const name = sideNames(report);
  const equals = better.filter((one) => one !== best && meet(one, best)).map((one) => name(one, one.side_b));
  const named = (names: string[]): string => `Best of ${sides.length + 1}: ${names.join(", ").replace(/, ([^,]*)$/, " or $1")}`;
  if (better.length > 0) return [best, named([name(best, best.side_b), ...equals])];
  if (sides.every(({ verdict }) => verdict === "slower")) return [best, named([name(best, best.side_a)])];
  const open = sides.some(({ verdict }) => verdict === "not enough data");
  return [best, `${open ? "Not decided" : "No difference"} between ${sides.length + 1}`];
}

/** Whether the intervals of two sides meet, so that neither is known to be better. */
function meet(one: Verdict, other: Verdict): boolean {
  return one.ratio!.low === null || other.ratio!.low === null || (one.ratio!.low <= other.ratio!.high! && other.ratio!.low <= one.ratio!.high!);
}

/** The sides that stand against the same base, under the same conditions and by the same metric. */
function sidesOf({ verdicts }: Report, { side_a, metric, cell }: Verdict): Verdict[] {
  return verdicts.filter((one) => one.ratio !== null && one.side_a === side_a && one.metric === metric && one.cell === cell);
}

/** How many times as good a side is. */
function goodness({ ratio, better }: Verdict): number {
  return (ratio && forward(ratio, better).estimate) ?? 1;
}

/** A sentence of more words is said more briefly. */
const LONGEST = 26;

/** A verdict in one sentence, without the figures that stand beside it. */
function briefly({ cells, headline, name, verdict, word, cell }: Verdict): string {
  const [whole] = headline.split("; the answer changes ");
  if (verdict === "refused" || (cells > 1 && whole!.split(" ").length <= LONGEST)) return whole!;
  return cells > 1 ? `${name}: ${word.replace(/^mixed: /, "").replace(/ of \d+/, "$& cells")}` : `${name}: ${word}${cell === "" ? "" : ` at ${cell}`}`;
}

/** What a power cut loses by it, and what else it changes. */
function costs(verdict: Verdict): Child[] {
  const { price, at_once: several } = verdict;
  return [
    price === null ? null : el("p", { class: "price" }, `But ${shortPrice(verdict)}.`),
    several.length === 0 ? null : el("p", { class: "beside", title: several.join(", ") }, `${several.length} things change at once.`),
  ];
}

/** A longer name of a change does not stand with its figure. */
const NAME = 4;

/** The mean ratio with its interval, and a link to the part of a review that it is from. */
function ratioOf({ ratio, metric, cells }: Verdict, part = "", name = ""): Child {
  if (ratio === null) return null;
  const change = name !== "" && name.split(" ").length <= NAME ? `${name}: ` : "";
  const mean = `${change}${cells > 1 ? "on average " : ""}`;
  const figure = el("strong", {}, `${estimated(ratio)}\u00a0times`);
  const of = el("span", { class: "soft" }, ` the ${metric} (95\u00a0% interval ${ends(ratio)})`);
  return el("p", { class: "ratio" }, sentence(mean), part === "" ? figure : el("a", { href: `#${part}` }, figure), of);
}

/** The verdicts on the single cells of a comparison; itself if it has one. */
function cellsOf({ verdicts }: Report, whole: Verdict): Verdict[] {
  if (whole.cells === 1) return [whole];
  const keys = ["name", "side_a", "side_b", "metric"] as const;
  return verdicts.filter((one) => one.cells === 1 && keys.every((key) => one[key] === whole[key]));
}

/** Why it came out so: by the work of each request, at the cell that differs most the verdict's way. */
function causeOf(report: Report, whole: Verdict, of = ""): string | null {
  const way = whole.verdict === "faster" || whole.verdict === "slower" ? whole.verdict : null;
  const told = cellsOf(report, whole).filter(({ cause, verdict }) => cause !== null && (way === null || verdict === way));
  const size = ({ ratio, cause }: Verdict): number => Math.abs(Math.log(ratio?.estimate ?? 1)) + (OF_EACH.test(cause!.text) ? UNLIKELY : 0);
  const [most] = told.sort((one, other) => size(other) - size(one));
  if (most === undefined) return null;
  return `${of}${most.cell === "" ? "" : `, at ${most.cell}`}: ${workOf(most.cause!)}.`;
}

/** A cause that tells the work of each request comes before others, whatever the size. */
const OF_EACH = /^each /;
const UNLIKELY = 100;

/** A figure of many digits in three. */
function shortened(figure: string): string {
  return figure.length > "1.23".length ? number(Number(figure)) : figure;
}

/** The first sentence on a cause that names a part of it, without small parts: the work of each request. Of waiting and work that go the same
    way it is the larger. */
function workOf({ text }: Cause): string {
  const told = text.split(/\. |; cache is /) as [string, ...string[]];
  const whole = told.find((sentence) => sentence.includes("(")) ?? told[0];
  const [waiting, own] = ["waiting", "own work"].map((word) => Number(new RegExp(`${word} ([-+][\\d.]+)`).exec(whole)?.[1] ?? 0)) as [number, number];
  const less = waiting * own <= 0 ? null : Math.abs(own) > Math.abs(waiting) ? / waiting [^;]*;/ : /; own work [^;]*/;
  const work = less === null || OF_EACH.test(whole) ? whole : whole.replace(less, "");
  return work.replace(/, the rest [^,)]*/g, "").replace(/, -?\d+ %/g, "").replaceAll("->", "→").replace(/([ (])-(?=\d)/g, "$1−").replace(/\d+\.\d+/g, shortened);
}

function dot({ ratio, better, ...said }: Verdict): Dot[] {
  return ratio === null ? [] : [{ value: forward(ratio, better), tone: tone(said.verdict, said) }];
}

function scaleOf(all: Verdict[]): Scale {
  return ratioScale(all.flatMap(({ ratio, better }) => (ratio === null ? [] : [forward<Range>(ratio, better)])));
}

/** Cells that are drawn: half of them the best, half the worst; fewer if they have more words together. */
const CELLS = 6;
const LABELS = 36;
/** Regions that are drawn. */
const REGIONS = 4;

/** Cells that have the effect together, each with the range of its ratios; none where they are too many to draw. */
function regionsOf({ place, better }: Verdict): Line[] {
  const regions = place?.regions ?? [];
  if (regions.length > REGIONS) return [];
  return regions.map(({ place: where, cells, undecided, ratio, verdict }) => {
    const { low, high } = forward(ratio, better);
    const estimate = low === high ? low : null;
    return { label: `${where} (${undecided > 0 ? `${cells} of ` : ""}${counted(cells + undecided, "cell")})`, dots: [{ value: { estimate, low, high }, tone: tone(verdict, { tempered: false, slight: false }) }] };
  });
}

/** Where the leading comparison helps, and where it hurts: region by region, or cell by cell, the best above. If it is of one cell, each side
    against the base. */
function cellsPicture(report: Report, headline: Verdict): HTMLElement | null {
  const name = sideNames(report);
  const [of, base] = [name(headline, headline.side_b), name(headline, headline.side_a)];
  const all = cellsOf(report, headline).filter(({ ratio }) => ratio !== null);
  if (all.length === 0) return null;
  if (headline.cells === 1) {
    const sides = sidesOf(report, headline);
    const equal: Line = { label: base, dots: [{ value: { estimate: 1, low: null, high: null }, tone: "no-difference" }] };
    const lines = sides.slice(0, 2 * CELLS).map((one): Line => ({ label: name(one, one.side_b), dots: dot(one) }));
    return picture(`${headline.metric}, against ${base}`, [equal, ...lines], scaleOf(sides));
  }
  const places = regionsOf(headline);
  if (places.length > 1) return picture(`${headline.metric}: ${of} against ${base}`, places, ratioScale(places.flatMap(({ dots }) => dots.map(({ value }) => value))));
  all.sort((one, other) => goodness(other) - goodness(one));
  const words = all.slice(0, CELLS).flatMap(({ cell }) => cell.split(" ")).length;
  const ends = words > LABELS ? CELLS / 3 : CELLS / 2;
  const left = all.length - 2 * ends;
  const drawn = left > 1 ? [...all.slice(0, ends), ...all.slice(-ends)] : all;
  const lines = drawn.map((one): Line => ({ label: one.cell, dots: dot(one) }));
  if (left > 1) lines.splice(ends, 0, { label: `${counted(left, "cell")} between`, dots: all.slice(ends, -ends).flatMap(dot) });
  return picture(`${headline.metric}: ${of} against ${base}`, lines, scaleOf(all));
}

/** What else is known of the answer, and how its words and intervals are meant. */
export function howSure(report: Report): HTMLElement | null {
  const [headline] = report.verdicts;
  if (headline === undefined) return null;
  const { expectation, interval } = report;
  const known = [...detail(headline, report), facts([["expected beforehand", expectation ?? ""], ["intervals", interval], ["cells", WHICH]])];
  return section("sure", "How sure is this?", null, ...known, words(report));
}

/** A leading comparison of a part. */
interface Leader {
  chapter: Chapter;
  verdict: Verdict;
}

/** What leads the parts that answer the question, else all of them; the first comparison of a part of which it says of none. */
function leadersOf({ chapters }: Review): Leader[] {
  const compared = chapters.filter(({ report }) => report.verdicts.length > 0);
  const answering = compared.filter(({ answers }) => answers);
  return (answering.length > 0 ? answering : compared).flatMap((chapter) => leading(chapter.report).map((verdict) => ({ chapter, verdict })));
}

/** The leading comparisons of a part, the first if it names none. */
export function leading({ verdicts }: Report): Verdict[] {
  const leaders = verdicts.filter(({ leads }) => leads);
  return leaders.length > 0 ? leaders : verdicts.slice(0, 1);
}

/** The first screen of a review. */
export function firstOfReview(all: Review): HTMLElement {
  const leaders = leadersOf(all);
  const best = all.chapters.flatMap(({ report }) => report.best);
  const differs = ({ verdict: { verdict, slight } }: Leader): boolean => !slight && ["faster", "slower", "mixed"].includes(verdict);
  const shown = leaders.find(differs) ?? leaders[0];
  const of = best.length > 0 || shown === undefined ? null : shown;
  const tones = new Set(leaders.map(({ verdict }) => tone(verdict.verdict, verdict)));
  return screen({
    question: all.question || all.title,
    tone: best.length > 0 || tones.size !== 1 ? "mixed" : [...tones][0]!,
    mark: "",
    says: all.brief.says,
    picture: best.length > 0 ? levelsPicture(best) : casesPicture(all),
    number: best.length > 0 ? worstShare(best) : of && ratioOf(of.verdict, of.chapter.folder, all.brief.says === "" ? of.verdict.name : ""),
    but: of === null ? [cameOut(all)] : [pricedLine(all) ? null : priceOf(leaders), ...costs({ ...of.verdict, price: null }), cameOut(all)],
    cause: of && causeOf(of.chapter.report, of.verdict, leaders.length > 1 ? `, ${of.verdict.name}` : ""),
    arm: !shown?.chapter.arm ? null : below(shown.chapter.folder, "report.html#arm"),
  });
}

/** What a power cut loses, and by which change. */
function priceOf(leaders: Leader[]): Child {
  const priced = leaders.find(({ verdict: { price } }) => price !== null)?.verdict;
  return priced === undefined ? null : el("p", { class: "price" }, `${priced.name}: ${shortPrice(priced)}.`);
}

/** A price without its figures for the other side. */
function shortPrice({ price }: Verdict): string {
  return (price ?? "").replace(/^but /, "").split(/, | \(/)[0]!;
}

/** How many published findings came out again, of those that can hold or fail. */
function cameOut({ chapters }: Review): HTMLElement | null {
  const claims = chapters.flatMap(({ report }) => report.claims);
  const tested = claims.filter(({ reproduced, pending }) => reproduced !== null || pending !== null).length;
  const held = claims.filter(({ reproduced, answer }) => reproduced === true && answer !== IN_PART).length;
  if (tested === 0) return null;
  const words = `${held} of ${counted(tested, "finding")} reproduced`;
  return el("p", { class: "soft" }, el("a", { href: "#findings" }, words));
}

/** Each change a line, or each part that judges the only one; each of its cases a dot. */
function casesPicture(all: Review): HTMLElement | null {
  const { lines } = all.brief;
  const drawn = lines.filter(({ cases }) => cases.length > 0);
  if (drawn.length === 0) return null;
  // What a power cut takes back is no gain.
  const dots = (cases: BriefCase[], tempered: boolean): Dot[] =>
    cases.map(({ ratio, verdict }) => ({ value: { estimate: ratio, low: null, high: null }, tone: tone(verdict, { tempered, slight: false }) }));
  const ends = drawn.flatMap(({ cases }) => cases.map(({ ratio }) => ({ low: ratio, high: ratio })));
  const open = drawn.some(({ cases }) => cases.some(({ verdict }) => verdict === "not enough data"));
  const shown = picture(
    sentence(`${all.brief.says.replace(/[^:]*$/, "")} each dot is one case${open ? "; hollow: undecided" : ""}`.trim()),
    drawn.map(({ says, cases }): Line => ({ label: unbroken(lineName(all, says)), dots: dots(cases, lineName(all, says) !== says) })),
    ratioScale(ends),
  );
  shown.classList.toggle("saying", all.brief.says === "");
  return shown;
}

/** A line's words; of a part in which a power cut loses data, with that loss: its dots show the gain alone. */
function lineName({ chapters }: Review, says: string): string {
  const verdicts = chapters.find(({ heading }) => heading === says)?.report.verdicts ?? [];
  const priced = verdicts.find(({ price }) => price !== null);
  return priced === undefined ? says : `${says}: ${shortPrice(priced)}`;
}

/** Whether a line of the picture says what a power cut loses. */
function pricedLine(all: Review): boolean {
  return all.brief.lines.some(({ says }) => lineName(all, says) !== says);
}

/** Each level a line, each kind of work a dot: the share of the best level. */
function levelsPicture(best: Best[]): HTMLElement {
  const [{ factor, levels }] = best as [Best];
  const shares = (level: string): Share[] => best.flatMap((row) => row.levels.filter((share) => share.level === level));
  const dots = (level: string): Dot[] =>
    shares(level).map(({ ratio, low, high, alike }) => ({ value: { estimate: ratio, low, high }, tone: alike ? "faster" : "slower" }));
  const lines = levels.map(({ level }): Line => ({ label: levelName(factor, level), dots: dots(level) }));
  const least = Math.min(...best.flatMap((row) => row.levels.map(({ ratio }) => ratio)));
  return picture(`${factor}: each dot is one kind of work`, lines, shareScale(least));
}

/** Where the level that falls least falls most. */
function worstShare(best: Best[]): HTMLElement {
  const all = best.flatMap(({ work, factor, levels }) => levels.map((share) => ({ work, factor, share })));
  const worst = new Map<string, (typeof all)[number]>();
  for (const one of all) {
    const known = worst.get(one.share.level);
    if (known === undefined || one.share.ratio < known.share.ratio) worst.set(one.share.level, one);
  }
  const safest = [...worst.values()].reduce((one, other) => (other.share.ratio > one.share.ratio ? other : one));
  const { work, factor, share: { level, ratio, low, high } } = safest;
  const of = ` of the best at worst, with ${levelName(factor, level)} (95\u00a0% interval ${ends({ estimate: 100 * ratio, low: 100 * low, high: 100 * high })}, in ${work})`;
  return el("p", { class: "ratio" }, el("strong", {}, `${number(100 * ratio)}\u00a0%`), el("span", { class: "soft" }, of));
}
