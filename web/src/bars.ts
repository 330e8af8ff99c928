// One metric in every cell of a depth, as bars with intervals, in groups.

import { direction, type Metric } from "./metrics";
import { ends, levelName, number, quantity } from "./format";
import { el } from "./dom";
import { factorSelector, fixedSelectors, optionSelector, select } from "./controls";
import type { Table } from "./csv";
import { figure, sentence } from "./figure";
import { ink, linesOf, named, nameWidth, sideColour } from "./palette";
import { FONT, tooltip, valueAxis, type Draw } from "./chart";
import type { Choice, Side } from "./choice";
import type { Interval } from "./report";

type Scale = "values" | "relative";

/** A line of the chart: a group's heading, or a side's bar. */
type Row = { heading: string } | Bar;

interface Bar {
  side: Side;
  group: string;
  value: Interval;
  drawn: Interval;
}

const ROW_HEIGHT = 19;
/** Each further line of a name. */
const LINE_HEIGHT = 14;

export function bars(choice: Choice): HTMLElement {
  const opening: Scale = spread(choice) > 6 ? "relative" : "values";
  const scale = (): Scale => (choice.grouped < 0 ? "values" : (choice.option("results.scale", opening) as Scale));
  const drawn = (): number[] => [choice.compared, choice.grouped];
  return figure(choice, {
    id: "results",
    heading: "Results by cell",
    lead:
      "Each bar is one cell; the whisker is its own interval, where one was computed. " +
      "The interval of a ratio stands with its verdict.",
    controls: () => [
      metricSelector(choice),
      factorSelector(choice, "compare", choice.fixedFactors([]), choice.compared, (f) => choice.compare(f)),
      factorSelector(choice, "group by", choice.fixedFactors([choice.compared]), choice.grouped, (f) => {
        choice.grouped = f;
      }),
      ...fixedSelectors(choice, drawn()),
      choice.grouped < 0 ? null : optionSelector(choice, "results.scale", "scale", scaleOptions(choice, opening)),
    ],
    caption: () => caption(choice, scale(), choice.condition(drawn())),
    draw: (space) => draw(choice, scale(), space),
    table: () => table(choice),
  });
}

export function metricSelector(choice: Choice): HTMLElement {
  const options = choice.metrics.map(({ id, name, unit }) => ({
    value: id,
    text: unit === "" ? name : `${name} (${unit})`,
  }));
  return select("metric", options, choice.metric.id, (id) =>
    choice.change(() => {
      choice.metric = choice.metrics.find((metric) => metric.id === id) ?? choice.metric;
    }),
  );
}

/** The one that the page opens with comes first. */
function scaleOptions(choice: Choice, opening: Scale): { value: string; text: string }[] {
  const options = [
    { value: "values", text: "values" },
    { value: "relative", text: `relative to ${choice.reference()?.letter}` },
  ];
  return opening === "values" ? options : options.reverse();
}

/** What the bars show, whatever their scale. */
function table(choice: Choice): Table {
  const { metric } = choice;
  const group = choice.factors[choice.grouped]?.name;
  const name = metric.unit === "" ? metric.name : `${metric.name}, ${metric.unit}`;
  const head = [...(group === undefined ? [] : [group]), choice.factors[choice.compared]!.name, name, "low", "high"];
  const bars = rows(choice, "values").flatMap((row) => ("side" in row ? [row] : []));
  const row = ({ group: at, side, value: { estimate, low, high } }: Bar): Table["rows"][number] => [
    ...(group === undefined ? [] : [at]),
    side.level,
    estimate,
    low,
    high,
  ];
  return { head, rows: bars.map(row) };
}

function caption(choice: Choice, scale: Scale, condition: string): string {
  const { name, unit } = choice.metric;
  const what = scale === "relative" ? `${name} in % of ${choice.reference()?.name}` : `${name} in ${unit}`;
  return `${sentence(what)}${condition ? ` at ${condition}` : ""}; ${direction(choice.metric)}.`;
}

/** The largest figure over the smallest among the groups: beyond some factors one scale hides the small ones. */
function spread(choice: Choice): number {
  const values = rows(choice, "values").flatMap((row) => ("side" in row ? [row.value.estimate ?? NaN] : []));
  const finite = values.filter((value) => value > 0);
  return choice.grouped < 0 ? 1 : Math.max(...finite) / Math.min(...finite);
}

function rows(choice: Choice, scale: Scale): Row[] {
  const groups = choice.factors[choice.grouped]?.levels ?? [""];
  return groups.flatMap((group) => {
    const at: [number, string][] = choice.grouped < 0 ? [] : [[choice.grouped, group]];
    const read = (side: Side): Interval | null => {
      const cell = choice.cell(side, at);
      return cell ? choice.metric.read(cell) : null;
    };
    const reference = choice.reference();
    const base = scale === "relative" && reference ? (read(reference)?.estimate ?? null) : 100;
    const found = choice.sides().flatMap((side): Row[] => {
      const value = read(side);
      return value === null ? [] : [{ side, group, value, drawn: scale === "relative" ? percent(value, base) : value }];
    });
    return found.length === 0
      ? []
      : group === ""
        ? found
        : [{ heading: levelName(choice.factors[choice.grouped]!.name, group) }, ...found];
  });
}

function percent({ estimate, low, high }: Interval, base: number | null): Interval {
  const part = (value: number | null): number | null =>
    value === null || base === null || base === 0 ? null : (value / base) * 100;
  return { estimate: part(estimate), low: part(low), high: part(high) };
}

