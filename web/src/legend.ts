// The legend of drawn drives: the marks and colours that occur in them, and what each stands for. `disc` draws the drives.

import { ERRANDS, WAITS, type Disc } from "./disc";
import { el, svg } from "./dom";
import { waitingAt, type Where } from "./queue";
import type { Movement } from "./stretch";

/** What the marks and the colours of the sectors stand for; those that occur. */
export function legend(discs: Disc[]): HTMLElement {
  const waits = new Set(discs.flatMap(({ queue, moves }) => occurring(queue ?? [], moves)));
  const met = new Set(discs.flatMap(({ moves }) => moves.map(({ errand }) => errand)));
  const marks = (Object.keys(WAITS) as Where[])
    .filter((where) => waits.has(where))
    .map((where) => el("li", {}, dot(`waiting ${where}`), WAITS[where]));
  const numbers = marks.length === 0 ? [] : [el("li", {}, el("span", { class: "turn", "aria-hidden": "true" }, "1"), "next; 2, 3 … after it")];
  const served = el("li", {}, dot("target"), "served now");
  const errands = Object.entries(ERRANDS)
    .filter(([errand]) => met.has(errand))
    .map(([errand, { name }]) => el("li", {}, el("span", { class: `swatch errand-${errand}` }), name));
  return el("ul", { class: "legend errands" }, served, ...numbers, ...marks, ...errands);
}

/** Where something waits at the beginning of any movement. */
function occurring(queue: NonNullable<Disc["queue"]>, moves: Movement[]): Where[] {
  return moves.flatMap(({ start }) => waitingAt(queue, start).map(({ where }) => where));
}

function dot(mark: string): SVGElement {
  return svg("svg", { viewBox: "-4 -4 8 8", class: "dot", "aria-hidden": "true" }, svg("circle", { class: mark, r: 2.8 }));
}
