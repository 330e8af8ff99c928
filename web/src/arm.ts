// The picture that moves: both sides on one clock; and the arm's whole way as a line below, which is what is printed. Only
// what the model told is drawn: what waited, when a movement began, when the arm had arrived, when the sectors passed.
// Requests that the buffer answered move nothing. `disc` draws a drive.

import { reveal } from "./address";
import { press, select } from "./controls";
import type { Choice } from "./choice";
import type { Table } from "./csv";
import { disc, type Disc } from "./disc";
import { el, section, svg } from "./dom";
import { csvButton, files, pngButton } from "./download";
import { count, number, quantity } from "./format";
import { legend } from "./legend";
import { chip } from "./palette";
import { changes, sharedBeginning } from "./queue";
import { ending, type Movement, type Told } from "./stretch";

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

/** A clock that stands still for so long is put into the address, in milliseconds of the reader. */
const STANDS = 400;
/** While it runs, what waits is read out no more often than this. */
const READ_OUT = 3000;
/** Changes that lie closer than this are one step. */
const STEP = 0.02;

/** The drive and the line of one side. */
interface Drawn extends Disc {
  line: HTMLElement;
  /** Moves the mark on the line. */
  point: (time: number) => void;
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
  let discs: Drawn[] = [];
  const voice = voiceOf(() => discs.map(({ said }) => said()).join(" "));
  const draw = (time: number): void => {
    for (const one of discs) {
      one.show(time);
      one.point(time);
    }
  };
  const clock = clockOf(length, (time, running) => {
    draw(time);
    voice.changed(running);
    if (!running) keep(time);
  });
  const stage: Stage = { length, go: clock.go, lettered: stretches.length > 1 };
  const { keep, restore } = momentOf(choice, clock);
  const row = el("div", { class: "discs" });
  const lines = el("div", { class: "ways" });
  const bar = el("div", { class: "controls" });
  const fill = (): void => {
    discs = stretches.map((told) => drawn(told, Math.min(wanted(), told.stretch.platters.length - 1), stage));
    row.replaceChildren(...discs.map(({ element }) => element));
    lines.replaceChildren(...discs.map(({ line }) => line));
    bar.replaceChildren(...controls(choice, clock, () => discs, drives, wanted()));
    draw(clock.now());
  };
  let shown = wanted();
  fill();
  choice.watch(() => {
    if (wanted() !== shown) fill();
    shown = wanted();
    restore();
  });
  const words = () => [
    `The arm's way: cylinder against time, ${quantity(length, "ms")}`,
    ...stretches.map(({ side }) => `${side.letter} ${side.name}`),
  ];
  const saves = files(
    csvButton("arm", () => table(discs)),
    pngButton("arm", lines, words),
  );
  const figure = el("figure", {}, bar, clock.slider, legend(discs), row, voice.element,
    el("figcaption", { class: "caption" }, caption(stretches)), lines, saves);
  const element = section("arm", "The arm at work", lead(stretches, discs), figure);
  // Opened, it moves; a link to a moment shows that moment.
  element.addEventListener("toggle", () => clock.now() === 0 && !still() && clock.play.click(), { once: true });
  const jump = (ms: number): void => {
    clock.stop();
    clock.go(ms);
    reveal(element);
    element.scrollIntoView();
  };
  return { element, jump };
}

function drawn(told: Told, drive: number, stage: Stage): Drawn {
  const one = disc(told, drive, stage.lettered);
  const way = wayOf(told, one.moves, stage);
  return { ...one, line: way.element, point: way.mark };
}

function lead(stretches: Told[], discs: Disc[]): string {
  const first = stretches[0]!.stretch;
  const many = `${count(first.requests.lba.length)} ${first.counted ? "counted " : ""}requests`;
  return (
    `A drive seen from above while it serves the first ${many} of one run: the arm moves in and out to a track, the ` +
    `platter brings the sectors round.${waits(stretches, discs)}${together(stretches, discs)}`
  );
}

/** How requests that wait are drawn, or why they are not. */
function waits(stretches: Told[], discs: Disc[]): string {
  const unknown = discs.filter(({ queue }) => queue === null);
  const drawn = " Requests that wait are marked where they lie, with numbers in the order in which the arm will take them.";
  if (unknown.length === 0) return drawn;
  if (unknown.length < discs.length) return `${drawn} Of ${unknown.map(({ told: { side } }) => side.letter).join(", ")} they are not drawn.`;
  const why = stretches.some(({ stretch }) => stretch.platters.length > 1)
    ? "which drive serves each is the array's choice"
    : "a media cache moves them, or there are too many";
  return ` Requests that wait are not drawn: ${why}.`;
}

