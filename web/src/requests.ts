// Request by request: each of a stretch as a point, and what became of the one that is chosen.

import { tooltip, valueAxis, type Draw } from "./chart";
import type { Choice } from "./choice";
import { optionSelector, press } from "./controls";
import type { Table } from "./csv";
import { el, type Child } from "./dom";
import { figure, sentence } from "./figure";
import { count, number, quantity, share } from "./format";
import { chip, ink, sideColour, sideMark } from "./palette";
import { PARTS, type Part } from "./parts";
import { movedFor, movements, requests, writtenOut, type Movement, type Request, type Told } from "./stretch";
import { show, zoomControls, zoomed } from "./zoom";

/** Sectors of 512 bytes in a gigabyte of 10^9. */
const SECTORS_IN_GB = 1e9 / 512;

type Along = "time" | "address";

/** Takes the moving picture to a moment. */
type Jump = (ms: number) => void;

interface Row extends Told {
  all: Request[];
}

export function requestsFigure(choice: Choice, stretches: Told[], jump: Jump | null): HTMLElement {
  const rows = stretches.map((told): Row => ({ ...told, all: requests(told.stretch) }));
  const along = (): Along => choice.option("requests.along", "time") as Along;
  const several = rows.length > 1;
  const options = [
    { value: "time", text: "when it was due" },
    { value: "address", text: "where it lies" },
  ];
  return figure(choice, {
    id: "requests",
    heading: "Request by request",
    lead:
      `The ${count(rows[0]!.all.length)} ${rows[0]!.stretch.counted ? "counted " : ""}requests of one run` +
      `${several ? " of each side" : ""} that were answered first; where many waited at once, only quick ones are left ` +
      "at the end.",
    key: () => key(rows),
    controls: () => [optionSelector(choice, "requests.along", "along", options), zoomControls(choice, "requests")],
    caption: () =>
      `Response time in ms by ${along() === "time" ? "when a request was due" : "address"}; lower is faster.`,
    draw: (space) => draw(choice, rows, along(), space),
    hands: {
      zoom: (start, end) => show(choice, "requests", { start, end }),
      pick: (series, item) => choose(choice, rows[series % rows.length]!, item),
    },
    table: () => table(rows),
    below: () =>
      explained(choice, rows, jump) ?? el("p", { class: "soft asks" }, "Choose a point to have it explained."),
  });
}

function choose(choice: Choice, { stretch }: Row, place: number): void {
  choice.set("requests.pick", `${stretch.cell}-${place}`);
}

/** The request that the reader chose; the first of all until then is not, so that nothing is explained unasked. */
function chosen(choice: Choice, rows: Row[]): { row: Row; request: Request } | null {
  const [cell, place] = choice.option("requests.pick", "-").split("-");
  const row = rows.find(({ stretch }) => stretch.cell === cell);
  const request = row?.all[Number(place)];
  return row && request ? { row, request } : null;
}

function x({ due, lba }: Request, along: Along): number {
  return along === "time" ? due : lba / SECTORS_IN_GB;
}

