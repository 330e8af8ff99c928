// One metric along a factor of numbers: a line for each side, its interval as a band. When that factor is itself the
// one compared, its levels are the points of a single line. Two points are no curve: they stay points with whiskers.

import { direction } from "./metrics";
import { ends, plain, quantity } from "./format";
import type { Table } from "./csv";
import { el } from "./dom";
import { factorSelector, fixedSelectors, legend } from "./controls";
import { figure, sentence } from "./figure";
import { chip, ink, sideColour, sideDash, sideMark } from "./palette";
import { metricSelector } from "./bars";
import { apart, tooltip, valueAxis, type Draw } from "./chart";
import type { Choice, Side } from "./choice";
import type { Interval } from "./report";
import { partOf, show, zoomControls, zoomed } from "./zoom";

/** Room beside the chart for the figures of its axis, and for the letters of its lines. */
const SIDES = { left: 64, right: 40 };

interface Point {
  x: number;
  value: Interval;
}

/** So few points make no line. */
const FEW = 2;

/** The figure, or null when no factor is made of numbers. */
export function curves(choice: Choice): HTMLElement | null {
  const numbers = choice.numericFactors();
  if (numbers.length === 0) return null;
  const named = (): number => choice.factors.findIndex(({ name }) => name === choice.option("curves.along", ""));
  const wanted = (): number[] => numbers.filter((index) => index === named());
  const axis = (): number => [...wanted(), ...numbers].find((index) => index !== choice.compared) ?? numbers[0]!;
  const drawn = (): number[] => [choice.compared, axis()];
  return figure(choice, {
    id: "curves",
    heading: numbers.length === 1 ? `Along ${choice.factors[numbers[0]!]!.name}` : "Along a factor",
    key: () => (axis() === choice.compared ? null : legend(choice)),
    lead:
      "The band around a line is its interval; where none shows, it is narrower than the line " +
      "or was not computed.",
    controls: () => [
      metricSelector(choice),
      factorSelector(
        choice,
        "along",
        numbers.filter((n) => n !== choice.compared),
        axis(),
        (factor) => choice.set("curves.along", choice.factors[factor]!.name),
      ),
      ...fixedSelectors(choice, drawn()),
      zoomControls(choice, "curves"),
    ],
    caption: () => caption(choice, axis(), choice.condition(drawn())),
    draw: (space) => draw(choice, axis(), space),
    hands: { zoom: (start, end) => show(choice, "curves", { start, end }) },
    table: () => table(choice, axis()),
  });
}

function caption(choice: Choice, along: number, condition: string): string {
  const { name, unit } = choice.metric;
  const factor = choice.factors[along]?.name ?? "";
  const at = condition ? `, ${condition}` : "";
  return `${sentence(name)} in ${unit} along ${factor}${at}; ${direction(choice.metric)}.`;
}

function points(choice: Choice, along: number, side: Side): Point[] {
  const levels = choice.factors[along]?.levels ?? [];
  const found = levels.flatMap((level): Point[] => {
    const cell = choice.cell(side, [[along, level]]);
    return cell ? [{ x: Number(level), value: choice.metric.read(cell) }] : [];
  });
  return found.sort((a, b) => a.x - b.x);
}

function linesOf(choice: Choice, along: number): { side: Side; line: Point[] }[] {
  const shown = along === choice.compared ? choice.allSides().slice(0, 1) : choice.sides();
  return shown.map((side) => ({ side, line: points(choice, along, side) }));
}

function table(choice: Choice, along: number): Table {
  const { metric } = choice;
  const name = metric.unit === "" ? metric.name : `${metric.name}, ${metric.unit}`;
  const own = along !== choice.compared;
  const head = [
    ...(own ? [choice.factors[choice.compared]!.name] : []),
    choice.factors[along]!.name,
    name,
    "low",
    "high",
  ];
  const row = (side: Side, { x, value: { estimate, low, high } }: Point): Table["rows"][number] => [
    ...(own ? [side.level] : []),
    x,
    estimate,
    low,
    high,
  ];
  return { head, rows: linesOf(choice, along).flatMap(({ side, line }) => line.map((point) => row(side, point))) };
}

