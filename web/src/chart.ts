// One chart: ECharts drawn as SVG into an element that follows the width of its column and the page that is printed.
//
// Colours are CSS variables, so that a change of theme, or printing, needs no drawing. Only the parts of ECharts that
// are used are imported.

import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomInsideComponent, GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";
import type { EChartsCoreOption } from "echarts/core";

import { el } from "./dom";
import { plain } from "./format";
import { ink } from "./palette";

echarts.use([BarChart, CustomChart, LineChart, ScatterChart]);
echarts.use([DataZoomInsideComponent, GridComponent, MarkLineComponent, TooltipComponent, LabelLayout, SVGRenderer]);

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** The printable width of an A4 page with 18 mm margins, in CSS pixels. */
const PRINT_WIDTH = 656;
/** Below this width a chart uses letters instead of names. */
const NARROW = 620;

export interface Drawing {
  height: number;
  /** What a reader who does not see the chart is told. */
  label: string;
  option: EChartsCoreOption;
}

export type Draw = (space: { width: number; narrow: boolean }) => Drawing;

const charts: { redraw: (width?: number) => void }[] = [];

/** What a chart tells of the reader's hands. */
export interface Hands {
  /** A point was chosen, by its series and its place there. */
  pick?: (series: number, item: number) => void;
  /** The axis was moved or stretched: the percents of it that are shown. */
  zoom?: (start: number, end: number) => void;
}

/** An element that holds a chart, on paper so many pixels narrower than the page; call the function returned with it to draw
    again. */
export function chart(draw: Draw, hands: Hands = {}, inset = 0): { element: HTMLElement; redraw: () => void } {
  const element = el("div", { class: "chart", role: "img" });
  let instance: echarts.ECharts | null = null;
  let seen = false;
  const redraw = (width = element.clientWidth): void => {
    if (width === 0) return;
    const drawing = draw({ width, narrow: width < NARROW });
    element.style.height = `${drawing.height}px`;
    element.setAttribute("aria-label", drawing.label);
    put = () => set(width, drawing);
    if (seen || printing) put();
    else whenIdle(element, () => put());
  };
  let put = (): void => undefined;
  const set = (width: number, { height, option }: Drawing): void => {
    instance ??= attach(element, width, height, hands);
    instance.resize({ width, height });
    instance.setOption({ ...base(), ...option }, { notMerge: true });
  };
  new ResizeObserver(() => {
    if (!printing) redraw();
  }).observe(element);
  new IntersectionObserver((entries) => {
    seen = entries.at(-1)?.isIntersecting ?? seen;
    if (seen && waiting.delete(element)) put();
  }).observe(element);
  charts.push({ redraw: (width) => redraw(width === undefined ? undefined : width - inset) });
  return { element, redraw };
}

function attach(element: HTMLElement, width: number, height: number, { pick, zoom }: Hands): echarts.ECharts {
  const instance = echarts.init(element, null, { renderer: "svg", width, height });
  if (pick) instance.on("click", ({ seriesIndex, dataIndex }) => pick(seriesIndex ?? 0, dataIndex));
  if (zoom) {
    let waiting = 0;
    instance.on("datazoom", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        const [{ start, end }] = (instance.getOption() as { dataZoom: [{ start: number; end: number }] }).dataZoom;
        zoom(start, end);
      }, SETTLED_MS);
    });
  }
  return instance;
}

/** A gesture is over when nothing has moved for so long. */
const SETTLED_MS = 250;

/** What is out of sight is drawn when the browser has nothing else to do, a chart at a time. */
const waiting = new Map<HTMLElement, () => void>();

function whenIdle(element: HTMLElement, draw: () => void): void {
  waiting.set(element, draw);
  // Not before what is in sight has been painted.
  if (waiting.size === 1) requestAnimationFrame(() => setTimeout(() => idle(drawNext)));
}

function drawNext(): void {
  const [next] = waiting;
  if (next === undefined) return;
  waiting.delete(next[0]);
  next[1]();
  if (waiting.size > 0) idle(drawNext);
}

/** Not every browser says when it is idle. */
function idle(then: () => void): void {
  if ("requestIdleCallback" in window) window.requestIdleCallback(then);
  else setTimeout(then, SETTLED_MS);
}

let printing = false;

/** Draws every chart at the width of a printed page, and again at its own width afterwards. */
export function followPrinting(): void {
  const before = (): void => {
    printing = true;
    charts.forEach(({ redraw }) => redraw(PRINT_WIDTH));
  };
  const after = (): void => {
    printing = false;
    charts.forEach(({ redraw }) => redraw());
  };
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
}

function base(): EChartsCoreOption {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: ink.text },
  };
}

/** The common form of tooltips; `content` returns elements, so names stay text. */
export function tooltip(
  trigger: "item" | "axis",
  content: (params: unknown) => HTMLElement,
  pointer: "shadow" | "line" = "shadow",
): EChartsCoreOption {
  return {
    trigger,
    confine: true,
    transitionDuration: 0,
    backgroundColor: ink.raised,
    borderColor: ink.rule,
    padding: 10,
    textStyle: { color: ink.text, fontSize: 13 },
    extraCssText: "box-shadow: 0 2px 10px rgb(0 0 0 / .18); max-width: 320px; white-space: normal;",
    axisPointer: {
      type: trigger === "axis" ? pointer : "none",
      shadowStyle: { color: "var(--hover)" },
      lineStyle: { color: ink.soft },
    },
    formatter: content,
  };
}

/** Those of `values` whose words stand apart on an axis of `length` pixels on which `at` is their place (0 to 1). */
export function apart(values: number[], at: (value: number) => number, length: number): number[] {
  const half = (value: number): number => (plain(value).length * 7 + 10) / 2;
  const ends = (value: number): [number, number] => [
    at(value) * length - half(value),
    at(value) * length + half(value),
  ];
  const last = values.at(-1);
  const shown: number[] = [];
  for (const value of values) {
    const free = shown.length === 0 || ends(value)[0] >= ends(shown.at(-1)!)[1];
    if (free && (value === last || last === undefined || ends(value)[1] <= ends(last)[0])) shown.push(value);
  }
  return shown;
}

/** A value axis with its name at the end; the name carries the unit. */
export function valueAxis(name: string, more: object = {}): object {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameTextStyle: { color: ink.soft, fontSize: 12 },
    axisLabel: { color: ink.soft, fontSize: 12, hideOverlap: true, formatter: plain },
    axisLine: { show: false, lineStyle: { color: ink.soft } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: ink.rule } },
    minorSplitLine: { show: false },
    ...more,
  };
}
