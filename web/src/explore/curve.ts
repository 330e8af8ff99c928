// Curves over what is dragged: one or two lines, with a mark at the place of the slider. Dragging moves the mark; the lines
// are computed once for a drive.

import { apart, chart, tooltip, valueAxis } from "../chart";
import { el } from "../dom";
import { number } from "../format";
import { ink } from "../palette";

export interface Line {
  name: string;
  colour: string;
  dash?: "solid" | number[];
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
    label: `${caption}: ${lines.map(({ name, points }) => `${name} ${near(points, at)}`).join(", ")}`,
    option: {
      grid: { left: 56, right: 16, top: 10, bottom: 40 },
      xAxis: valueAxis(axis, {
        min: from,
        max: to,
        nameGap: 24,
        ...(ticks ? { axisTick: { show: true, customValues: ticks }, axisLabel: { color: ink.soft, fontSize: 12, customValues: shownTicks(ticks, from, to, width) } } : {}),
      }),
      yAxis: valueAxis("", { min: 0 }),
      tooltip: tooltip("axis", () => el("div", {}, ...lines.map(({ name, points }) => el("p", {}, `${name}: ${near(points, at)}`))), "line"),
      series: lines.map(({ name, colour, dash, points, stack }, place) => ({
        type: "line",
        name,
        data: points,
        symbol: points.length > 20 ? "none" : "circle",
        symbolSize: 6,
        color: colour,
        lineStyle: { width: stack ? 0 : 2.5, type: dash ?? "solid" },
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
  const items = lines().map(({ name, colour }) =>
    el("li", {}, el("span", { class: "swatch", style: `background: ${colour}` }), name),
  );
  return el("ul", { class: "legend" }, ...items);
}

function shownTicks(ticks: number[], from: number, to: number, width: number): number[] {
  return apart(ticks, (value) => (value - from) / (to - from), width - 72);
}

/** The value of the point nearest to `x`, in words. */
function near(points: [number, number][], x: number): string {
  const nearest = points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best), points[0] ?? [0, NaN]);
  return number(nearest[1]);
}
