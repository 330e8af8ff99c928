// The picture that moves: a drive seen from above, the platter turning under the arm, both sides on one clock; and the
// arm's whole way as a line below, which is what is printed. Only what the model told is drawn: when a movement began,
// when the arm had arrived, when the sectors passed. Requests that the buffer answered move nothing.

import { press, select } from "./controls";
import type { Choice } from "./choice";
import type { Table } from "./csv";
import { el, section, svg } from "./dom";
import { csvButton, files, pngButton } from "./download";
import { count, counted, number, quantity } from "./format";
import { chip } from "./palette";
import { at, current, ending, movements, requests, type Doing, type Movement, type Told } from "./stretch";

/** Radii of the picture. A 3.5-inch platter is recorded from about 46 to 21 mm (inferred: a 95 mm disc, a 25 mm hub). */
const OUTER = 92;
const INNER = 42;
const HUB = 24;
/** Where the head stands, in degrees from the top: the arm comes from the right. */
const HEAD = 0;
/** The arm's pivot, outside the platter. */
const PIVOT = { x: 112, y: -100 };
/** Tracks that were visited are shown for so many movements. */
const TRAIL = 40;
/** The line of the arm's way: its own units, stretched to the width. */
const LINE = { width: 1000, height: 120 };
/** Kept free above and below it. */
const EDGE = 4;

const SPEEDS: [number, string][] = [
  [1 / 200, "200 times slower"],
  [1 / 50, "50 times slower"],
  [1 / 10, "10 times slower"],
  [1, "as it was"],
];

const DOING: Record<Doing, string> = {
  seek: "seeks",
  settle: "settles",
  rotation: "waits for the sector",
  transfer: "the sectors pass",
  rest: "rests",
};

/** What the arm is moved for: as a heading, and as an aim. */
const ERRANDS: Record<string, { name: string; aim: string }> = {
  read: { name: "sectors read", aim: "to read" },
  write: { name: "sectors written while the request waits", aim: "to write" },
  destage: { name: "sectors written out of the buffer", aim: "to write out what the buffer holds" },
  home: { name: "sectors moved out of the media cache", aim: "to move data home" },
};

/** A drive of one side, with what changes in its picture. */
interface Disc {
  told: Told;
  moves: Movement[];
  /** When each request was done, rising. */
  done: number[];
  show: (time: number) => void;
  element: HTMLElement;
  line: HTMLElement;
}

/** What both sides share: how long it all is, what takes the clock to a moment, and whether sides are told apart. */
interface Stage {
  length: number;
  go: (ms: number) => void;
  lettered: boolean;
}

/** The section, and what takes its clock to a moment. */
export function arm(choice: Choice, stretches: Told[]): { element: HTMLElement; jump: (ms: number) => void } {
  const drives = Math.max(...stretches.map(({ stretch }) => stretch.platters.length));
  const wanted = (): number => Math.min(drives - 1, Number(choice.option("arm.drive", "0")) || 0);
  const length = Math.max(...stretches.map(({ stretch }) => ending(stretch)));
  const clock = clockOf(length, (time) => discs.forEach((disc) => disc.show(time)));
  const stage: Stage = { length, go: clock.go, lettered: stretches.length > 1 };
  let discs: Disc[] = [];
  const row = el("div", { class: "discs" });
  const lines = el("div", { class: "ways" });
  const bar = el("div", { class: "controls" });
  const fill = (): void => {
    discs = stretches.map((told) => discOf(told, Math.min(wanted(), told.stretch.platters.length - 1), stage));
    row.replaceChildren(...discs.map(({ element }) => element));
    lines.replaceChildren(...discs.map(({ line }) => line));
    bar.replaceChildren(...controls(choice, clock, () => discs, drives, wanted()));
    clock.go(clock.now());
  };
  let drawn = wanted();
  choice.watch(() => {
    if (wanted() !== drawn) fill();
    drawn = wanted();
  });
  fill();
  const words = () => [
    `The arm's way: cylinder against time, ${quantity(length, "ms")}`,
    ...stretches.map(({ side }) => `${side.letter} ${side.name}`),
  ];
  const saves = files(
    csvButton("arm", () => table(discs)),
    pngButton("arm", lines, words),
  );
  const element = section(
    "arm",
    "The arm at work",
    lead(stretches),
    el(
      "figure",
      {},
      bar,
      clock.slider,
      row,
      errands(discs),
      el("figcaption", { class: "caption" }, caption(stretches)),
      lines,
      saves,
    ),
  );
  const jump = (ms: number): void => {
    clock.stop();
    clock.go(ms);
    element.scrollIntoView();
  };
  return { element, jump };
}

