// A drive seen from above at a moment: the arm, the sectors that pass, and the requests that wait, numbered in the order
// in which the arm takes them. The marks turn with the platter; their numbers stay upright.

import { el, svg } from "./dom";
import { count, counted, quantity } from "./format";
import { chip } from "./palette";
import { accesses, waitingAt, type Access, type Waiting, type Where } from "./queue";
import { at, current, ending, movements, requests, type Doing, type Movement, type Told } from "./stretch";

/** Radii of the picture. A 3.5-inch platter is recorded from about 46 to 21 mm (inferred: a 95 mm disc, a 25 mm hub). */
const OUTER = 92;
const INNER = 42;
const HUB = 24;
/** Where the head stands, in degrees from the top: the arm comes from the right. */
const HEAD = 0;
/** The arm's pivot, outside the platter. */
const PIVOT = { x: 112, y: -100 };
/** The sectors of so many movements before stay as a trail. */
const TRAIL = 8;
/** So many of those that wait have a number, those that the arm takes first; the others are dots. */
const NUMBERED = 8;

const DOING: Record<Doing, string> = {
  seek: "seeks",
  settle: "settles",
  rotation: "waits for the sector",
  transfer: "the sectors pass",
  rest: "rests",
};

/** What the arm is moved for: as a heading, and as an aim. */
export const ERRANDS: Record<string, { name: string; aim: string }> = {
  read: { name: "sectors read", aim: "to read" },
  write: { name: "sectors written while the request waits", aim: "to write" },
  destage: { name: "sectors written out of the buffer", aim: "to write out what the buffer holds" },
  home: { name: "sectors moved out of the media cache", aim: "to move data home" },
};

/** Where a request waits, as its mark's heading. */
export const WAITS: Record<Where, string> = {
  drive: "waits in the drive, which chooses among these",
  host: "waits in the host: the drive does not know it yet",
  held: "answered, but still in the buffer: to be written",
};

/** A drive of one side, with what changes in its picture. */
export interface Disc {
  told: Told;
  moves: Movement[];
  queue: Access[] | null;
  /** Draws the drive at a moment. */
  show: (time: number) => void;
  /** What it shows, as a sentence. */
  said: () => string;
  element: HTMLElement;
}

export function disc(told: Told, drive: number, lettered: boolean): Disc {
  const { side, stretch } = told;
  const platter = stretch.platters[drive]!;
  const revolution = platter.revolution_ns / 1e6;
  const moves = movements(stretch, drive);
  const queue = accesses(stretch, moves);
  const end = ending(stretch);
  const done = requests(stretch).map(({ due, response }) => due + response);
  const radius = (cylinder: number): number =>
    OUTER - ((OUTER - INNER) * cylinder) / Math.max(1, stretch.cylinders - 1);
  const marks = waitingMarks(radius);
  const turning = svg("g", {});
  const beam = svg("line", { class: "arm", x1: PIVOT.x, y1: PIVOT.y, x2: 0 });
  const head = svg("circle", { class: "head", r: 4 });
  const [status, waits, tally] = [el("p", { class: "status" }), el("p", { class: "waits" }), el("p", { class: "soft small" })];
  waits.hidden = queue === null;
  const box = el("div", { class: "disc-box" });
  const show = (clock: number): void => {
    const time = Math.min(clock, end);
    const index = current(moves, time);
    const waiting = queue === null ? null : waitingAt(queue, time);
    const turned = platter.turned + time / revolution;
    turning.replaceChildren(...scenery(), ...trail(moves, index, time, radius));
    turning.setAttribute("transform", `rotate(${(HEAD - turned * 360).toFixed(3)})`);
    marks.show(waiting ?? [], turned);
    const move = moves[index];
    const state = move ? at(move, turned, time) : { cylinder: moves[0]?.from ?? 0, doing: "rest" as const };
    const y = (-radius(state.cylinder)).toFixed(2);
    beam.setAttribute("y2", y);
    head.setAttribute("cy", y);
    head.setAttribute("class", `head ${state.doing}`);
    const over = clock > end;
    box.classList.toggle("over", over);
    status.textContent = over
      ? `done after ${quantity(end, "ms")}: the picture of this side ends here`
      : statusOf(moves, move, state.doing);
    waits.textContent = waiting === null || over ? "" : waitingWords(waiting);
    tally.textContent = tallyWords(done, moves, time);
  };
  box.append(
    ...(lettered ? [el("p", { class: "caption" }, chip(side), ` ${side.name}`)] : []),
    svg(
      "svg",
      { viewBox: "-104 -112 232 216", class: "disc", role: "img", "aria-label": `the drive of ${side.name} from above` },
      svg("circle", { class: "platter", r: 98 }),
      turning,
      svg("circle", { class: "spindle", r: 5 }),
      beam,
      svg("circle", { class: "pivot", cx: PIVOT.x, cy: PIVOT.y, r: 6 }),
      marks.element,
      head,
    ),
    tally,
    waits,
    status,
  );
  const said = (): string => {
    const words = [tally, waits, status].map(({ textContent }) => textContent).filter((text) => text !== "");
    return `${lettered ? `${side.letter}: ` : ""}${words.join("; ")}.`;
  };
  return { told, moves, queue, show, said, element: box };
}

