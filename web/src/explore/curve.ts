// Curves over what is dragged: one or two lines, with a mark at the place of the slider. Dragging moves the mark; the lines
// are computed once for a drive.

import { apart, chart, tooltip, valueAxis } from "../chart";
import { el } from "../dom";
import { number, plain } from "../format";
import { ink } from "../palette";
import { site } from "./texts";

export interface Line {
  name: string;
  colour: string;
  points: [number, number][];
  /** Lines of one stack lie on one another, as areas. */
  stack?: boolean;
}

export interface Curve {
  element: HTMLElement;
  draw: (lines: Line[], at: number) => void;
}

const HEIGHT = 190;

/** A curve with its caption. `axis` names what is dragged; `from` and `to` are its ends. */
export function curve(caption: string, axis: string, [from, to]: [number, number], ticks?: number[]): Curve {
  let [lines, at]: [Line[], number] = [[], from];
  const { element, redraw } = chart(({ width }) => ({
    height: HEIGHT,
    label: `${caption}: ${lines.map(({ name, points }) => `${name} ${number(nearest(points, at)[1])}`).join(", ") || site.computing}`,
    option: {
      grid: { left: 56, right: 16, top: 10, bottom: 40 },
      xAxis: valueAxis(axis, {
        min: from,
        max: to,
        nameGap: 24,
        ...(ticks ? { axisTick: { show: true, customValues: ticks }, axisLabel: { color: ink.soft, fontSize: 12, customValues: shownTicks(ticks, from, to, width) } } : {}),
      }),
      yAxis: valueAxis("", { min: 0 }),
      tooltip: tooltip("axis", (hovered) => values(axis, lines, (hovered as { axisValue: number }[])[0]?.axisValue ?? at), "line"),
      series: lines.map(({ name, colour, points, stack }, place) => ({
        type: "line",
        name,
        data: points,
        symbol: points.length > 20 ? "none" : "circle",
        symbolSize: 6,
        color: colour,
        lineStyle: { width: stack ? 0 : 2.5, type: "solid" },
        ...(stack ? { stack: "all", areaStyle: { color: colour, opacity: 1 } } : {}),
        ...(place === 0
          ? {
              markLine: {
                silent: true,
                symbol: "none",
                animation: false,
                label: { show: false },
                lineStyle: { color: ink.text, width: 1.5, type: "solid" },
                data: [{ xAxis: at }],
              },
            }
          : {}),
      })),
    },
  }));
  const figure = el("figure", { class: "curve" }, el("figcaption", { class: "small soft" }, caption), legendOf(() => lines), element);
  const draw = (drawn: Line[], place: number): void => {
    const named = drawn.map(({ name }) => name).join();
    const before = lines.map(({ name }) => name).join();
    [lines, at] = [drawn, place];
    if (named !== before) figure.children[1]!.replaceWith(legendOf(() => lines));
    redraw();
  };
  return { element: figure, draw };
}

function legendOf(lines: () => Line[]): HTMLElement {
  if (lines().length === 0) return el("p", { class: "small soft legend" }, site.computing);
  const items = lines().map(({ name, colour }) =>
    el("li", {}, el("span", { class: "swatch", style: `background: ${colour}` }), name),
  );
  return el("ul", { class: "legend" }, ...items);
}

function shownTicks(ticks: number[], from: number, to: number, width: number): number[] {
  return apart(ticks, (value) => (value - from) / (to - from), width - 72);
}

/** What the lines are at the place under the pointer. */
function values(axis: string, lines: Line[], x: number): HTMLElement {
  const all = lines.map(({ name, points }) => el("p", {}, `${name}: ${number(nearest(points, x)[1])}`));
  return el("div", {}, el("p", { class: "soft" }, `${axis}: ${plain(nearest(lines[0]?.points ?? [], x)[0])}`), ...all);
}

function nearest(points: [number, number][], x: number): [number, number] {
  const nearer = (best: [number, number], point: [number, number]): [number, number] =>
    Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best;
  return points.reduce(nearer, points[0] ?? [x, NaN]);
}

/** Curves that are computed once for what they are `about`: another's are never drawn. `compute` gives up, with null, if what it
    computes is no longer wanted. */
export function traced(
  about: () => string,
  compute: (wanted: () => boolean) => Promise<Line[][] | null>,
  draw: (curves: Line[][]) => void,
): { show: () => void; trace: () => Promise<void> } {
  let [of, curves]: [string, Line[][]] = ["", []];
  const show = (): void => draw(of === about() ? curves : []);
  const trace = async (): Promise<void> => {
    const asked = about();
    if (asked === of) return;
    const found = await compute(() => about() === asked);
    if (found) [of, curves] = [asked, found];
    show();
  };
  return { show, trace };
}