/** What the colours of the sectors stand for; those that occur. */
function errands(discs: Disc[]): HTMLElement {
  const met = new Set(discs.flatMap(({ moves }) => moves.map(({ errand }) => errand)));
  const items = Object.entries(ERRANDS).filter(([errand]) => met.has(errand));
  const drawn = items.map(([errand, { name }]) => el("li", {}, el("span", { class: `swatch errand-${errand}` }), name));
  return el("ul", { class: "legend errands" }, ...drawn);
}

function lead(stretches: Told[]): string {
  const many = count(stretches[0]!.stretch.requests.lba.length);
  const both = stretches.length > 1 ? " Both sides run on one clock." : "";
  return (
    `A drive seen from above while it serves the first ${many} counted requests of one run: the arm goes to a track, ` +
    `the platter brings the sectors round. What the buffer answers moves nothing.${both}`
  );
}

function caption(stretches: Told[]): string {
  const each = stretches.length > 1 ? " of each side" : "";
  return `The way of the arm${each}: time to the right, inwards to the bottom.`;
}

interface Clock {
  now: () => number;
  go: (ms: number) => void;
  stop: () => void;
  play: HTMLButtonElement;
  slider: HTMLElement;
  speed: { value: number };
}

/** One clock for all sides. Whoever asked for no motion has no play button, only steps and the slider. */
function clockOf(length: number, show: (time: number) => void): Clock {
  let time = 0;
  let frame = 0;
  let before = 0;
  const speed = { value: 1 / 50 };
  const range = el("input", { type: "range", min: 0, max: length, step: "any", value: 0, "aria-label": "moment, ms" });
  const words = el("output", {});
  const go = (ms: number): void => {
    time = Math.min(Math.max(0, ms), length);
    range.value = String(time);
    words.textContent = `${time.toFixed(1)} ms`;
    show(time);
  };
  const play = press("▶ Play", "play or pause", () => (frame === 0 ? start() : stop()));
  const stop = (): void => {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "▶ Play";
  };
  const start = (): void => {
    if (time >= length) go(0);
    before = performance.now();
    play.textContent = "❚❚ Pause";
    const turn = (present: number): void => {
      go(time + (present - before) * speed.value);
      before = present;
      if (time >= length) stop();
      else frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
  };
  range.addEventListener("input", () => {
    stop();
    go(Number(range.value));
  });
  const slider = el("div", { class: "clock" }, range, words);
  return { now: () => time, go, stop, play, slider, speed };
}

function controls(choice: Choice, clock: Clock, discs: () => Disc[], drives: number, drive: number): HTMLElement[] {
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;
  const instants = (): number[] =>
    discs().flatMap(({ moves }) => moves.flatMap(({ start, arrived, ready, end }) => [start, arrived, ready, end]));
  const step = (words: string, label: string, to: (times: number[], now: number) => number | undefined): HTMLElement =>
    press(words, label, () => {
      clock.stop();
      const next = to(instants(), clock.now());
      if (next !== undefined) clock.go(next);
    });
  const after = (times: number[], now: number): number => Math.min(...times.filter((time) => time > now + 1e-6));
  const before = (times: number[], now: number): number => Math.max(0, ...times.filter((time) => time < now - 1e-6));
  const speeds = SPEEDS.map(([value, text]) => ({ value: String(value), text }));
  const all = Array.from({ length: drives }, (_, index) => ({ value: String(index), text: String(index + 1) }));
  return [
    ...(still ? [] : [clock.play]),
    step("◂ Step", "back to where something changed", before),
    step("Step ▸", "on to where something changes", after),
    ...(still
      ? []
      : [select("speed", speeds, String(clock.speed.value), (value) => (clock.speed.value = Number(value)))]),
    ...(drives > 1
      ? [select("drive", all, String(drive), (value) => choice.set("arm.drive", value === "0" ? null : value))]
      : []),
  ];
}

function discOf(told: Told, drive: number, { length, go, lettered }: Stage): Disc {
  const { side, stretch } = told;
  const platter = stretch.platters[drive]!;
  const revolution = platter.revolution_ns / 1e6;
  const moves = movements(stretch, drive);
  const done = requests(stretch)
    .map(({ due, response }) => due + response)
    .sort((a, b) => a - b);
  const radius = (cylinder: number): number =>
    OUTER - ((OUTER - INNER) * cylinder) / Math.max(1, stretch.cylinders - 1);
  const turning = svg("g", {});
  const beam = svg("line", { class: "arm" });
  const head = svg("circle", { class: "head", r: 4 });
  const status = el("p", { class: "status" });
  const tally = el("p", { class: "soft small" });
  let drawn = NaN;
  const way = wayOf(told, moves, { length, go, lettered });
  const show = (time: number): void => {
    const index = current(moves, time);
    if (index !== drawn) turning.replaceChildren(...scenery(), ...marks(moves, index, radius));
    drawn = index;
    const turned = platter.turned + time / revolution;
    turning.setAttribute("transform", `rotate(${(HEAD - turned * 360).toFixed(3)})`);
    const move = moves[index];
    const state = move ? at(move, turned, time) : { cylinder: moves[0]?.from ?? 0, doing: "rest" as const };
    const y = -radius(state.cylinder);
    for (const [name, value] of [
      ["x1", PIVOT.x],
      ["y1", PIVOT.y],
      ["x2", 0],
      ["y2", y],
    ] as const)
      beam.setAttribute(name, value.toFixed(2));
    head.setAttribute("cy", y.toFixed(2));
    head.setAttribute("class", `head ${state.doing}`);
    status.textContent =
      moves.length === 0 ? "nothing is to be moved: the buffer answers" : statusOf(move, state.doing);
    const finished = done.filter((end) => end <= time).length;
    tally.textContent = `${count(finished)} of ${counted(done.length, "request")} done`;
    way.mark(time);
  };
  const picture = svg(
    "svg",
    { viewBox: "-104 -112 232 216", class: "disc", role: "img", "aria-label": `the drive of ${side.name} from above` },
    svg("circle", { class: "platter", r: 98 }),
    turning,
    svg("circle", { class: "spindle", r: 5 }),
    beam,
    svg("circle", { class: "pivot", cx: PIVOT.x, cy: PIVOT.y, r: 6 }),
    head,
  );
  const name = lettered ? el("p", { class: "caption" }, chip(side), ` ${side.name}`) : null;
  return {
    told,
    moves,
    done,
    show,
    element: el("div", { class: "disc-box" }, name, picture, status, tally),
    line: way.element,
  };
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

/** The sectors of the movement in progress, and of those before it. */
function marks(moves: Movement[], index: number, radius: (cylinder: number) => number): SVGElement[] {
  const shown = moves.slice(Math.max(0, index - TRAIL), index + 1);
  return shown.map((move, place) => {
    const last = place === shown.length - 1;
    const opacity = last ? 1 : 0.15 + (0.45 * place) / shown.length;
    return svg("path", {
      class: `run ${move.errand}`,
      d: arcOf(move, radius(move.to)),
      opacity,
      "stroke-width": last ? 5 : 2.5,
    });
  });
}

/** The sectors on their track; a short run is drawn as long as can be seen. */
function arcOf({ angle, arc }: Movement, radius: number): string {
  const turn = Math.min(0.999, Math.max(arc, 0.012));
  const point = (share: number): string => {
    const at = share * 2 * Math.PI;
    return `${(radius * Math.sin(at)).toFixed(2)} ${(-radius * Math.cos(at)).toFixed(2)}`;
  };
  return `M${point(angle)}A${radius} ${radius} 0 ${turn > 0.5 ? 1 : 0} 1 ${point(angle + turn)}`;
}

function statusOf(move: Movement | undefined, doing: Doing): string {
  if (move === undefined || doing === "rest") return DOING.rest;
  const where = doing === "seek" ? `${count(move.from)} to ${count(move.to)}` : count(move.to);
  return `${DOING[doing]} ${ERRANDS[move.errand]?.aim ?? ""}: cylinder ${where}, head ${move.head}`;
}

/** The arm's whole way, with a mark at the clock's moment; a press on it goes there. */
function wayOf(
  { side, stretch }: Told,
  moves: Movement[],
  { length, go, lettered }: Stage,
): { element: HTMLElement; mark: (time: number) => void } {
  const { width, height } = LINE;
  const px = (time: number): string => ((Math.min(time, length) / length) * width).toFixed(1);
  const py = (cylinder: number): string =>
    (EDGE + (cylinder / Math.max(1, stretch.cylinders - 1)) * (height - 2 * EDGE)).toFixed(1);
  const path = moves.map(({ start, arrived, end, from, to }, index) => {
    const first = index === 0 ? "M" : "L";
    return `${first}${px(start)} ${py(from)}L${px(arrived)} ${py(to)}L${px(end)} ${py(to)}`;
  });
  const cursor = svg("line", { class: "cursor", y1: 0, y2: height });
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      class: "way",
      role: "img",
      "aria-label": `the way of the arm of ${side.name}: cylinder against time`,
    },
    svg("rect", {
      class: "ground",
      width,
      height,
      fill: "var(--raised)",
      stroke: "var(--rule)",
      "vector-effect": "non-scaling-stroke",
    }),
    svg("path", {
      d: path.join(""),
      fill: "none",
      stroke: `var(--side-${side.index % 7})`,
      "stroke-width": 1.2,
      "stroke-linejoin": "round",
      "vector-effect": "non-scaling-stroke",
    }),
    cursor,
  );
  drawing.addEventListener("click", (event) => {
    const box = drawing.getBoundingClientRect();
    go((((event as MouseEvent).clientX - box.left) / box.width) * length);
  });
  const ends = el("div", { class: "ends soft small" }, el("span", {}, "0 ms"), el("span", {}, `${number(length)} ms`));
  const element = el(
    "div",
    { class: "way-box" },
    lettered ? el("p", { class: "small" }, chip(side), ` ${side.name}`) : null,
    drawing,
    ends,
  );
  const mark = (time: number): void => {
    cursor.setAttribute("x1", px(time));
    cursor.setAttribute("x2", px(time));
  };
  return { element, mark };
}

function table(discs: Disc[]): Table {
  const head = ["side", "drive", "errand", "sector", "sectors", "from cylinder", "to cylinder", "head", "starts, ms"];
  const rows = discs.flatMap(({ told: { side }, moves }) =>
    moves.map((move) => {
      const { drive, errand, lba, sectors, from, to, start, arrived, ready, passed, end } = move;
      return [side.name, drive + 1, errand, lba, sectors, from, to, move.head, start, arrived, ready, passed, end];
    }),
  );
  return { head: [...head, "has arrived, ms", "is ready, ms", "sectors have passed, ms", "over, ms"], rows };
}
