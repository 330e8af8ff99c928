// How long requests took, not only on average: the share of requests answered within a time, for each side.

import { el } from "./dom";
import { figure } from "./figure";
import { fixedSelectors, optionSelector } from "./controls";
import type { Table } from "./csv";
import { ink, sideColour, sideDash } from "./palette";
import { plain, quantity, share } from "./format";
import { tooltip, valueAxis, type Draw } from "./chart";
import type { Choice, Side } from "./choice";
import type { Cell } from "./report";
import { show, zoomControls, zoomed } from "./zoom";

type Scale = "whole" | "tail";

/** A point of the curve: so large a part of the requests took at most so long. */
export interface Step {
  ms: number;
  part: number;
}

/** The tail scale ends at one request in a hundred thousand. */
const NINES = 5;

export function distribution(choice: Choice): HTMLElement {
  const scale = (): Scale => choice.option("distribution.scale", "whole") as Scale;
  const drawn = (): number[] => [choice.compared];
  const options = [
    { value: "whole", text: "all requests" },
    { value: "tail", text: "the slowest (99 %, 99.9 %, …)" },
  ];
  return figure(choice, {
    id: "distribution",
    heading: "How long requests took",
    lead:
      "Read upwards from a time: the height of a curve is the share of requests answered within it. A curve " +
      "further left is faster.",
    controls: () => [
      ...fixedSelectors(choice, drawn()),
      optionSelector(choice, "distribution.scale", "look at", options),
      zoomControls(choice, "distribution"),
    ],
    caption: () => {
      const condition = choice.condition(drawn());
      return `Response time in ms (logarithmic), all requests${condition ? `, ${condition}` : ""}.`;
    },
    draw: (space) => draw(choice, scale(), space),
    hands: { zoom: (start, end) => show(choice, "distribution", { start, end }) },
    table: () => table(choice),
  });
}

/** The cumulative distribution of a histogram. */
export function cumulative({ histogram }: Pick<Cell, "histogram">): Step[] {
  const total = histogram.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  return histogram.map(([ms, count]) => {
    below += count;
    return { ms, part: below / total };
  });
}

/** The histograms themselves. */
function table(choice: Choice): Table {
  const rows = choice.sides().flatMap((side) => {
    const steps = choice.cell(side) ? cumulative(choice.cell(side)!) : [];
    const counts = choice.cell(side)?.histogram ?? [];
    return steps.map(({ ms, part }, step) => [side.level, ms, counts[step]![1], part]);
  });
  return { head: [choice.factors[choice.compared]!.name, "at most, ms", "requests", "share so far"], rows };
}

/** Where a share stands on the axis: in percent, or on the tail scale 0.9 at 1, 0.99 at 2. */
function height(part: number, scale: Scale): number {
  return scale === "whole" ? part * 100 : -Math.log10(1 - part);
}

/** The steps that a scale can show. The tail ends before the last request: beyond it nothing is known. */
function resolved(steps: Step[], scale: Scale): Step[] {
  return scale === "whole" ? steps : steps.filter(({ part }) => part < 1 && height(part, scale) <= NINES);
}

/** A curve rises from nothing, so that requests that all took the same time show as a line. */
function rising(steps: Step[]): Step[] {
  return steps.length === 0 ? [] : [{ ms: steps[0]!.ms, part: 0 }, ...steps];
}

function ninesLabel(value: number): string {
  if (value === 0) return "0 %";
  return `${(100 - 100 * 10 ** -value).toFixed(Math.max(0, value - 2))} %`;
}

