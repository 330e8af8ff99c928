// The moving drives of a page, all on one clock that is played at a speed of the reader's choice, and scrubbed both ways.
// `disc` draws each drive from the model's own instants.

import { press } from "../controls";
import { disc, type Disc } from "../disc";
import { el } from "../dom";
import { count } from "../format";
import { legend } from "../legend";
import { ending, type Told } from "../stretch";
import { player as texts } from "./texts";

/** How many times slower than the drive, by the slider's place: powers of ten between whole numbers. */
const SLOWEST = 4;
const OPENING = 2;
/** What is shown is read out once it stands still for so many milliseconds, and never while it plays. */
const SETTLED = 400;

export interface Player {
  element: HTMLElement;
  /** Draws other stretches; the clock begins anew at `from`, and runs if it ran. */
  load: (stretches: Told[], from?: number) => void;
  /** Takes the clock to an instant, in milliseconds. */
  go: (ms: number) => void;
}

/** A player; `shown` is called at each instant that is drawn. */
export function player(shown: (ms: number) => void = () => undefined): Player {
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;
  let discs: Disc[] = [];
  let [length, first, time, frame, before, settling] = [0, 0, 0, 0, 0, 0];
  const row = el("div", { class: "discs" });
  const marks = el("div", {});
  const voice = el("p", { class: "unseen", "aria-live": "polite" });
  const words = el("output", {});
  const range = el("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": texts.instant });
  const speed = el("input", { type: "range", min: 0, max: SLOWEST, step: 0.1, value: OPENING, "aria-label": texts.speed });
  const pace = el("output", {});
  const slower = (): number => 10 ** Number(speed.value);
  const draw = (ms: number): void => {
    time = Math.min(Math.max(0, ms), length);
    range.value = String(time);
    words.textContent = `${time.toFixed(2)} ms`;
    range.setAttribute("aria-valuetext", words.textContent);
    discs.forEach((one) => one.show(time));
    shown(time);
  };
  const readOut = (): void => {
    clearTimeout(settling);
    settling = window.setTimeout(() => {
      if (frame === 0) voice.textContent = discs.map((one) => one.said()).join(" ");
    }, SETTLED);
  };
  const play = press(texts.play, texts.playLabel, () => (frame === 0 ? start() : stop()));
  const stop = (): void => {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = texts.play;
    readOut();
  };
  const turn = (present: number): void => {
    draw(time + (present - before) / slower());
    before = present;
    // It begins again, so that a stranger who looks up sees it move.
    if (time >= length) draw(first);
    frame = row.isConnected ? requestAnimationFrame(turn) : 0;
  };
  const start = (): void => {
    if (length === 0) return;
    before = performance.now();
    play.textContent = texts.pause;
    frame = requestAnimationFrame(turn);
  };
  range.addEventListener("input", () => {
    stop();
    draw(Number(range.value));
  });
  const showPace = (): void => {
    const times = slower();
    pace.textContent = times < 1.05 ? texts.asItWas : texts.slower(count(Number(times.toPrecision(2))));
    speed.setAttribute("aria-valuetext", pace.textContent);
  };
  speed.addEventListener("input", showPace);
  showPace();
  const load = (stretches: Told[], from = 0): void => {
    const runs = frame !== 0 || (!still && discs.length === 0);
    stop();
    discs = stretches.map((one) => disc(one, 0, stretches.length > 1));
    length = Math.max(...stretches.map(({ stretch }) => ending(stretch)));
    range.max = String(length);
    row.replaceChildren(...discs.map(({ element }) => element));
    marks.replaceChildren(legend(discs));
    first = from;
    draw(first);
    if (runs) start();
  };
  const bar = el(
    "div",
    { class: "controls clock" },
    ...(still ? [] : [play]),
    el("label", { class: "slider" }, el("span", {}, texts.instant), range, words),
    ...(still ? [] : [el("label", { class: "slider" }, el("span", {}, texts.speed), speed, pace)]),
  );
  const go = (ms: number): void => {
    stop();
    draw(ms);
  };
  return { element: el("div", { class: "player" }, row, bar, marks, voice), load, go };
}
