// A closer look at a part of a chart's horizontal axis: by buttons, by Ctrl and the wheel, or by dragging.

import type { Choice } from "./choice";
import { press } from "./controls";
import { el } from "./dom";

/** How much nearer one press goes. */
const STEP = 2;

/** The percents of the axis that are shown. */
export interface Part {
  start: number;
  end: number;
}

export function partOf(choice: Choice, figure: string): Part {
  const [start = NaN, end = NaN] = choice.option(`${figure}.zoom`, "0-100").split("-").map(Number);
  return start >= 0 && start < end && end <= 100 ? { start, end } : { start: 0, end: 100 };
}

export function show(choice: Choice, figure: string, { start, end }: Part): void {
  const [from, to] = [Math.max(0, start), Math.min(100, end)].map((percent) => Number(percent.toFixed(2)));
  choice.set(`${figure}.zoom`, from === 0 && to === 100 ? null : `${from}-${to}`);
}

/** What the chart is told. Dragging would keep a finger from scrolling the page, so narrow screens have the buttons. */
export function zoomed(choice: Choice, figure: string, narrow: boolean): object {
  const hands = { zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, moveOnMouseWheel: false };
  return [{ type: "inside", xAxisIndex: 0, filterMode: "none", disabled: narrow, ...hands, ...partOf(choice, figure) }];
}

export function zoomControls(choice: Choice, figure: string): HTMLElement {
  const part = partOf(choice, figure);
  const middle = (part.start + part.end) / 2;
  const half = (part.end - part.start) / 2;
  const around = (at: number, reach: number): Part => {
    const centre = Math.min(Math.max(at, reach), 100 - reach);
    return { start: centre - reach, end: centre + reach };
  };
  const button = (words: string, label: string, to: Part): HTMLElement =>
    press(words, label, () => show(choice, figure, to));
  const whole = half === 50;
  const buttons = [
    button("+", "closer", around(middle, half / STEP)),
    ...(whole
      ? []
      : [
          button("−", "farther", around(middle, Math.min(50, half * STEP))),
          button("◂", "to the left", around(middle - half, half)),
          button("▸", "to the right", around(middle + half, half)),
          button("whole", "the whole axis", { start: 0, end: 100 }),
        ]),
  ];
  return el("div", { class: "zoom", role: "group", "aria-label": "zoom" }, ...buttons);
}