function draw(choice: Choice, scale: Scale, { narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const lines = choice.sides().flatMap((side) => {
    const cell = choice.cell(side);
    return cell && cell.histogram.length > 0 ? [{ side, steps: rising(resolved(cumulative(cell), scale)) }] : [];
  });
  const tail = scale === "tail";
  return {
    height: narrow ? 340 : 400,
    label: "Curves: share of requests answered within a time. The table of all cells holds the percentiles.",
    option: {
      grid: { left: 64, right: 28, top: 34, bottom: 50 },
      dataZoom: zoomed(choice, "distribution", narrow),
      tooltip: tooltip("item", (params) => hint(lines, params)),
      xAxis: timeAxis(lines.flatMap(({ steps }) => between(steps, tail ? 1 : 0.9995))),
      yAxis: valueAxis("share of requests", {
        min: 0,
        max: tail ? NINES : 100,
        interval: tail ? 1 : 25,
        nameLocation: "end",
        nameGap: 14,
        nameTextStyle: { color: ink.soft, fontSize: 12, align: "left" },
        axisLabel: { color: ink.soft, fontSize: 12, formatter: tail ? ninesLabel : (part: number) => `${part} %` },
      }),
      series: lines.map(({ side, steps }, index) => ({
        type: "line",
        name: side.level,
        data: steps.map(({ ms, part }, step) => ({
          value: [ms, height(part, scale)],
          label: { show: lines.length > 1 && step === lettered(steps, scale, (index + 1) / (lines.length + 1)) },
        })),
        label: { position: "left", formatter: side.letter, color: sideColour(side), fontWeight: "bold", fontSize: 13 },
        symbol: "circle",
        symbolSize: 14,
        itemStyle: { color: "transparent" },
        lineStyle: { color: sideColour(side), width: 2.25, type: sideDash(side) },
        emphasis: { disabled: true },
      })),
    },
  };
}

/** The times that the axis must hold: all but the few requests at its far ends. */
function between(steps: Step[], most: number): number[] {
  return steps.filter(({ part }, index) => part > 1e-4 && (steps[index - 1]?.part ?? 0) < most).map(({ ms }) => ms);
}

/** Where a curve carries its letter: each at another height, so that close curves keep theirs apart. */
function lettered(steps: Step[], scale: Scale, share: number): number {
  const top = scale === "whole" ? 100 : NINES;
  return steps.findIndex(({ part }) => height(part, scale) >= top * share);
}

/** Whole decades would waste the width; the ends stand at 1, 2 or 5 times a power of ten. */
function timeAxis(times: number[]): object {
  const low = round125(Math.min(...times), Math.floor);
  const high = round125(Math.max(...times), Math.ceil);
  const ticks = decades(low, high);
  return valueAxis("response time, ms", {
    type: "log",
    min: low,
    max: high,
    nameGap: 28,
    axisLabel: { color: ink.soft, fontSize: 12, hideOverlap: true, formatter: plain, customValues: ticks },
    axisLine: { show: true, lineStyle: { color: ink.soft } },
    axisTick: { show: true, customValues: ticks, lineStyle: { color: ink.soft } },
    splitLine: { show: true, lineStyle: { color: ink.rule } },
  });
}

function round125(value: number, round: (x: number) => number): number {
  const all = edges([1, 2, 5]);
  if (round === Math.floor) return all.filter((edge) => edge <= value).at(-1) ?? 0.001;
  return all.find((edge) => edge >= value) ?? 5e6;
}

function decades(low: number, high: number): number[] {
  const wide = high / low > 500;
  return edges(wide ? [1] : [1, 2, 5]).filter((edge) => edge >= low && edge <= high);
}

/** The given multiples of every power of ten from a microsecond to a thousand seconds. */
function edges(multiples: number[]): number[] {
  const powers = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6];
  return powers.flatMap((power) => multiples.map((multiple) => Number(`${multiple}e${power}`)));
}

function hint(lines: { side: Side; steps: Step[] }[], params: unknown): HTMLElement {
  const { seriesIndex, dataIndex } = params as { seriesIndex: number; dataIndex: number };
  const line = lines[seriesIndex];
  const step = line?.steps[dataIndex];
  if (line === undefined || step === undefined) return el("div");
  const part = step.part > 0.99 ? `${(step.part * 100).toFixed(step.part === 1 ? 0 : 3)} %` : share(step.part);
  return el(
    "div",
    {},
    el("strong", {}, `${line.side.letter} · ${line.side.name}`),
    el("div", {}, `${part} of requests within ${quantity(step.ms, "ms")}`),
  );
}
