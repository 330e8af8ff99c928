// A figure: its controls, what it holds fixed, its key and its chart, kept in step with the reader's choice, and to be
// had as CSV and PNG.

import { chart, type Draw, type Hands } from "./chart";
import type { Choice } from "./choice";
import { keepFocus, legend } from "./controls";
import type { Table } from "./csv";
import { el, section, type Child } from "./dom";
import { csvButton, files, pngButton } from "./download";

export interface Figure {
  id: string;
  heading: string;
  lead: string;
  /** The sides that are told apart, with their letters; left out, those of the choice. */
  key?: () => HTMLElement | null;
  controls: () => (HTMLElement | null)[];
  /** What is shown, in words; stands above the chart also in print, where there are no controls. */
  caption: () => string;
  draw: Draw;
  hands?: Hands;
  /** The figures that the chart draws. */
  table: () => Table;
  /** More to show below the chart, made anew at each change. */
  below?: () => Child;
}

/** The section of a figure. */
export function figure(choice: Choice, parts: Figure): HTMLElement {
  const { id, heading, lead, controls, caption, draw, below, table, hands, key: keyOf = () => legend(choice) } = parts;
  const { element, redraw } = chart(draw, hands);
  const bar = el("div", { class: "controls" });
  const key = el("div", { class: "key" });
  const words = el("p", { class: "caption", "aria-live": "polite" });
  const drawn = el("div", { class: "drawn" }, el("figcaption", {}, words), key, element);
  const after = el("div", { class: "below" });
  const sides = (): string =>
    [...key.querySelectorAll("li")]
      .map(spoken)
      .filter((words) => words !== "")
      .join(" · ");
  const above = (): string[] => [heading, caption(), sides()].filter((line) => line !== "");
  const saves = files(csvButton(id, table), pngButton(id, element, above));
  const fill = (): void => {
    keepFocus(bar, () => bar.replaceChildren(...present(controls())));
    keepFocus(key, () => key.replaceChildren(...present([keyOf()])));
    words.textContent = caption();
    after.replaceChildren(below?.() ?? "");
  };
  fill();
  choice.watch(() => {
    fill();
    redraw();
  });
  return section(id, heading, lead, el("figure", {}, bar, drawn, saves, after));
}

/** A line of a key: the letter, then the name; nothing where it is hidden. */
function spoken(item: HTMLElement): string {
  const hidden = item.querySelector<HTMLInputElement>("input:not(:checked)") !== null;
  return hidden ? "" : [...item.querySelectorAll("span")].map(({ textContent }) => textContent).join(" ");
}

function present(children: (HTMLElement | null)[]): HTMLElement[] {
  return children.filter((child) => child !== null);
}

/** A sentence starts with a capital. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
