// The answer, before anything else: the headline's verdict large, the others as a list on one common scale.

import type { Table } from "./csv";
import { csvButton, files } from "./download";
import { change, counted, ends, estimated, levelName, number, plain, probability, range, unbroken } from "./format";
import { el, folded, scroller, section, svg, type Child } from "./dom";
import type { Factor, Figure, Interval, Outcome, Range, Report, Verdict } from "./report";

/** The mark of each verdict; what it means stands in the report. Where less is better an arrow points the other way, for it
    goes with the figure; whether that is good, the colour and the word say. */
const MARKS: Record<Outcome, string> = {
  faster: "▲",
  slower: "▼",
  mixed: "▲▼",
  "no difference": "=",
  "not enough data": "?",
  refused: "×",
};

/** The mark of a verdict in words, which may say more than its name ("no difference within ±2 %"). */
export function markOf(word: string): string {
  return Object.entries(MARKS).find(([outcome]) => word.startsWith(outcome))?.[1] ?? "";
}

/** A headline of more characters is set smaller. */
const LONG = 110;

/** Verdicts shown before the rest is folded away. */
const SHOWN = 9;

/** The verdicts of a report, with what to beware of right below the first; in it a picture of its cells, or the curve if it has one cell;
    null when nothing was compared.
    Of the others so many are shown, and the rest is folded away. */
export function verdicts(
  report: Report,
  beware: HTMLElement | null,
  shown = SHOWN,
  curve: HTMLElement | null = null,
): HTMLElement | null {
  const [headline, ...others] = report.verdicts;
  if (headline === undefined) return null;
  const badge = badges(report);
  const name = sideNames(report);
  const rest = others.length > 0 ? list(headline, others, shown, badge, name) : null;
  const csv = csvButton("verdicts", () => table(report.verdicts));
  const picture = cellsPicture(headline, others) ?? curve;
  return section("verdict", "Answer", null, hero(headline, report, badge, name, picture), beware, rest, files(csv));
}

function table(all: Verdict[]): Table {
  const head = ["judged", "against", "under", "metric", "verdict", "ratio", "low", "high", "p, corrected", "margin, %", "least", "most"];
  const rows = all.map((verdict) => {
    const { side_b, side_a, cell, metric, ratio, p_adjusted, margin_percent } = verdict;
    const { estimate, low, high } = ratio ?? { estimate: null, low: null, high: null };
    const cells = [verdict.range?.low ?? null, verdict.range?.high ?? null];
    return [side_b, side_a, cell, metric, verdict.word, estimate, low, high, p_adjusted, margin_percent, ...cells];
  });
  return { head: [...head, "in words"], rows: rows.map((row, index) => [...row, all[index]!.headline]) };
}

/** What a badge is made of; `of` is the verdict that it belongs to. */
type Badge = (said: { verdict: Outcome; word: string }, of: Pick<Verdict, "better" | "tempered" | "slight">) => HTMLElement;

/** The colour of an outcome: none of its own for a gain that is partly taken back, and for what is slight. */
function tone(verdict: Outcome, { tempered, slight }: Pick<Verdict, "tempered" | "slight">): string {
  return slight || (tempered && verdict === "faster") ? "tempered" : verdict.replaceAll(" ", "-");
}

/** What an interval is of, when a cell counts, and when a word has a colour: said once. */
export const WHICH =
  "In brackets stands the 95 % interval of the mean of exactly these cells. The word counts cells. Among many comparisons a few differ by " +
  "chance alone. So a cell counts as better or worse only on strong evidence; if not, it is undecided, even where its interval does not " +
  "reach 1. No colour: few cells differ and their mean stays within the band, or something takes the gain back.";

/** A side as it is called beside others: a number or a switch says of what. */
type SideName = (verdict: Verdict, side: string) => string;

function sideNames({ factors }: Report): SideName {
  return ({ side_a, side_b }, side) => {
    const factor = factors.find(({ levels }) => levels.includes(side_a) && levels.includes(side_b));
    return factor ? levelName(factor.name, side) : side;
  };
}

