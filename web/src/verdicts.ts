// Verdicts: their words and colours, one in every detail, and all of them in one table that sorts and searches.

import type { Options } from "./choice";
import type { Table } from "./csv";
import { csvButton, files } from "./download";
import { change, count, counted, ends, estimated, levelName, number, plain, probability, range, unbroken } from "./format";
import { el, folded, section, type Child } from "./dom";
import { drawing, forward, ratioScale, type Scale } from "./picture";
import type { Factor, Figure, Interval, Outcome, Range, Report, Verdict } from "./report";
import { sortable, type Column } from "./table";

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

/** What a badge is made of; `of` is the verdict that it belongs to. */
export type Badge = (said: { verdict: Outcome; word: string }, of: Pick<Verdict, "better" | "tempered" | "slight">) => HTMLElement;

/** The colour of an outcome: none of its own for a gain that is partly taken back, and for what is slight. */
export function tone(verdict: Outcome, { tempered, slight }: Pick<Verdict, "tempered" | "slight">): string {
  return slight || (tempered && verdict === "faster") ? "tempered" : verdict.replaceAll(" ", "-");
}

/** What an interval is of, when a cell counts, and when a word has a colour: said once. */
export const WHICH =
  "The word of several cells counts them; the interval is that of their mean. Among many comparisons a few differ by chance alone. So a cell counts as better or worse only on strong evidence; if not, it is undecided, even where its interval does not " +
  "reach 1. No colour: few cells differ and their mean stays within the band, or something takes the gain back.";

/** A side as it is called beside others: a number or a switch says of what. */
type SideName = (verdict: Verdict, side: string) => string;

export function sideNames({ factors }: Report): SideName {
  return ({ side_a, side_b }, side) => {
    const factor = factors.find(({ levels }) => levels.includes(side_a) && levels.includes(side_b));
    return factor ? levelName(factor.name, side) : side;
  };
}

export function badges({ meanings }: Report): Badge {
  return ({ verdict, word }, of) => {
    const sign = el("span", { "aria-hidden": "true" }, `${signOf({ ...of, verdict })} `);
    const title = meanings.find((one) => one.word.startsWith(verdict))?.says ?? null;
    return el("span", { class: `badge ${tone(verdict, of)}`, title }, sign, word);
  };
}

/** The mark of a verdict as its figure goes. */
export function signOf({ verdict, better }: Pick<Verdict, "verdict" | "better">): string {
  const turned = better === "lower" && (verdict === "faster" || verdict === "slower");
  return MARKS[turned ? (verdict === "faster" ? "slower" : "faster") : verdict];
}

/** All that is known of a verdict. */
export function detail(verdict: Verdict, report: Report, held: string[] = []): HTMLElement[] {
  const { ratio, better, metric } = verdict;
  const name = sideNames(report);
  const parts = [
    el("p", {}, unbroken(verdict.headline)),
    ratio === null ? null : ratioLine(ratio, verdict),
    priced(verdict),
    confounded(verdict),
    el(
      "dl",
      { class: "sides" },
      ...term("judged", name(verdict, verdict.side_b)),
      ...term("against", name(verdict, verdict.side_a)),
      ...term("by", better === "lower" ? `${metric}, of which less is better` : metric),
      ...term("under", verdict.cell),
      ...term("all with", held.join(", ")),
      ...term("sides differ in", verdict.differs.join(", ")),
      ...term(verdict.verdict === "refused" ? "asked about" : "credited to", verdict.factor),
    ),
    verdict.note === null ? null : el("p", {}, verdict.note),
    verdict.cause === null ? null : el("p", {}, verdict.cause.text),
    ...verdict.beside.map((words) => el("p", { class: "beside" }, words)),
    ...(verdict.place?.turns ?? []).map((words) => el("p", { class: "soft small" }, `The answer changes ${words}.`)),
    ...explained(verdict, report.factors),
  ];
  return parts.filter((part) => part !== null);
}

/** What a power cut loses by it: beside the gain, not behind it. */
export function priced({ price }: Verdict): HTMLElement | null {
  return price === null ? null : el("p", { class: "price" }, `… ${price}.`);
}

/** What differs between the sides at once: beside the gain, for any of it may make it. */
export function confounded({ at_once: several }: Verdict): HTMLElement | null {
  const each = "What each does by itself, this row cannot tell.";
  return several.length === 0 ? null : el("p", { class: "price" }, `Changes at once: ${several.join(", ")}. ${each}`);
}

