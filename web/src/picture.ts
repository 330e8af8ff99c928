// Comparisons as one small picture: a line for each condition, in it a dot for each cell. What is better stands to the right.

import { el, svg, type Child } from "./dom";
import { number, plain, range } from "./format";
import type { Figure, Interval, Range, Verdict } from "./report";

/** A line of a picture. */
export interface Line {
  label: string;
  dots: Dot[];
}

/** A figure with its interval, in the colour of its verdict; of several cells also the range of theirs. */
export interface Dot {
  value: Interval;
  tone: string;
  range?: Range | null;
}

/** Where figures stand on a picture, from 0 to 1. */
export interface Scale {
  at: (value: number) => number;
  /** Labels of the axis, from left to right. */
  ticks: [value: number, words: string][];
  /** From where a single dot has a stem. */
  equal: number | null;
}

/** Room for the larger side of a scale of ratios is at most so many times that for the smaller. */
const UNEVEN = 2;
/** Ends of a scale of ratios. */
const ENDS = [1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000];

/** A logarithmic scale for these ratios, turned so that more is better. */
export function ratioScale(all: Range[]): Scale {
  const known = all.flatMap(({ low, high }) => [low, high]).filter((end): end is number => end !== null && end > 0 && Number.isFinite(end));
  const far = [Math.min(1, ...known), Math.max(1, ...known)].map((end) => Math.abs(Math.log(end)));
  const most = Math.max(...far);
  const [worse, better] = far.map((end) => {
    const reach = Math.exp(Math.max(end, most / UNEVEN));
    return ENDS.find((round) => round >= reach) ?? reach;
  }) as [number, number];
  const span = Math.log(better * worse);
  const ticks: Scale["ticks"] = [[1 / worse, times(1 / worse)], [1, "equal"], [better, times(better)]];
  return { at: (ratio) => Math.log(ratio * worse) / span, ticks, equal: 1 };
}

/** A ratio at an end of the scale, in two digits. */
function times(ratio: number): string {
  return `${plain(Number(ratio.toPrecision(2)))}×`;
}

/** A scale of shares of the best, from the least of them. */
export function shareScale(least: number): Scale {
  const low = Math.max(0, Math.min(0.9, Math.floor(least * 10) / 10));
  return { at: (share) => (share - low) / (1 - low), ticks: [[low, `${(low * 100).toFixed(0)} %`], [1, "best"]], equal: null };
}

/** On a narrow screen longer labels stand above their dots. */
const SHORT = 14;

/** The picture, above `words` on what it shows. */
export function picture(words: string, lines: Line[], scale: Scale): HTMLElement {
  const rows = lines.map(({ label, dots }) =>
    el("li", {}, el("span", { class: "small" }, ...breakable(label), figureOf(dots)), dots.length === 0 ? null : drawing(dots, scale)),
  );
  const axis = el("li", { class: "scale", "aria-hidden": "true" }, el("span"), axisOf(scale));
  const short = lines.every(({ label }) => label.length <= SHORT);
  return el("figure", { class: short ? "glance short" : "glance" }, el("ul", { class: "by-cell" }, ...rows, axis), el("figcaption", { class: "small soft" }, words));
}

/** The figure of a line's only dot, so that a picture that is passed on alone has it; sides that are equal have none. */
function figureOf([only, ...others]: Dot[]): Child {
  const estimate = only?.value.estimate ?? null;
  return others.length > 0 || estimate === null || estimate === 1 ? null : el("strong", {}, `\u00a0${plain(Number(estimate.toPrecision(3)))}×`);
}

/** A label that may be broken at the points of a key. */
function breakable(label: string): Child[] {
  return label.split(/(?<=\.)(?=\D)/).flatMap((part, place) => (place === 0 ? [part] : [el("wbr"), part]));
}