function badges({ meanings }: Report): Badge {
  return ({ verdict, word }, of) => {
    const turned = of.better === "lower" && (verdict === "faster" || verdict === "slower");
    const mark = MARKS[turned ? (verdict === "faster" ? "slower" : "faster") : verdict];
    const sign = el("span", { "aria-hidden": "true" }, `${mark} `);
    const title = meanings.find((one) => one.word.startsWith(verdict))?.says ?? null;
    return el("span", { class: `badge ${tone(verdict, of)}`, title }, sign, word);
  };
}

function hero(
  verdict: Verdict,
  { factors }: Report,
  badge: Badge,
  name: SideName,
  picture: HTMLElement | null,
): HTMLElement {
  const { ratio } = verdict;
  const facts = el(
    "div",
    {},
    ratio === null ? null : ratioLine(ratio, verdict),
    ratio === null || picture?.querySelector(".by-cell") ? null : strip(ratio, verdict, scaleOf([verdict]), true),
    el(
      "dl",
      { class: "sides" },
      ...term("judged", name(verdict, verdict.side_b)),
      ...term("against", name(verdict, verdict.side_a)),
      ...term("under", verdict.cell),
      ...term("sides differ in", verdict.differs.join(", ")),
      ...term(verdict.verdict === "refused" ? "asked about" : "credited to", verdict.factor),
    ),
  );
  return el(
    "div",
    { class: `hero ${tone(verdict.verdict, verdict)}` },
    badge(verdict, verdict),
    el("p", { class: verdict.headline.length > LONG ? "headline long" : "headline" }, unbroken(verdict.headline)),
    priced(verdict),
    confounded(verdict),
    picture === null ? facts : el("div", { class: "beside-picture" }, facts, picture),
    verdict.note === null ? null : el("p", { class: "note" }, verdict.note),
    ...behind(verdict, "note"),
    regions(verdict, badge),
    ...explained(verdict, factors, "note"),
  );
}

/** Cells of the leading comparison that are drawn: half of them the best, half the worst. */
const CELLS = 12;

/** The leading comparison cell by cell, the best above: where it helps, and where it hurts; null if it is of one cell. */
function cellsPicture(headline: Verdict, others: Verdict[]): HTMLElement | null {
  const alike = ({ name, side_a, side_b, metric, cells, ratio }: Verdict): boolean =>
    cells === 1 && ratio !== null && name === headline.name && side_a === headline.side_a && side_b === headline.side_b && metric === headline.metric;
  const good = ({ ratio, better }: Verdict): number => forward(ratio!, better).estimate ?? 1;
  const all = others.filter(alike).sort((one, other) => good(other) - good(one));
  if (all.length < 2) return null;
  const left = all.length - CELLS;
  const drawn = left > 0 ? [...all.slice(0, CELLS / 2), ...all.slice(-CELLS / 2)] : all;
  const scale = scaleOf([headline, ...drawn]);
  const rows = drawn.map((one) =>
    el("li", { class: tone(one.verdict, one) }, el("span", { class: "small" }, one.cell), strip(one.ratio!, one, scale, false)),
  );
  if (left > 0) rows.splice(CELLS / 2, 0, el("li", { class: "between" }, el("span", { class: "small soft" }, `${counted(left, "cell")} between`)));
  const axis = svg("svg", { class: "strip", width: "100%", height: 18 }, ...axisLabels(scale, placed(scale), 14));
  const words = `${headline.metric}, cell by cell: right of 1 it is better, left worse.`;
  return el(
    "figure",
    { class: "glance" },
    el("figcaption", { class: "small soft" }, words),
    el("ul", { class: "by-cell" }, ...rows, el("li", { class: "scale" }, el("span"), axis)),
  );
}

/** Why it came out so, and what went the other way. */
function behind({ cause, beside }: Verdict, kind: string): HTMLElement[] {
  const why = cause ? [el("p", { class: kind }, cause.text)] : [];
  return [...why, ...(beside ?? []).map((words) => el("p", { class: `${kind} beside` }, words))];
}

