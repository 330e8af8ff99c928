// Small parts of the pages: sliders, selectors, figures, the question that comes first.

import { el, type Child } from "../dom";
import { press } from "../controls";
import type { Settings } from "./state";

/** A slider with its words: `said` is what it stands at, for the eye and for a screen reader; `show` says it anew. */
export function slider(
  settings: Settings,
  name: string,
  { label, from, to, step, first, said }: {
    label: string;
    from: number;
    to: number;
    step: number;
    first: number;
    said: (value: number) => string;
  },
): { element: HTMLElement; value: () => number; show: () => void } {
  const value = (): number => settings.number(name, first, [from, to]);
  const range = el("input", { type: "range", min: from, max: to, step, "aria-label": label });
  const words = el("output", {});
  const show = (): void => {
    range.value = String(value());
    words.textContent = said(value());
    range.setAttribute("aria-valuetext", said(value()));
  };
  range.addEventListener("input", () => {
    const chosen = Number(range.value);
    settings.set(name, chosen === first ? null : String(chosen));
  });
  range.addEventListener("keydown", (event) => {
    const jump = { PageUp: 10, PageDown: -10 }[event.key];
    if (jump === undefined) return;
    event.preventDefault();
    const chosen = Math.min(to, Math.max(from, value() + jump * step));
    settings.set(name, String(chosen));
  });
  settings.watch(show);
  show();
  return { element: el("label", { class: "slider" }, el("span", {}, label), range, words), value, show };
}

/** A selector whose value is kept in the settings; the first option is what the page opens with. */
export function chooser(
  settings: Settings,
  name: string,
  label: string,
  options: { value: string; text: string }[],
): { element: HTMLElement; value: () => string } {
  const first = options[0]!.value;
  const value = (): string => {
    const chosen = settings.option(name, first);
    return options.some((option) => option.value === chosen) ? chosen : first;
  };
  const list = el("select", {}, ...options.map(({ value: one, text }) => el("option", { value: one }, text)));
  list.addEventListener("change", () => settings.set(name, list.value === first ? null : list.value));
  const show = (): void => {
    list.value = value();
  };
  settings.watch(show);
  show();
  return { element: el("label", { class: "control" }, el("span", {}, label), list), value };
}

/** A figure with its unit and what it is. */
export function figures(all: { value: string; what: string }[]): HTMLElement {
  const items = all.map(({ value, what }) => el("div", {}, el("dt", {}, what), el("dd", {}, value)));
  return el("dl", { class: "figures" }, ...items);
}

/** A question with answers to choose from. `answered` makes what stands there afterwards. */
export function guess(
  question: string,
  answers: string[],
  answered: (chosen: number) => Child[],
): HTMLElement {
  const reply = el("p", { class: "guessed", role: "status" });
  const buttons = answers.map((answer, place) => {
    const button = press(answer, answer, () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      reply.replaceChildren(...answered(place).filter((child) => child !== null));
    });
    button.setAttribute("aria-pressed", "false");
    return button;
  });
  return el("div", { class: "guess" }, el("p", {}, question), el("div", { class: "answers" }, ...buttons), reply);
}

/** A command to copy. */
export function command(label: string, words: string): HTMLElement {
  return el("p", { class: "command" }, el("span", { class: "soft small" }, label), " ", el("code", {}, words));
}
