// The selectors and the legend. Ordinary form controls, so keyboard and screen readers need nothing more.

import type { Choice } from "./choice";
import { chip } from "./palette";
import { el } from "./dom";
import { shown } from "./format";

interface Option {
  value: string;
  text: string;
}

/** A labelled selector. */
export function select(label: string, options: Option[], chosen: string, choose: (value: string) => void): HTMLElement {
  const list = el("select", {}, ...options.map(({ value, text }) => el("option", { value }, text)));
  list.value = chosen;
  list.addEventListener("change", () => choose(list.value));
  return el("label", { class: "control" }, el("span", {}, label), list);
}

/** A selector of a figure's own option; the first of `options` is what the page opens with. */
export function optionSelector(choice: Choice, name: string, label: string, options: Option[]): HTMLElement {
  const first = options[0]!.value;
  const set = (value: string): void => choice.set(name, value === first ? null : value);
  return select(label, options, choice.option(name, first), set);
}

/** A button. */
export function press(words: string, label: string, pressed: () => void): HTMLButtonElement {
  const button = el("button", { type: "button", title: label, "aria-label": label }, words);
  button.addEventListener("click", pressed);
  return button;
}

/** A selector of one level for each factor that a figure holds fixed. */
export function fixedSelectors(choice: Choice, drawn: number[]): HTMLElement[] {
  return choice.fixedFactors(drawn).map((index) => {
    const { name, levels } = choice.factors[index]!;
    const options = levels.map((level) => ({ value: level, text: shown(level) }));
    return select(name, options, choice.levels[index]!, (level) =>
      choice.change(() => {
        choice.levels[index] = level;
      }),
    );
  });
}

/** A selector among factors. */
export function factorSelector(
  choice: Choice,
  label: string,
  among: number[],
  chosen: number,
  choose: (factor: number) => void,
): HTMLElement | null {
  if (among.length < 2) return null;
  const options = among.map((index) => ({ value: String(index), text: choice.factors[index]!.name }));
  return select(label, options, String(chosen), (value) => choice.change(() => choose(Number(value))));
}

/** The sides with their letter and colour; a tick hides or shows each, and one always stays. */
export function legend(choice: Choice): HTMLElement | null {
  const sides = choice.allSides();
  if (sides.length < 2) return null;
  const items = sides.map((side) => {
    const shown = !choice.hidden.has(side.level);
    const last = shown && choice.sides().length === 1;
    const box = el("input", { type: "checkbox", checked: shown, disabled: last });
    box.addEventListener("change", () => choice.change(() => toggle(choice.hidden, side.level)));
    return el("li", {}, el("label", {}, box, chip(side), el("span", {}, side.name)));
  });
  return el("ul", { class: "legend", "aria-label": "sides shown" }, ...items);
}

function toggle(set: Set<string>, item: string): void {
  if (!set.delete(item)) set.add(item);
}

/** Replaces controls under the reader's hands without losing the place. */
export function keepFocus(box: HTMLElement, replace: () => void): void {
  const place = [...box.querySelectorAll("select, input, button")].indexOf(document.activeElement as Element);
  replace();
  if (place >= 0) box.querySelectorAll<HTMLElement>("select, input, button")[place]?.focus();
}