/** What a power cut loses by it: beside the gain, not behind it. */
function priced({ price }: Verdict): HTMLElement | null {
  return price === null ? null : el("p", { class: "price" }, `… ${price}.`);
}

/** What differs between the sides at once: beside the gain, for any of it may make it. */
function confounded({ at_once: several }: Verdict): HTMLElement | null {
  const each = "What each does by itself, this row cannot tell.";
  return several.length === 0 ? null : el("p", { class: "price" }, `Changes at once: ${several.join(", ")}. ${each}`);
}

/** What factors are whose names alone do not say it, of those that are spoken of. */
function explained(verdict: Verdict, factors: Factor[], kind: string): HTMLElement[] {
  const said = `${verdict.headline} ${verdict.note ?? ""} `.replace(/[^\p{L}\p{N}-]+/gu, " ");
  const unclear = factors.flatMap(({ name, says }) => (says !== null && said.includes(` ${name} `) ? [`${name}: ${says}.`] : []));
  return unclear.map((words) => el("p", { class: kind }, words));
}

/** In which cells the effect is, where several stand together. */
function regions(verdict: Verdict, badge: Badge): HTMLElement | null {
  const { place } = verdict;
  if (!place || place.regions.length === 0) return null;
  const rows = place.regions.map(({ place: where, cells, undecided, by, ...said }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, where),
      // All of these cells have it.
      el("td", {}, badge(said, { ...verdict, slight: false })),
      el("td", { class: "figure" }, by),
      el("td", { class: "figure" }, undecided > 0 ? `${cells} of ${cells + undecided} cells` : counted(cells, "cell")),
    ),
  );
  const turns = place.turns.map((words) => el("p", { class: "soft small" }, `The answer changes ${words}.`));
  return el(
    "div",
    { class: "note where" },
    scroller("where the effect is", el("table", {}, el("tbody", {}, ...rows))),
    ...turns,
  );
}

function term(name: string, value: string): HTMLElement[] {
  return value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)];
}

function ratioLine(ratio: Interval, verdict: Verdict): HTMLElement {
  return el(
    "p",
    { class: "ratio" },
    verdict.range === null ? null : `${range(verdict.range)} times; mean of exactly ${these(verdict)} `,
    el("strong", {}, `${estimated(ratio)} times`),
    ` the ${verdict.metric} (${change(ratio.estimate ?? NaN)})`,
    el("span", { class: "soft" }, ` · interval by itself ${ends(ratio)} times${chance(verdict)}${margin(verdict)}`),
  );
}

function chance({ p_adjusted }: Verdict): string {
  return p_adjusted === null ? "" : ` · ${probability(p_adjusted)}, corrected for the number of comparisons`;
}

function margin({ margin_percent }: Verdict): string {
  return margin_percent === null ? "" : ` · margin\u00a0±\u00a0${plain(margin_percent)}\u00a0%`;
}

function list(headline: Verdict, others: Verdict[], shown: number, badge: Badge, name: SideName): HTMLElement {
  const scale = scaleOf([headline, ...others]);
  const listed = (some: Verdict[]): HTMLElement =>
    el("ul", { class: "verdicts" }, ticks(scale), ...some.map((one) => row(one, scale, sidesBeside(headline, one, name), badge)));
  const rest = others.slice(shown);
  const first = listed(others.slice(0, shown));
  const more = rest.length === 0 ? null : folded(counted(rest.length, "more verdict"), () => [listed(rest)]);
  const left = rest.length === 0 ? null : el("p", { class: "printed" }, `${counted(rest.length, "more verdict")} on the page.`);
  const words =
    "The largest difference first. Where no sides are named they are those above. The dot is the ratio, the bar its interval, and " +
    `over several cells the dot their mean and the thin line their range; the grey band is the margin within which sides count as equal. ${WHICH}`;
  const heading = others.length === 1 ? "The other verdict" : `The other ${others.length} verdicts`;
  return el("div", { class: "others" }, el("h3", {}, heading), el("p", { class: "lead" }, words), first, left, more);
}

