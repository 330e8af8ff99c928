// Requests over time, a row each: a bar from the instant at which a request was issued to the one at which it was done, in
// the colours of its parts. A row explains its request (`rows`).

import { el, svg } from "../dom";
import { quantity } from "../format";
import { PARTS, type Part } from "../parts";
import type { Request } from "../stretch";
import { rowList } from "./rows";
import { ribbon as texts } from "./texts";

const WIDTH = 1000;
const ROW = 9;
const GAP = 2;
/** Pixels of a drawing; more rows are thinner. */
const TALLEST = 400;

export interface Ribbon {
  element: HTMLElement;
  load: (requests: Request[], until: number) => void;
  /** Moves the mark of the clock. */
  point: (ms: number) => void;
}

/** A picture of requests; `label` says what a reader who does not see it is told. `pick` is called with the chosen one. */
export function ribbon(label: string, pick: (request: Request) => void): Ribbon {
  const drawing = svg("svg", { class: "ribbon", preserveAspectRatio: "none" });
  const list = rowList(drawing, label);
  const scale = el("div", { class: "ends soft small" });
  const cursor = svg("line", { class: "cursor", y1: 0 });
  let last = 1;
  const point = (ms: number): void => {
    const x = ((Math.min(ms, last) / last) * WIDTH).toFixed(1);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  };
  const load = (requests: Request[], until: number): void => {
    last = until;
    const height = requests.length * (ROW + GAP);
    drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    (drawing as SVGSVGElement).style.height = `${Math.min(TALLEST, Math.max(60, height))}px`;
    cursor.setAttribute("y2", String(height));
    const rows = requests.map((request, place) => ({
      element: row(request, place, until),
      explain: () => explain(request),
      chosen: () => pick(request),
    }));
    list.load(rows);
    drawing.replaceChildren(...rows.map(({ element: one }) => one), cursor);
    key.replaceChildren(partsKey(requests));
    scale.replaceChildren(el("span", {}, "0 ms"), el("span", {}, quantity(until, "ms")));
    point(0);
  };
  const key = el("div", {});
  const element = el("div", { class: "ribbon-box" }, key, drawing, scale, list.told);
  return { element, load, point };
}

function row(request: Request, place: number, until: number): SVGElement {
  const y = place * (ROW + GAP);
  let at = Math.max(0, request.due);
  const bars = PARTS.flatMap(([part]) => {
    const length = request.parts[part] ?? 0;
    const from = at;
    at += length;
    if (length === 0 || from >= until) return [];
    return [
      svg("rect", {
        class: `part-${part}`,
        x: ((from / until) * WIDTH).toFixed(2),
        y,
        width: ((Math.min(length, until - from) / until) * WIDTH).toFixed(2),
        height: ROW,
        fill: `var(--part-${part})`,
      }),
    ];
  });
  return svg("g", { class: "row" }, svg("rect", { class: "hit", x: 0, y, width: WIDTH, height: ROW + GAP }), ...bars);
}

/** A request in words. */
function explain({ op, lba, response, parts }: Request): string {
  const spent = PARTS.filter(([part]) => (parts[part] ?? 0) >= 0.005)
    .map(([part]) => `${texts.parts[part]} ${quantity(parts[part]!, "ms")}`)
    .join(", ");
  return texts.request(op, lba.toLocaleString("en").replaceAll(",", "\u202f"), quantity(response, "ms"), spent);
}

/** The key of the colours that occur. */
function partsKey(requests: Request[]): HTMLElement {
  const met = (part: Part): boolean => requests.some(({ parts }) => (parts[part] ?? 0) >= 0.005);
  const items = PARTS.filter(([part]) => met(part)).map(([part]) =>
    el("li", {}, el("span", { class: "swatch", style: `background: var(--part-${part})` }), texts.parts[part]),
  );
  return el("ul", { class: "legend" }, ...items);
}
