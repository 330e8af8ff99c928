// A figure: its controls, what it holds fixed, its key and its chart, kept in step with the reader's choice.

import { chart, type Draw } from "./chart";
import type { Choice } from "./choice";
import { legend } from "./controls";
import { el, section, type Child } from "./dom";

export interface Figure {
  id: string;
  heading: string;
  lead: string;
  /** Whether sides are told apart, so that a key is needed. */
  keyed?: () => boolean;
  controls: () => (HTMLElement | null)[];
  /** What is shown, in words; stands above the chart also in print, where there are no controls. */
  caption: () => string;
  draw: Draw;
  /** More to show below the chart, made anew at each change. */
  below?: () => Child;
}

/** The section of a figure. */
export function figure(choice: Choice, parts: Figure): HTMLElement {
  const { id, heading, lead, controls, caption, draw, below, keyed = () => true } = parts;
  const { element, redraw } = chart(draw);
  const bar = el("div", { class: "controls" });
  const key = el("div", { class: "key" });
  const words = el("p", { class: "caption", "aria-live": "polite" });
  const drawn = el("div", { class: "drawn" }, el("figcaption", {}, words), key, element);
  const after = el("div", { class: "below" });
  const fill = (): void => {
    keepFocus(bar, () => bar.replaceChildren(...present(controls())));
    keepFocus(key, () => key.replaceChildren(...present([keyed() ? legend(choice) : null])));
    words.textContent = caption();
    after.replaceChildren(below?.() ?? "");
  };
  fill();
  choice.watch(() => {
    fill();
    redraw();
  });
  return section(id, heading, lead, el("figure", {}, bar, drawn, after));
}

function present(children: (HTMLElement | null)[]): HTMLElement[] {
  return children.filter((child) => child !== null);
}

/** Replaces controls under the reader's hands without losing the place. */
function keepFocus(box: HTMLElement, replace: () => void): void {
  const place = [...box.querySelectorAll("select, input")].indexOf(document.activeElement as Element);
  replace();
  if (place >= 0) box.querySelectorAll<HTMLElement>("select, input")[place]?.focus();
}

/** A sentence starts with a capital. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