/** The ends of a scale, and where sides are equal. */
function axisOf({ at, ticks }: Scale): Element {
  const anchors = ["start", "middle", "end"];
  const place = (value: number): string => (at(value) < 0.01 ? anchors[0]! : at(value) > 0.99 ? anchors[2]! : anchors[1]!);
  const labels = ticks.map(([value, words]) => svg("text", { x: percent(at(value)), y: 12, "text-anchor": place(value) }, words));
  const ways = [svg("text", { x: 0, y: 27 }, "← worse"), svg("text", { x: "100%", y: 27, "text-anchor": "end" }, "better →")];
  return svg("svg", { class: "strip", width: "100%", height: 32 }, ...labels, ...ways);
}

const HEIGHT = 22;

/** A single figure with its interval, and a stem that shows how far it is from equal; without a figure the range alone. */
function bar({ value: { estimate, low, high }, tone, range: cells }: Dot, { at, equal }: Scale): Child[] {
  const line = (from: number, to: number, kind: string): Element =>
    svg("line", { x1: percent(at(from)), x2: percent(at(to)), y1: HEIGHT / 2, y2: HEIGHT / 2, class: `${kind} ${tone}` });
  const between = (of: Range, kind: string): Child => (of.low === null || of.high === null ? null : line(of.low, of.high, kind));
  if (estimate === null) return [between({ low, high }, "span")];
  return [
    cells ? between(cells, "stem") : equal === null ? null : line(equal, estimate, "stem"),
    between({ low, high }, "interval"),
    svg("circle", { cx: percent(at(estimate)), cy: HEIGHT / 2, r: 5, class: `dot ${tone}` }),
  ];
}

/** Dots stand on one another where they fall into one of so many places along the line. */
const PLACES = 45;
const RADIUS = 3.5;
/** A pile is at most so many pixels high; in a higher one dots overlap. */
const PILE = 46;

/** Several figures as piles of dots. */
function piles(dots: Dot[], { at, equal }: Scale): { height: number; drawn: Child[] } {
  const known = dots.filter(({ value }) => value.estimate !== null);
  // One of the places is that of sides that are equal, or of the best.
  const from = at(equal ?? 1);
  const place = ({ value }: Dot): number => Math.round((at(value.estimate!) - from) * PLACES);
  const counts = new Map<number, number>();
  const levels = known.map((dot) => {
    const level = counts.get(place(dot)) ?? 0;
    counts.set(place(dot), level + 1);
    return level;
  });
  const most = Math.max(1, ...counts.values());
  const step = Math.min(2 * RADIUS, PILE / most);
  const height = Math.max(HEIGHT, step * (most - 1) + 2 * RADIUS + 6);
  const dot = (one: Dot, level: number): Element =>
    svg("circle", { cx: percent(from + place(one) / PLACES), cy: height - RADIUS - 3 - level * step, r: RADIUS, class: `dot ${one.tone}` });
  return { height, drawn: known.map((one, index) => dot(one, levels[index]!)) };
}

/** The figures of a line on its scale. */
export function drawing(dots: Dot[], scale: Scale): Element {
  const { equal } = scale;
  const [only] = dots;
  const { height, drawn } = dots.length === 1 ? { height: HEIGHT, drawn: bar(only!, scale) } : piles(dots, scale);
  const x = equal === null ? "100%" : percent(scale.at(equal));
  const label = `times as good: ${dots.map(({ value }) => (value.estimate === null ? range(value) : number(value.estimate))).join(", ")}`;
  return svg("svg", { class: "strip", width: "100%", height, role: "img", "aria-label": label }, svg("line", { x1: x, x2: x, y1: 0, y2: height, class: "one" }), ...drawn);
}

/** A ratio as what is good goes to the right: of times the reciprocal. */
export function forward<T extends Range>(ratio: T, better: Verdict["better"]): T {
  const over = (figure: Figure | undefined): Figure => (figure === null || figure === undefined ? null : 1 / figure);
  if (better === "higher") return ratio;
  const turned = "estimate" in ratio ? { estimate: over(ratio.estimate as Figure) } : {};
  return { ...ratio, ...turned, low: over(ratio.high), high: over(ratio.low) };
}

function percent(part: number): string {
  return `${(part * 100).toFixed(2)}%`;
}