/** What both sides have in common when the clock begins. */
function together(stretches: Told[], discs: Disc[]): string {
  if (stretches.length < 2) return "";
  if (new Set(stretches.map(({ stretch }) => stretch.begin_ns)).size > 1)
    return " The clock of each side begins with its own first request.";
  const shared = sharedBeginning(discs.map(({ queue }) => queue));
  const alike = shared === null ? "" : ` and begin with the same ${shared === 1 ? "request" : `${count(shared)} requests`}`;
  return ` Both sides run on one clock${alike}.`;
}

function caption(stretches: Told[]): string {
  const each = stretches.length > 1 ? " of each side" : "";
  return `The way of the arm${each}: time to the right, inwards to the bottom. A steep line is an arm that crosses the disc.`;
}

/** Puts a moment at which the clock stands into the address, and follows the address to its moment. */
function momentOf(choice: Choice, clock: Clock): { keep: (time: number) => void; restore: () => void } {
  let kept = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const rounded = (time: number): number => Math.round(time * 1000) / 1000;
  const keep = (time: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (rounded(time) === kept) return;
      kept = rounded(time);
      choice.set("arm.t", kept === 0 ? null : String(kept));
    }, STANDS);
  };
  const restore = (): void => {
    const time = Math.max(0, Number(choice.option("arm.t", "0")) || 0);
    if (time === kept) return;
    kept = time;
    clock.stop();
    clock.go(time);
  };
  return { keep, restore };
}

/** Reads out what is shown: once the clock stands, and from time to time while it runs. */
function voiceOf(words: () => string): { element: HTMLElement; changed: (running: boolean) => void } {
  const element = el("p", { class: "read-out", "aria-live": "polite" });
  let last = 0;
  const changed = (running: boolean): void => {
    const present = performance.now();
    if (running && present - last < READ_OUT) return;
    last = present;
    element.textContent = words();
  };
  return { element, changed };
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
function clockOf(length: number, show: (time: number, running: boolean) => void): Clock {
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
    show(time, frame !== 0);
  };
  words.textContent = "0.0 ms";
  const play = press("▶ Play", "play or pause", () => (frame === 0 ? start() : stop()));
  const stop = (): void => {
    if (frame === 0) return;
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "▶ Play";
    go(time);
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

/** The instants at which something changes, each once. */
function instantsOf(discs: Disc[]): number[] {
  const all = discs.flatMap(({ moves, queue, told: { stretch } }) => {
    const end = ending(stretch);
    const own = moves.flatMap(({ start, arrived, ready, end: over }) => [start, arrived, ready, over]);
    return [...own, ...changes(queue ?? [])].filter((time) => time > 0 && time <= end);
  });
  all.sort((a, b) => a - b);
  return all.filter((time, place) => place === 0 || time - all[place - 1]! > STEP);
}

/** Whether the reader asked for no motion. */
function still(): boolean {
  return window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;
}

function controls(choice: Choice, clock: Clock, discs: () => Drawn[], drives: number, drive: number): HTMLElement[] {
  const step = (words: string, label: string, to: (times: number[], now: number) => number | undefined): HTMLElement =>
    press(words, label, () => {
      clock.stop();
      const next = to(instantsOf(discs()), clock.now());
      if (next !== undefined && Number.isFinite(next)) clock.go(next);
    });
  const after = (times: number[], now: number): number => Math.min(...times.filter((time) => time > now + 1e-6));
  const before = (times: number[], now: number): number => Math.max(0, ...times.filter((time) => time < now - 1e-6));
  const speeds = SPEEDS.map(([value, text]) => ({ value: String(value), text }));
  const all = Array.from({ length: drives }, (_, index) => ({ value: String(index), text: String(index + 1) }));
  return [
    ...(still() ? [] : [clock.play]),
    step("◂ Step", "back to where something changed", before),
    step("Step ▸", "on to where something changes", after),
    ...(still()
      ? []
      : [select("speed", speeds, String(clock.speed.value), (value) => (clock.speed.value = Number(value)))]),
    ...(drives > 1
      ? [select("drive", all, String(drive), (value) => choice.set("arm.drive", value === "0" ? null : value))]
      : []),
  ];
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
