// One metric along a factor of numbers: a line for each side, its interval as a band.

import { direction } from "./metrics";
import { ends, plain, quantity } from "./format";
import { el } from "./dom";
import { factorSelector, fixedSelectors } from "./controls";
import { figure, sentence } from "./figure";
import { ink, sideColour, sideDash, sideMark } from "./palette";
import { metricSelector } from "./bars";
import { tooltip, valueAxis, type Draw } from "./chart";
import type { Choice, Side } from "./choice";
import type { Interval } from "./report";

interface Point {
  x: number;
  value: Interval;
}

/** The figure, or null when no factor is made of numbers. */
export function curves(choice: Choice): HTMLElement | null {
  const numbers = choice.numericFactors();
  if (numbers.length === 0) return null;
  let along = numbers.find((index) => index !== choice.compared) ?? -1;
  const axis = (): number => (along === choice.compared ? (numbers.find((n) => n !== along) ?? -1) : along);
  if (axis() < 0) return null;
  const drawn = (): number[] => [choice.compared, axis()];
  return figure(choice, {
    id: "curves",
    heading: `Along ${choice.factors[along]!.name}`,
    lead: "One line a side. The band around a line is its interval; where none shows, it is narrower than the line " +
      "or was not computed.",
    controls: () => [
      metricSelector(choice),
      factorSelector(choice, "along", numbers, along, (factor) => (along = factor)),
      ...fixedSelectors(choice, drawn()),
    ],
    caption: () => caption(choice, axis(), choice.condition(drawn())),
    draw: (space) => draw(choice, axis(), space),
  });
}

function caption(choice: Choice, along: number, condition: string): string {
  const { name, unit } = choice.metric;
  const factor = choice.factors[along]?.name ?? "";
  return `${sentence(name)} in ${unit} along ${factor}${condition ? `, ${condition}` : ""}; ${direction(choice.metric)}.`;
}

function points(choice: Choice, along: number, side: Side): Point[] {
  const levels = choice.factors[along]?.levels ?? [];
  const found = levels.flatMap((level): Point[] => {
    const cell = choice.cell(side, [[along, level]]);
    return cell ? [{ x: Number(level), value: choice.metric.read(cell) }] : [];
  });
  return found.sort((a, b) => a.x - b.x);
}

function draw(choice: Choice, along: number, { narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const { metric } = choice;
  const factor = choice.factors[along]!;
  const sides = choice.sides().map((side) => ({ side, line: points(choice, along, side) }));
  return {
    height: narrow ? 340 : 400,
    label: `Lines: ${metric.name} along ${factor.name}. The table of all cells holds the same figures.`,
    option: {
      grid: { left: 64, right: 40, top: 34, bottom: 50 },
      tooltip: tooltip("item", (params) => hint(choice, along, sides, params)),
      xAxis: numberAxis(factor.levels.map(Number), factor.unit ? `${factor.name}, ${factor.unit}` : factor.name),
      yAxis: valueAxis(metric.unit, {
        min: 0,
        nameLocation: "end",
        nameGap: 14,
        nameTextStyle: { color: ink.soft, fontSize: 12, align: "right" },
      }),
      series: sides.flatMap(({ side, line }) => [band(side, line), lineOf(side, line, sides.length > 1)]),
    },
  };
}

/** Logarithmic when the levels span more than a factor of ten; the ticks stand at the levels. */
function numberAxis(levels: number[], name: string): object {
  const low = Math.min(...levels);
  const high = Math.max(...levels);
  const logarithmic = low > 0 && high / low > 10;
  return valueAxis(name, {
    type: logarithmic ? "log" : "value",
    ...(logarithmic ? { logBase: 2 } : {}),
    min: low,
    max: high,
    nameGap: 28,
    axisLabel: { color: ink.soft, fontSize: 12, formatter: plain, customValues: levels },
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
    lineStyle: { color: colour, width: 2.25, type: sideDash(side) },
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
  const known = line.flatMap(({ x, value: { low, high } }) => (low === null || high === null ? [] : [{ x, low, high }]));
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

function hint(choice: Choice, along: number, sides: { side: Side; line: Point[] }[], params: unknown): HTMLElement {
  const { seriesIndex, dataIndex } = params as { seriesIndex: number; dataIndex: number };
  const { side, line } = sides[Math.floor(seriesIndex / 2)]!;
  const point = line[dataIndex];
  if (point === undefined) return el("div");
  const { metric } = choice;
  return el(
    "div",
    {},
    el("strong", {}, `${side.letter} · ${side.level}`),
    el("div", {}, `${choice.factors[along]?.name} ${point.x}`),
    el("div", {}, quantity(point.value.estimate, metric.unit)),
    point.value.low === null ? null : el("div", {}, `interval ${ends(point.value)} ${metric.unit}`),
  );
}