function draw(choice: Choice, scale: Scale, { width, narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const left = narrow ? 26 : nameWidth(width, choice.sides());
  const lines = rows(choice, scale);
  const { metric } = choice;
  const unit = scale === "relative" ? `% of ${choice.reference()?.letter}` : metric.unit;
  const row = ROW_HEIGHT + (narrow ? 0 : LINE_HEIGHT * (linesOf(choice.sides(), left - 10) - 1));
  const height = lines.length * row + 56;
  return {
    height,
    label: `Bars: ${metric.name}. The table of all cells holds the same figures.`,
    option: {
      grid: { left, right: narrow ? 78 : scale === "relative" ? 150 : 92, top: 4, bottom: 46 },
      tooltip: tooltip("axis", (params) => hint(lines[place(params)], metric)),
      xAxis: valueAxis(unit, { min: 0, nameGap: 28, splitNumber: narrow ? 3 : 6 }),
      yAxis: {
        type: "category",
        inverse: true,
        data: lines.map((row) => (narrow ? letterOf(row) : nameOf(row, left - 10))),
        axisLine: { lineStyle: { color: ink.soft } },
        axisTick: { show: false },
        axisLabel: { color: ink.text, fontSize: 12, lineHeight: LINE_HEIGHT, interval: 0 },
      },
      series: [
        {
          type: "bar",
          barWidth: 12.5,
          emphasis: { disabled: true },
          data: lines.map((row) => barItem(row)),
          markLine: scale === "relative" ? line100() : {},
        },
        {
          type: "custom",
          renderItem: overlay(lines, (row) => label(row, scale, metric, narrow)),
          // So that the axis reaches as far as the whiskers do.
          data: lines.map((row, index) => [reach(row), index]),
          z: 6,
        },
      ],
    },
  };
}

/** How far to the right a line is drawn. */
function reach(row: Row): number {
  return "heading" in row ? 0 : Math.max(row.drawn.estimate ?? 0, row.drawn.high ?? 0);
}

function place(params: unknown): number {
  return (params as { dataIndex: number }[])[0]?.dataIndex ?? -1;
}

function letterOf(row: Row): string {
  return "heading" in row ? "" : row.side.letter;
}

function nameOf(row: Row, width: number): string {
  return "heading" in row ? "" : named(row.side, width);
}

function barItem(row: Row): object {
  if ("heading" in row) return { value: null };
  return { value: row.drawn.estimate, itemStyle: { color: sideColour(row.side) } };
}

function line100(): object {
  return {
    symbol: "none",
    silent: true,
    label: { show: false },
    lineStyle: { color: ink.text, type: "solid", width: 1 },
    data: [{ xAxis: 100 }],
  };
}

/** What stands at the end of a bar: the figure of the axis, and beside a share the value itself. */
function label({ value, drawn }: Bar, scale: Scale, { unit }: Metric, narrow: boolean): string {
  if (scale === "values") return number(value.estimate);
  if (drawn.estimate === null) return narrow ? "no ratio" : `no ratio · ${quantity(value.estimate, unit)}`;
  const part = quantity(drawn.estimate, "%");
  return narrow ? part : `${part} · ${quantity(value.estimate, unit)}`;
}

interface Api {
  coord: (point: [number, number]) => [number, number];
}

/** Headings, whiskers and values, drawn over the bars. */
function overlay(lines: Row[], words: (row: Bar) => string) {
  return ({ dataIndex }: { dataIndex: number }, api: Api): object | null => {
    const row = lines[dataIndex]!;
    const at = (value: number): [number, number] => api.coord([value, dataIndex]);
    if ("heading" in row) {
      const [x, y] = at(0);
      return text(row.heading, x + 6, y + 2, "bold 13px");
    }
    const { estimate, low, high } = row.drawn;
    if (estimate === null) return text(words(row), at(0)[0] + 6, at(0)[1], "12px");
    const [x, y] = at(Math.max(estimate, high ?? estimate));
    const value = text(words(row), x + 8, y, "12px");
    if (low === null || high === null) return { type: "group", silent: true, children: [value] };
    return { type: "group", silent: true, children: [...whisker(at(low), at(high)), value] };
  };
}

function whisker([low, y]: [number, number], [high]: [number, number]): object[] {
  const stroke = (x1: number, y1: number, x2: number, y2: number): object => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style: { stroke: ink.text, lineWidth: 1.25 },
  });
  return [stroke(low, y, high, y), stroke(low, y - 4, low, y + 4), stroke(high, y - 4, high, y + 4)];
}

function text(words: string, x: number, y: number, font: string): object {
  const halo = { stroke: ink.paper, lineWidth: 4 };
  const style = { ...halo, text: words, x, y, fill: ink.text, font: `${font} ${FONT}`, verticalAlign: "middle" };
  return { type: "text", silent: true, style };
}

function hint(row: Row | undefined, metric: Metric): HTMLElement {
  if (row === undefined) return el("div");
  if ("heading" in row) return el("div", {}, row.heading);
  const interval = row.value.low === null ? "no interval" : `interval ${ends(row.value)} ${metric.unit}`;
  return el(
    "div",
    {},
    el("strong", {}, `${row.side.letter} · ${row.side.name}`),
    row.group ? el("div", {}, row.group) : null,
    el("div", {}, `${sentence(metric.name)}: ${quantity(row.value.estimate, metric.unit)}`),
    el("div", {}, interval),
  );
}