function draw(choice: Choice, along: number, { width, narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const { start, end } = partOf(choice, "curves");
  const drawing = plot(choice, along, linesOf(choice, along), width, 100 / (end - start));
  const option = { ...drawing.option, dataZoom: zoomed(choice, "curves", narrow) };
  return { ...drawing, height: narrow ? 340 : 400, option };
}

/** Lines along a factor; `closer` is how much longer the axis is than what is seen of it. */
function plot(
  choice: Choice,
  along: number,
  sides: { side: Side; line: Point[] }[],
  width: number,
  closer = 1,
): Pick<ReturnType<Draw>, "label" | "option"> {
  const { metric } = choice;
  const factor = choice.factors[along]!;
  const length = (width - SIDES.left - SIDES.right) * closer;
  return {
    label: `Lines: ${metric.name} along ${factor.name}. The table of all cells holds the same figures.`,
    option: {
      grid: { ...SIDES, top: 34, bottom: 50 },
      tooltip: tooltip("axis", (params) => hint(choice, along, sides, params), "line"),
      xAxis: numberAxis(
        factor.levels.map(Number),
        length,
        factor.unit ? `${factor.name}, ${factor.unit}` : factor.name,
      ),
      yAxis: valueAxis(metric.unit, {
        min: 0,
        nameLocation: "end",
        nameGap: 14,
        nameTextStyle: { color: ink.soft, fontSize: 12, align: "right" },
      }),
      series: series(sides),
    },
  };
}

/** The lines of the choice along a factor. */
export function lines(choice: Choice, along: number): object[] {
  return series(linesOf(choice, along));
}

function series(sides: { side: Side; line: Point[] }[]): object[] {
  return sides.flatMap(({ side, line }) => [
    line.length > FEW ? band(side, line) : whiskers(side, line),
    lineOf(side, line, sides.length > 1),
  ]);
}

/** Logarithmic when the levels span more than a factor of ten; the ticks stand at the levels. */
function numberAxis(unsorted: number[], length: number, name: string): object {
  const levels = [...unsorted].sort((a, b) => a - b);
  const low = Math.min(...levels);
  const high = Math.max(...levels);
  const logarithmic = low > 0 && high / low > 10;
  const scale = logarithmic ? Math.log : (value: number): number => value;
  const at = (value: number): number => (scale(value) - scale(low)) / (scale(high) - scale(low) || 1);
  return valueAxis(name, {
    type: logarithmic ? "log" : "value",
    ...(logarithmic ? { logBase: 2 } : {}),
    min: low,
    max: high,
    nameGap: 28,
    axisLabel: { color: ink.soft, fontSize: 12, formatter: plain, customValues: apart(levels, at, length) },
    axisLine: { show: true, lineStyle: { color: ink.soft } },
    axisTick: { show: true, customValues: levels, lineStyle: { color: ink.soft } },
    splitLine: { show: false },
  });
}

function lineOf(side: Side, line: Point[], lettered: boolean): object {
  const colour = sideColour(side);
  return {
    type: "line",
    name: side.level,
    data: line.map(({ x, value }) => [x, value.estimate]),
    symbol: sideMark(side),
    symbolSize: 9,
    clip: false,
    z: 4,
    itemStyle: { color: colour },
    lineStyle: { color: colour, width: line.length > FEW ? 2.25 : 0, type: sideDash(side) },
    endLabel: {
      show: lettered,
      formatter: () => side.letter,
      color: colour,
      fontWeight: "bold",
      fontSize: 13,
      lineHeight: 17,
      distance: 10,
    },
    labelLayout: { moveOverlap: "shiftY" },
    emphasis: { disabled: true },
  };
}

interface Api {
  coord: (point: [number, number]) => [number, number];
}

/** The intervals of a line as one shape. */
function band(side: Side, line: Point[]): object {
  const known = line.flatMap(({ x, value: { low, high } }) =>
    low === null || high === null ? [] : [{ x, low, high }],
  );
  const renderItem = (_: unknown, api: Api): object => ({
    type: "polygon",
    silent: true,
    shape: {
      points: [
        ...known.map(({ x, high }) => api.coord([x, high])),
        ...known.map(({ x, low }) => api.coord([x, low])).reverse(),
      ],
    },
    style: { fill: sideColour(side), opacity: 0.18 },
  });
  const data = known.length < 2 ? [] : [[known[0]!.x, known[0]!.high]];
  return { type: "custom", name: `${side.level} band`, silent: true, renderItem, data, z: 2 };
}

/** The interval of each point by itself. */
function whiskers(side: Side, line: Point[]): object {
  const known = line.flatMap(({ x, value: { low, high } }) => (low === null || high === null ? [] : [[x, low, high]]));
  const renderItem = (_: unknown, api: Api & { value: (place: number) => number }): object => {
    const ends = [1, 2].map((place) => api.coord([api.value(0), api.value(place)]));
    const [[x, low], [, high]] = ends as [[number, number], [number, number]];
    const stroke = (x1: number, y1: number, x2: number, y2: number): object => ({
      type: "line",
      shape: { x1, y1, x2, y2 },
      style: { stroke: sideColour(side), lineWidth: 1.5 },
    });
    const caps = [low, high].map((y) => stroke(x - 5, y, x + 5, y));
    return { type: "group", silent: true, children: [stroke(x, low, x, high), ...caps] };
  };
  return { type: "custom", name: `${side.level} whiskers`, silent: true, renderItem, data: known, z: 2 };
}

/** What every side has at the place pointed at. */
function hint(choice: Choice, along: number, sides: { side: Side; line: Point[] }[], params: unknown): HTMLElement {
  const pointed = params as { seriesType: string; value: [number, number] }[];
  const x = pointed.find(({ seriesType }) => seriesType === "line")?.value[0];
  const rows = sides.flatMap(({ side, line }) => {
    const point = line.find((candidate) => candidate.x === x);
    return point ? [row(choice, sides.length > 1 ? side : null, point)] : [];
  });
  return el("div", {}, el("strong", {}, `${choice.factors[along]?.name} ${x ?? ""}`), ...rows);
}

function row({ metric }: Choice, side: Side | null, { value }: Point): HTMLElement {
  const range = value.low === null ? null : el("span", { class: "soft" }, ` (${ends(value)})`);
  return el("div", {}, side && chip(side), ` ${quantity(value.estimate, metric.unit)}`, range);
}
