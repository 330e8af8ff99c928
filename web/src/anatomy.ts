// Where the time went: the mean response of each side, split into the parts that its requests passed through.

import type { Table } from "./csv";
import { el, scroller, type Child } from "./dom";
import { figure } from "./figure";
import { fixedSelectors, optionSelector } from "./controls";
import { chip, ink, linesOf, named, nameWidth, partColour } from "./palette";
import { number, plain, quantity, share } from "./format";
import { tooltip, valueAxis, type Draw } from "./chart";
import { PARTS, type Part } from "./parts";
import type { Cell } from "./report";
import type { Choice, Side } from "./choice";

type Extent = "whole" | "served";

/** Parts in which a request only waits for others. */
const WAITING: Part[] = ["driver", "flush", "queue"];

export function anatomy(choice: Choice): HTMLElement {
  const extent = (): Extent => choice.option("anatomy.show", "whole") as Extent;
  const drawn = (): number[] => [choice.compared];
  const options = [
    { value: "whole", text: "the whole response" },
    { value: "served", text: "without waiting in queues" },
  ];
  return figure(choice, {
    id: "anatomy",
    heading: "Where the time went",
    lead:
      "The mean response time, split into the parts a request passed through. Each part was measured on its " +
      "own; together they make up the whole.",
    controls: () => [...fixedSelectors(choice, drawn()), optionSelector(choice, "anatomy.show", "show", options)],
    caption: () => {
      const condition = choice.condition(drawn());
      const at = condition ? `, ${condition}` : "";
      if (extent() === "whole") return `Mean response in ms${at}; shorter is faster.`;
      const left = `waiting in driver and drive and behind flushes, up to ${share(waits(choice))} of it, is left out`;
      return `Parts of the mean response in ms${at}; not the whole: ${left}.`;
    },
    draw: (space) => draw(choice, extent(), space),
    table: () => table(choice),
    below: () => el("div", {}, partsTable(choice), ...beforeWrites(choice)),
  });
}

/** The largest share of a side's mean response that is waiting in queues. */
function waits(choice: Choice): number {
  const whole = partsShown("whole");
  return Math.max(0, ...rowsOf(choice).map(({ cell }) => total(cell, WAITING) / (total(cell, whole) || 1)));
}

function table(choice: Choice): Table {
  const rows = rowsOf(choice);
  const parts = PARTS.filter(([part]) => rows.some(({ cell }) => cell.anatomy_ms[part] !== undefined));
  const head = ["part", ...rows.map(({ side }) => `${side.name}, ms`)];
  return { head, rows: parts.map(([part]) => [part, ...rows.map(({ cell }) => cell.anatomy_ms[part])]) };
}

interface Row {
  side: Side;
  cell: Cell;
}

function rowsOf(choice: Choice): Row[] {
  return choice.sides().flatMap((side) => {
    const cell = choice.cell(side);
    return cell ? [{ side, cell }] : [];
  });
}

function partsShown(extent: Extent): Part[] {
  const all = PARTS.map(([part]) => part);
  return extent === "whole" ? all : all.filter((part) => !WAITING.includes(part));
}

function total(cell: Cell, parts: Part[]): number {
  return parts.reduce((sum, part) => sum + (cell.anatomy_ms[part] ?? 0), 0);
}