/** A report of which the leading comparison is shown. */
export interface Leading {
  place: string;
  words: string;
  /** The levels that it holds where others compare several. */
  held: string[];
  report: Report;
}

/** What leads each of several reports, the first of them if it says of none, each with a link to its place, on a common
 * scale. */
export function leading(all: Leading[]): HTMLElement {
  const shown = all.flatMap((one) => {
    const leaders = one.report.verdicts.filter(({ leads }) => leads);
    return (leaders.length > 0 ? leaders : one.report.verdicts.slice(0, 1)).map((verdict) => ({ ...one, verdict }));
  });
  const scale = scaleOf(shown.map(({ verdict }) => verdict));
  const known = new Set<string>();
  const rows = shown.map(({ place, words, held, report, verdict }) => {
    const { metric, better } = verdict;
    const judged = better === "lower" ? `${metric}, of which less is better` : metric;
    const all = held.length === 0 ? judged : `${judged}; all with ${held.join(", ")}`;
    const made = row(verdict, scale, all, badges(report));
    const saying = made.querySelector(".saying")!;
    const others = shown.filter((one) => one.place === place).map((one) => one.verdict);
    const title = `${words}${apart(verdict, others, sideNames(report))}`;
    saying.prepend(el("p", { class: "part" }, el("a", { href: `#${place}` }, title)));
    // Once is enough.
    const fresh = explained(verdict, report.factors, "soft small").filter(({ textContent }) => !known.has(textContent));
    fresh.forEach(({ textContent }) => known.add(textContent));
    saying.append(...fresh);
    return made;
  });
  return el("ul", { class: "verdicts" }, ticks(scale), ...rows);
}

/** What tells one of a part's rows from the others, behind the part's name: what is measured, else the sides. Nothing where each
 * sentence begins with a name of its own. */
function apart(verdict: Verdict, all: Verdict[], name: SideName): string {
  if (all.length < 2) return "";
  const names = new Set(all.map(({ name: own }) => own));
  if (names.size === all.length) return "";
  const metrics = new Set(all.map(({ metric }) => metric));
  const sides = `${name(verdict, verdict.side_b)} against ${name(verdict, verdict.side_a)}`;
  return `: ${metrics.size === all.length ? verdict.metric : sides}`;
}

/** The first row of a list: the scale on which all its dots stand. */
function ticks(scale: Scale): HTMLElement {
  const axis = svg("svg", { class: "strip", width: "100%", height: 18 }, ...axisLabels(scale, placed(scale), 14));
  return el("li", { class: "scale" }, el("div", { class: "plot" }, axis, el("p", { class: "soft small" }, AXIS)));
}

/** What the scale is of. */
const AXIS = "Times as good, logarithmic: twice the rate, or half the time, stands at 2. Right is better.";

/** The sides and the metric of a verdict, where they are not the headline's. */
function sidesBeside(headline: Verdict, verdict: Verdict, name: SideName): string | null {
  const { side_a, side_b, metric } = verdict;
  const same = side_a === headline.side_a && side_b === headline.side_b && metric === headline.metric;
  return same ? null : `${name(verdict, side_b)} against ${name(verdict, side_a)}, ${metric}`;
}

function row(verdict: Verdict, scale: Scale, sides: string | null, badge: Badge): HTMLElement {
  const { ratio } = verdict;
  const own = ratio === null ? null : forward(ratio, verdict.better);
  const exact = own === null ? "no ratio" : `interval by itself ${ends(own)} times as good${chance(verdict)}`;
  return el(
    "li",
    {},
    el(
      "div",
      { class: "saying" },
      el("p", {}, unbroken(verdict.headline)),
      priced(verdict),
      confounded(verdict),
      sides === null ? null : el("p", { class: "soft small" }, sides),
      verdict.note === null ? null : el("p", { class: "soft small" }, verdict.note),
      ...behind(verdict, "soft small"),
    ),
    el(
      "div",
      { class: "plot" },
      ratio === null ? null : strip(ratio, verdict, scale, false),
      el("p", { class: "small figures", title: exact }, figures(verdict)),
    ),
    badge(verdict, verdict),
  );
}