function draw(choice: Choice, rows: Row[], along: Along, { narrow }: Parameters<Draw>[0]): ReturnType<Draw> {
  const all = rows.flatMap((row) => row.all);
  const pick = chosen(choice, rows);
  const ends = along === "time" ? all.map(({ due }) => due) : [0, rows[0]!.stretch.sectors / SECTORS_IN_GB];
  return {
    height: narrow ? 320 : 380,
    label: "Points: response time of each request of the stretch. The CSV holds the same figures.",
    option: {
      grid: { left: 64, right: 28, top: 34, bottom: 50 },
      dataZoom: zoomed(choice, "requests", narrow),
      tooltip: tooltip("item", (params) => hint(rows, params)),
      xAxis: valueAxis(along === "time" ? "due, ms after the picture's beginning" : "address, GB", {
        min: Math.min(...ends),
        max: Math.max(...ends),
        nameGap: 28,
        axisLabel: {
          color: ink.soft,
          fontSize: 12,
          hideOverlap: true,
          showMinLabel: false,
          showMaxLabel: false,
          formatter: (value: number) => number(value),
        },
        axisLine: { show: true, lineStyle: { color: ink.soft } },
        splitLine: { show: false },
      }),
      yAxis: valueAxis("ms", {
        min: 0,
        nameLocation: "end",
        nameGap: 14,
        nameTextStyle: { color: ink.soft, fontSize: 12, align: "right" },
      }),
      series: [
        ...rows.map(({ side, all: own }) => ({
          type: "scatter",
          symbol: sideMark(side),
          symbolSize: 7,
          cursor: "pointer",
          itemStyle: { color: sideColour(side), opacity: 0.75 },
          emphasis: { disabled: true },
          data: own.map((request) => [x(request, along), request.response]),
        })),
        {
          type: "scatter",
          symbol: "circle",
          symbolSize: 18,
          silent: true,
          itemStyle: { color: "transparent", borderColor: ink.text, borderWidth: 2 },
          data: pick ? [[x(pick.request, along), pick.request.response]] : [],
        },
      ],
    },
  };
}

function hint(rows: Row[], params: unknown): HTMLElement {
  const { seriesIndex, dataIndex } = params as { seriesIndex: number; dataIndex: number };
  const row = rows[seriesIndex];
  const request = row?.all[dataIndex];
  if (!row || !request) return el("div");
  return el("div", {}, el("strong", {}, title(row, request, rows.length > 1)), el("div", {}, whole(request)));
}

function title({ side }: Row, { op, place }: Request, lettered: boolean): string {
  return `${lettered ? `${side.letter} · ` : ""}${op} ${count(place + 1)}`;
}

function whole(request: Request): string {
  const most = met(request).sort((a, b) => b.ms - a.ms)[0];
  return quantity(request.response, "ms") + (most ? `, most of it ${most.part}` : "");
}

/** A part that a request met. */
interface Met {
  part: Part;
  words: string;
  ms: number;
}

/** The parts that it met, in their order. */
function met({ parts }: Request): Met[] {
  return PARTS.flatMap(([part, words]) => (parts[part] === undefined ? [] : [{ part, words, ms: parts[part] }]));
}

function key(rows: Row[]): HTMLElement | null {
  if (rows.length < 2) return null;
  const items = rows.map(({ side }) => el("li", {}, chip(side), " ", el("span", {}, side.name)));
  return el("ul", { class: "legend" }, ...items);
}

/** What became of the chosen request. */
function explained(choice: Choice, rows: Row[], jump: Jump | null): HTMLElement | null {
  const pick = chosen(choice, rows);
  if (pick === null) return null;
  const { row, request } = pick;
  const drives = row.stretch.platters.length;
  const moves = movements(row.stretch, 0);
  const own = movedFor(request, moves, drives);
  const later = writtenOut(request, moves, drives);
  const step = (by: number, words: string, label: string): HTMLElement => {
    const button = press(words, label, () => choose(choice, row, request.place + by));
    button.disabled = row.all[request.place + by] === undefined;
    return button;
  };
  return el(
    "div",
    { class: "explained", "aria-live": "polite" },
    el(
      "div",
      { class: "explained-head" },
      el("h3", {}, rows.length > 1 ? chip(row.side) : null, ` ${placed(row, request)}`),
      el(
        "div",
        { class: "files" },
        step(-1, "◂", "the request before"),
        step(1, "▸", "the next request"),
        jump && press("Show the arm", "the moving picture at this moment", () => jump(own[0]?.start ?? request.due)),
        press("×", "close", () => choice.set("requests.pick", null)),
      ),
    ),
    el("p", {}, circumstances(row, request)),
    strip(request),
    el("ol", { class: "steps" }, ...met(request).map((part) => el("li", {}, ...partOf(part, own, request)))),
    ...remarks(row, request, own, later),
  );
}

function placed({ all }: Row, { op, place, failed }: Request): string {
  return `${sentence(op)}, number ${count(place + 1)} of ${count(all.length)}${failed ? ", failed" : ""}`;
}