/** What factors are whose names alone do not say it, of those that are spoken of. */
function explained(verdict: Verdict, factors: Factor[]): HTMLElement[] {
  const said = `${verdict.headline} ${verdict.note ?? ""} `.replace(/[^\p{L}\p{N}-]+/gu, " ");
  const unclear = factors.flatMap(({ name, says }) => (says !== null && said.includes(` ${name} `) ? [`${name}: ${says}.`] : []));
  return unclear.map((words) => el("p", { class: "soft small" }, words));
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

/** The cells that a mean is of. */
function these({ cells }: Verdict): string {
  return cells === 1 ? "this cell" : `these ${counted(cells, "cell")}`;
}

/** A row of the table: a verdict, and the part of a review that it is from. */
interface Row {
  verdict: Verdict;
  report: Report;
  place: string;
  part: string;
  held: string[];
}

/** Verdicts shown until the reader asks for more. */
const ROWS = 20;

/** How the table is read. */
const READ_AS =
  "A heading sorts by its column; a row opens. Right is better: the dot is the ratio with its interval, the pale bar the range of several cells.";

/** All verdicts of a report, or of the parts of a review, the leading ones first; null where nothing was compared. */
export function verdictTable(of: Omit<Row, "verdict">[], options: Options): HTMLElement | null {
  const all = of.flatMap((one) => one.report.verdicts.map((verdict): Row => ({ ...one, verdict })));
  if (all.length === 0) return null;
  all.sort((one, other) => Number(other.verdict.leads) - Number(one.verdict.leads));
  const columns = columnsOf(all, of.length > 1);
  const box = el("input", { type: "search" });
  const said = all.map((row) => [row.part, ...spoken(row.verdict)].join(" ").toLowerCase());
  const found = (): Row[] => {
    const words = box.value.toLowerCase().split(/\s+/);
    return all.filter((_, place) => words.every((word) => said[place]!.includes(word)));
  };
  box.value = options.option("verdicts.find", "");
  const { element, sorted, fill } = sortable("verdicts", columns, options, found, ROWS);
  const tally = el("span", { class: "soft small", "aria-live": "polite" });
  const update = (): void => {
    fill();
    tally.textContent = box.value === "" ? "" : `${found().length} of ${counted(all.length, "verdict")}`;
  };
  update();
  box.addEventListener("input", update);
  box.addEventListener("change", () => options.set("verdicts.find", box.value || null));
  options.watch(() => {
    if (document.activeElement !== box) box.value = options.option("verdicts.find", "");
    update();
  });
  const bar = el("div", { class: "controls" }, el("label", { class: "control" }, el("span", {}, "search the verdicts"), box), tally);
  return section("verdicts", all.length === 1 ? "The verdict" : `All ${count(all.length)} verdicts`, READ_AS, bar, files(csvButton("verdicts", () => csvOf(sorted(), of.length > 1))), element);
}

/** What a search finds a verdict by. */
function spoken({ headline, cell, metric, word, side_a, side_b, price, note, factor }: Verdict): string[] {
  return [headline, cell, metric, word, side_a, side_b, price ?? "", note ?? "", factor];
}

function columnsOf(all: Row[], parts: boolean): Column<Row>[] {
  const scale = ratioScale(all.flatMap(({ verdict }) => reach(verdict)));
  const text = (name: string, show: (row: Row) => Child, words: (row: Row) => string): Column<Row> => ({ name, unit: "", figure: false, show, order: words });
  const figure = (name: string, unit: string, read: (verdict: Verdict) => Figure): Column<Row> => {
    return { name, unit, figure: true, show: ({ verdict }) => number(read(verdict)), order: ({ verdict }) => read(verdict) ?? Number.NEGATIVE_INFINITY };
  };
  const [least, , most] = scale.ticks;
  const good = ({ ratio, better }: Verdict): Figure => (ratio === null ? null : forward(ratio, better).estimate);
  const metrics = new Set(all.map(({ verdict }) => verdict.metric));
  return [
    text("comparison", opening, ({ verdict }) => verdict.name),
    text("under", ({ verdict }) => under(verdict), ({ verdict }) => under(verdict)),
    text("verdict", ({ verdict, report }) => badges(report)(verdict, verdict), ({ verdict }) => verdict.word),
    { ...figure("times as good", `${least![1]} to ${most![1]}`, good), figure: false, show: ({ verdict }) => strip(verdict, scale) },
    figure("ratio", "", ({ ratio }) => ratio?.estimate ?? null),
    figure("low", "", ({ ratio }) => ratio?.low ?? null),
    figure("high", "", ({ ratio }) => ratio?.high ?? null),
    figure("p", "corrected", ({ p_adjusted }) => p_adjusted),
    ...(metrics.size > 1 ? [text("by", ({ verdict }) => verdict.metric, ({ verdict }) => verdict.metric)] : []),
    ...(parts ? [text("part", ({ part, place }) => el("a", { href: `#${place}` }, part), ({ part }) => part)] : []),
  ];
}

/** A verdict's ratio on a scale. */
function strip(verdict: Verdict, scale: Scale): Element | null {
  const { ratio, range: cells, better } = verdict;
  if (ratio === null) return null;
  return drawing([{ value: forward(ratio, better), tone: tone(verdict.verdict, verdict), range: cells && forward(cells, better) }], scale);
}

/** The ends of a verdict's ratio and of its cells, as the scale has them. */
function reach({ ratio, range: cells, better }: Verdict): Range[] {
  return [ratio, cells].flatMap((one) => (one === null ? [] : [forward<Range>(one, better)]));
}

/** The name of a comparison, which opens all that is known of it. */
function opening({ verdict, report, held }: Row): HTMLElement {
  return folded(verdict.name, () => detail(verdict, report, held));
}

function under({ cells, cell }: Verdict): string {
  return cells === 1 ? cell : `all ${cells} cells`;
}

function csvOf(all: Row[], parts: boolean): Table {
  const head = ["judged", "against", "under", "metric", "verdict", "ratio", "low", "high", "p, corrected", "margin, %", "least", "most", "in words", "sides differ in", "credited to"];
  const rows = all.map(({ verdict, part }) => {
    const { side_b, side_a, cell, metric, word, ratio, range: cells, p_adjusted, margin_percent, headline, differs, factor } = verdict;
    const figures = [ratio?.estimate, ratio?.low, ratio?.high, p_adjusted, margin_percent, cells?.low, cells?.high];
    return [...(parts ? [part] : []), side_b, side_a, cell, metric, word, ...figures, headline, differs.join(", "), verdict.verdict === "refused" ? "" : factor];
  });
  return { head: parts ? ["part", ...head] : head, rows };
}