/** What turns with the platter whatever is done: its edges and a mark. */
function scenery(): SVGElement[] {
  return [
    svg("circle", { class: "edge", r: OUTER }),
    svg("circle", { class: "edge", r: INNER }),
    svg("circle", { class: "hub", r: HUB }),
    svg("line", { class: "notch", x1: 0, y1: -HUB, x2: 0, y2: -HUB + 8 }),
  ];
}

/** The sectors of the movement in progress, and a faint trail of those before it. */
function trail(moves: Movement[], index: number, time: number, radius: (cylinder: number) => number): SVGElement[] {
  const shown = moves.slice(Math.max(0, index - TRAIL), index + 1);
  return shown.flatMap((move, place) => {
    const now = place === shown.length - 1 && time < move.end;
    const run = svg("path", {
      class: `run ${move.errand}`,
      d: arcOf(move, radius(move.to)),
      opacity: now ? 1 : (0.08 + (0.22 * place) / shown.length).toFixed(2),
      "stroke-width": now ? 6 : 2.5,
    });
    const { x, y } = placed(move.angle + move.arc / 2, radius(move.to));
    return now ? [run, svg("circle", { class: "target", cx: x.toFixed(2), cy: y.toFixed(2), r: 7.5 })] : [run];
  });
}

/** The sectors on their track; a short run is drawn as long as can be seen. */
function arcOf({ angle, arc }: Movement, radius: number): string {
  const turn = Math.min(0.999, Math.max(arc, 0.012));
  const point = (share: number): string => {
    const { x, y } = placed(share, radius);
    return `${x.toFixed(2)} ${y.toFixed(2)}`;
  };
  return `M${point(angle)}A${radius} ${radius} 0 ${turn > 0.5 ? 1 : 0} 1 ${point(angle + turn)}`;
}

/** A place on the platter; angles rise clockwise from the top. */
function placed(share: number, radius: number): { x: number; y: number } {
  const at = share * 2 * Math.PI;
  return { x: radius * Math.sin(at), y: -radius * Math.cos(at) };
}

/** The marks of what waits: dots, and numbers on those that come first. */
function waitingMarks(radius: (cylinder: number) => number): {
  element: SVGElement;
  show: (waiting: Waiting[], turned: number) => void;
} {
  const element = svg("g", {});
  const show = (waiting: Waiting[], turned: number): void => {
    const drawn = waiting.map((one) => {
      const { cylinder, angle } = one.access;
      return { one, ...placed(angle - turned, radius(cylinder)) };
    });
    // The first in turn lies on top.
    element.replaceChildren(...drawn.map(({ one, x, y }) => mark(one, x, y)).reverse());
  };
  return { element, show };
}

function mark({ where, turn }: Waiting, x: number, y: number): SVGElement {
  const place = { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})` };
  if (turn === null || turn > NUMBERED) return svg("circle", { class: `waiting ${where}`, r: 2.6, ...place });
  const next = turn === 1 ? " next" : "";
  const number = svg("text", { y: 3.1, "text-anchor": "middle" }, String(turn));
  return svg("g", { class: `waiting numbered ${where}${next}`, ...place }, svg("circle", { r: turn === 1 ? 7 : 5.6 }), number);
}

function statusOf(moves: Movement[], move: Movement | undefined, doing: Doing): string {
  if (moves.length === 0) return "nothing is to be moved: the buffer answers";
  if (move === undefined || doing === "rest") return DOING.rest;
  const where = doing === "seek" ? `${count(move.from)} to ${count(move.to)}` : count(move.to);
  return `${DOING[doing]} ${ERRANDS[move.errand]?.aim ?? ""}: cylinder ${where}, head ${move.head}`;
}

/** How many wait, where, and which comes next. */
export function waitingWords(waiting: Waiting[]): string {
  const of = (where: Where): number => waiting.filter((one) => one.where === where).length;
  const [drive, host, held] = [of("drive"), of("host"), of("held")];
  const where = host === 0 ? "in the drive" : drive === 0 ? "in the host" : `${count(drive)} in the drive, ${count(host)} in the host`;
  const waits = drive + host === 0 ? "nothing waits" : `${count(drive + host)} ${drive + host === 1 ? "waits" : "wait"}: ${where}`;
  const kept = held === 0 ? "" : `; ${counted(held, "write")} in the buffer`;
  const first = waiting[0];
  const next = first?.turn === 1 ? `; next: cylinder ${count(first.access.cylinder)}` : "";
  return `${waits}${kept}${next}`;
}

/** How many requests are done, and how long the arm took for each of its movements, on average so far. */
function tallyWords(done: number[], moves: Movement[], time: number): string {
  const finished = done.filter((end) => end <= time).length;
  const words = `${count(finished)} of ${counted(done.length, "request")} done`;
  const ended = moves.filter(({ start, end }) => start >= 0 && end <= time);
  if (ended.length === 0) return words;
  const mean = (span: (move: Movement) => number): string =>
    quantity(ended.reduce((sum, move) => sum + span(move), 0) / ended.length, "ms");
  const seek = mean(({ start, arrived }) => arrived - start);
  const sectors = mean(({ arrived, end }) => end - arrived);
  return ended.length === 1
    ? `${words}; the arm moved ${seek}, then the sectors took ${sectors}`
    : `${words}; on average the arm moves ${seek}, then the sectors take ${sectors}`;
}