function circumstances({ stretch }: Row, { op, lba, sectors, due, response, worker }: Request): string {
  const size = `${number(sectors / 2)}\u00a0KiB at sector ${count(lba)}`;
  const what = op === "flush" ? "" : `${size}, ${share(lba / stretch.sectors)} of the way in; `;
  const when = `due ${quantity(due, "ms")} after the picture's beginning`;
  return `${what}issued by worker ${worker + 1}, ${when}, answered after ${quantity(response, "ms")}.`;
}

/** The response as one bar of its parts. */
function strip(request: Request): HTMLElement {
  const bars = met(request).map(({ part, ms }) =>
    el("span", {
      class: `piece part-${part}`,
      title: `${part} ${quantity(ms, "ms")}`,
      style: `flex-grow:${ms / request.response}`,
    }),
  );
  return el("div", { class: "pieces", "aria-hidden": "true" }, ...bars);
}

/** One part: how long, what it is, and where the arm's instants are told, from when to when. */
function partOf({ part, words, ms }: Met, own: Movement[], { due }: Request): Child[] {
  const when = own.length === 1 ? instants(part, ms, own[0]!, due) : null;
  const way = part === "seek" && own.length > 0 ? `; ${own.map(wayOf).join(", then ")}` : "";
  return [
    el("span", { class: `swatch part-${part}`, "aria-hidden": "true" }),
    el("strong", {}, `${part} ${quantity(ms, "ms")}`),
    el("span", { class: "soft" }, when === null ? "" : ` (${when})`),
    ` ${words}${way}`,
  ];
}

function wayOf({ from, to, head }: Movement): string {
  if (from === to) return `to head ${head} of cylinder ${count(to)}`;
  return `${count(Math.abs(to - from))} cylinders, from ${count(from)} to ${count(to)}, head ${head}`;
}

/** From when to when, after it was due; only of parts whose instants the arm tells. */
function instants(part: Part, ms: number, { start, arrived, ready, end }: Movement, due: number): string | null {
  const ends: Partial<Record<Part, [number, number]>> = {
    seek: [start, arrived],
    settle: [ready - ms, ready],
    rotation: [ready, ready + ms],
    transfer: [end - ms, end],
  };
  const found = ends[part];
  return found === undefined ? null : `from ${number(found[0] - due)} to ${quantity(found[1] - due, "ms")}`;
}

/** The parts in which the arm and the platter work. */
const MECHANICAL: Part[] = ["seek", "rotation", "transfer"];

function remarks({ stretch }: Row, { op, parts }: Request, own: Movement[], later: Movement | undefined): Child[] {
  const mechanical = MECHANICAL.some((part) => parts[part] !== undefined);
  const said: string[] = [];
  if (stretch.platters.length > 1) {
    said.push("Several drives served it; its parts are those of the one that was last.");
  } else if (!mechanical && op === "read") {
    said.push("It moved nothing: the data came out of the drive's buffer.");
  } else if (!mechanical && op === "write") {
    const when = later
      ? ` They were written ${quantity(later.end, "ms")} after the picture's beginning, at cylinder ${count(later.to)}.`
      : "";
    said.push(`It moved nothing before it was answered: the drive's buffer took the data.${when}`);
  }
  if (own.length > 1)
    said.push("It met some parts more than once, on one track after the other; each is given in sum.");
  return said.map((words) => el("p", { class: "soft" }, words));
}

function table(rows: Row[]): Table {
  const parts = rows[0]!.stretch.parts;
  const head = ["side", "number", "operation", "sector", "sectors", "worker", "due, ms", "response, ms"];
  const of = ({ side, all }: Row): Table["rows"] =>
    all.map((request) => {
      const { place, op, lba, sectors, worker, due, response } = request;
      const ms = parts.map((name) => request.parts[name] ?? 0);
      return [side.name, place + 1, op, lba, sectors, worker + 1, due, response, ...ms];
    });
  return { head: [...head, ...parts.map((name) => `${name}, ms`)], rows: rows.flatMap(of) };
}