function draw(choice: Choice, extent: Extent, { width, narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const rows = rowsOf(choice);
  const parts = partsShown(extent);
  const longest = Math.max(...rows.map(({ cell }) => total(cell, parts)));
  const alone = choice.allSides().length < 2;
  const left = narrow || alone ? 26 : nameWidth(width, choice.sides());
  const room = (width - left - 92) / longest;
  return {
    height:
      rows.length *
        Math.max(
          44,
          14 *
            linesOf(
              rows.map(({ side }) => side),
              left - 10,
            ) +
            8,
        ) +
      60,
    label: "Stacked bars: mean response by part. The table below holds the same figures.",
    option: {
      grid: { left, right: 92, top: 4, bottom: 50 },
      tooltip: tooltip("item", (params) => hint(rows, parts, params)),
      xAxis: valueAxis("ms", {
        min: 0,
        max: longest,
        nameGap: 28,
        splitNumber: narrow ? 3 : 6,
        splitLine: { showMaxLine: false, lineStyle: { color: ink.rule } },
        axisLabel: { color: ink.soft, fontSize: 12, showMaxLabel: false, formatter: plain },
      }),
      yAxis: {
        type: "category",
        inverse: true,
        data: rows.map(({ side }) => (alone ? "" : narrow ? side.letter : named(side, left - 10))),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { color: ink.text, fontSize: 12, lineHeight: 14, interval: 0 },
      },
      series: parts.map((part, index) => series(rows, part, room, index === parts.length - 1 ? parts : null)),
    },
  };
}

/** One part of all bars; the last one also carries the total. */
function series(rows: Row[], part: Part, room: number, totalOf: Part[] | null): object {
  const wide = (ms: number, words: string): boolean => ms * room > words.length * 7 + 8;
  return {
    type: "bar",
    name: part,
    stack: "response",
    barWidth: 26,
    emphasis: { disabled: true },
    itemStyle: { color: partColour(part), borderColor: ink.paper, borderWidth: 0.75 },
    label: totalOf
      ? {
          show: true,
          position: "right",
          color: ink.text,
          fontSize: 12,
          fontWeight: "bold",
          formatter: ({ dataIndex }: { dataIndex: number }) => quantity(total(rows[dataIndex]!.cell, totalOf), "ms"),
        }
      : {
          show: true,
          color: `var(--on-${part})`,
          fontSize: 12,
          formatter: ({ value }: { value: number }) => (wide(value, part) ? part : ""),
        },
    data: rows.map(({ cell }) => cell.anatomy_ms[part] ?? 0),
  };
}

function hint(rows: Row[], parts: Part[], params: unknown): HTMLElement {
  const { seriesIndex, dataIndex } = params as { seriesIndex: number; dataIndex: number };
  const row = rows[dataIndex]!;
  const part = parts[seriesIndex]!;
  const ms = row.cell.anatomy_ms[part] ?? 0;
  const words = PARTS.find(([name]) => name === part)?.[1] ?? "";
  const whole = total(row.cell, partsShown("whole"));
  return el(
    "div",
    {},
    el("strong", {}, `${part}: ${quantity(ms, "ms")}`),
    el("div", {}, `${share(whole === 0 ? 0 : ms / whole)} of the mean response of ${row.side.name}`),
    el("div", { class: "soft" }, words),
  );
}

/** What an array's writes read first, for each side. */
function beforeWrites(choice: Choice): HTMLElement[] {
  const many = choice.allSides().length > 1;
  return rowsOf(choice).flatMap(({ side, cell }) => {
    const words = cell.array?.before_writes;
    const name: Child[] = many ? [chip(side), " "] : [];
    return words ? [el("p", { class: "before-writes" }, ...name, words)] : [];
  });
}

function nameOf(part: Part | null, words: string): HTMLElement {
  const swatch = part && el("span", { class: `swatch part-${part}`, "aria-hidden": "true" });
  const name = el("span", { class: "part" }, swatch, part ?? "together");
  return el("span", { class: "named" }, name, el("span", { class: "words" }, words));
}

/** The key of the colours and the figures in one: what each part is, and its milliseconds on each side. */
function partsTable(choice: Choice): HTMLElement {
  const rows = rowsOf(choice);
  const many = choice.allSides().length > 1;
  const used = PARTS.filter(([part]) => rows.some(({ cell }) => (cell.anatomy_ms[part] ?? 0) > 0));
  const heads = rows.map(({ side }) =>
    el(
      "th",
      { scope: "col", class: "figure", title: side.name },
      many ? chip(side) : null,
      el("span", { class: many ? "unseen" : "" }, many ? side.name : ""),
      " ms",
    ),
  );
  const body = used.map(([part, words]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, nameOf(part, words)),
      ...rows.map(({ cell }) => el("td", { class: "figure" }, number(cell.anatomy_ms[part]))),
    ),
  );
  const sums = el(
    "tr",
    { class: "sum" },
    el("th", { scope: "row" }, nameOf(null, "the mean response time")),
    ...rows.map(({ cell }) => el("td", { class: "figure" }, number(total(cell, partsShown("whole"))))),
  );
  const head = el("tr", {}, el("th", { scope: "col" }, "part"), ...heads);
  const table = el("table", { class: "parts" }, el("thead", {}, head), el("tbody", {}, ...body, sums));
  return scroller("the parts of the response time", table);
}