/** The figures of several cells, as the scale above them has them: first how far they reach, for the interval of their mean says nothing
    of that. A single cell's stand in the headline. */
function figures(verdict: Verdict): string {
  const { ratio, range: cells, better } = verdict;
  if (ratio === null) return "no ratio";
  if (cells === null) return "";
  const mean = forward(ratio, better);
  return `${range(forward(cells, better))} times as good; mean of ${these(verdict)} ${estimated(mean)} (${ends(mean)})`;
}

/** The cells that a mean is of. */
function these({ cells }: Verdict): string {
  return cells === 1 ? "this cell" : `these ${counted(cells, "cell")}`;
}

/** A ratio as what is good goes to the right: of times the reciprocal. */
function forward<T extends Range>(ratio: T, better: Verdict["better"]): T {
  const over = (figure: Figure | undefined): Figure => (figure === null || figure === undefined ? null : 1 / figure);
  if (better === "higher") return ratio;
  const turned = "estimate" in ratio ? { estimate: over(ratio.estimate as Figure) } : {};
  return { ...ratio, ...turned, low: over(ratio.high), high: over(ratio.low) };
}

/** A logarithmic scale of ratios, from `low` to `high`, with 1 inside. */
interface Scale {
  low: number;
  high: number;
}

function scaleOf(all: Verdict[]): Scale {
  const ends = all
    .flatMap(({ ratio, range: cells }) => [ratio?.low, ratio?.high, cells?.low, cells?.high])
    .filter((end) => typeof end === "number" && end > 0);
  const reach = Math.max(1.1, ...ends.map((end) => Math.max(end as number, 1 / (end as number)))) ** 1.15;
  return { low: 1 / reach, high: reach };
}

/** Where on a scale a ratio stands. */
function placed({ low, high }: Scale): (ratio: number) => string {
  return (ratio) => `${((Math.log(ratio / low) / Math.log(high / low)) * 100).toFixed(2)}%`;
}

/** The ratio and its interval on a scale, as a small picture. */
function strip(said: Interval, verdict: Verdict, scale: Scale, axis: boolean): Element {
  const { margin_percent, better } = verdict;
  const ratio = forward(said, better);
  const cells = verdict.range === null ? null : forward(verdict.range, better);
  const span = Math.log(scale.high / scale.low);
  const at = placed(scale);
  const { estimate, low, high } = ratio;
  const margin = (margin_percent ?? 0) / 100;
  const y = 12;
  const bandWidth = `${((Math.log((1 + margin) / (1 - margin)) / span) * 100).toFixed(2)}%`;
  const children: Child[] = [
    margin > 0 ? svg("rect", { x: at(1 - margin), width: bandWidth, y: 0, height: 24, class: "margin" }) : null,
    svg("line", { x1: at(1), x2: at(1), y1: 0, y2: 24, class: "one" }),
    cells !== null && cells.low !== null && cells.high !== null
      ? svg("line", { x1: at(cells.low), x2: at(cells.high), y1: y, y2: y, class: "range" })
      : null,
    low !== null && high !== null ? svg("line", { x1: at(low), x2: at(high), y1: y, y2: y, class: "interval" }) : null,
    estimate === null ? null : svg("circle", { cx: at(estimate), cy: y, r: 5, class: "dot" }),
    ...(axis ? axisLabels(scale, at, 40) : []),
  ];
  const label = `ratio ${estimated(said)} times, interval ${ends(said)}`;
  const height = axis ? 46 : 24;
  return svg("svg", { class: "strip", width: "100%", height, role: "img", "aria-label": label }, ...children);
}

/** The ends of the scale, and which of them is the better one. */
function axisLabels({ low, high }: Scale, at: (value: number) => string, y: number): Child[] {
  const left = svg("text", { x: at(low), y }, `← worse, ${number(low)}`);
  const equal = svg("text", { x: at(1), y, "text-anchor": "middle" }, "1 (equal)");
  const right = svg("text", { x: at(high), y, "text-anchor": "end" }, `${number(high)}, better →`);
  return [left, equal, right];
}
