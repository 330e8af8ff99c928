// The rows of a drawing, each of which explains itself when it is pressed or chosen by the arrow keys. The drawing is one stop of
// the keyboard, and a list to a reader who does not see it.

import { el } from "../dom";
import { rows as texts } from "./texts";

export interface Row {
  element: SVGElement;
  explain: () => string;
  /** Is done besides. */
  chosen?: () => void;
}

/** How far each key goes; to an end by more rows than there are. */
const KEYS: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
};

/** Every row has a name of its own, by which its drawing says which one is chosen. */
let named = 0;

/** Makes a list of `drawing`; `told` says what a row explains, and `load` takes the rows that are in the drawing now. */
export function rowList(drawing: SVGElement, label: string): { told: HTMLElement; load: (rows: Row[]) => void } {
  const told = el("p", { role: "status" });
  let [rows, at]: [Row[], number] = [[], -1];
  for (const [name, value] of [["role", "listbox"], ["tabindex", "0"], ["aria-label", label]] as const) drawing.setAttribute(name, value);
  const choose = (place: number): void => {
    rows[at]?.element.setAttribute("aria-selected", "false");
    at = place;
    const row = rows[at]!;
    row.element.setAttribute("aria-selected", "true");
    drawing.setAttribute("aria-activedescendant", row.element.id);
    told.className = "small told";
    told.textContent = row.explain();
    row.chosen?.();
  };
  drawing.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (step === undefined || rows.length === 0) return;
    event.preventDefault();
    choose(Math.min(rows.length - 1, Math.max(0, at + step)));
  });
  const load = (loaded: Row[]): void => {
    [rows, at] = [loaded, -1];
    drawing.removeAttribute("aria-activedescendant");
    told.className = "small told hint";
    told.textContent = texts.press;
    rows.forEach(({ element }, place) => {
      const attributes = { id: `row-${named++}`, role: "option", "aria-selected": false, "aria-label": texts.place(place + 1, rows.length) };
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
      element.addEventListener("click", () => choose(place));
    });
  };
  return { told, load };
}
