// Small parts of the pages: sliders, selectors, figures, the question that comes first.

import { el } from "../dom";
import { press } from "../controls";
import type { Attempts } from "./attempts";
import type { Settings, Span } from "./state";
import { site } from "./texts";

/** A slider with its words: `said` is what it stands at, for the eye and for a screen reader; `show` says it anew. */
export function slider(
  settings: Settings,
  name: string,
  { label, first, said, ...span }: Span & { label: string; first: number; said: (value: number) => string },
): { element: HTMLElement; value: () => number; set: (value: number) => void; show: () => void } {
  const { from, to, step } = span;
  const value = (): number => settings.number(name, first, span);
  const set = (chosen: number): void => settings.set(name, chosen === first ? null : String(chosen));
  const range = el("input", { type: "range", min: from, max: to, step, "aria-label": label });
  const words = el("output", {});
  const show = (): void => {
    range.value = String(value());
    words.textContent = said(value());
    range.setAttribute("aria-valuetext", said(value()));
  };
  range.addEventListener("input", () => set(Number(range.value)));
  range.addEventListener("keydown", (event) => {
    const jump = { PageUp: 10, PageDown: -10 }[event.key];
    if (jump === undefined) return;
    event.preventDefault();
    set(Math.min(to, Math.max(from, value() + jump * step)));
  });
  settings.watch(show);
  show();
  return { element: el("label", { class: "slider" }, el("span", {}, label), range, words), value, set, show };
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

/** A question with answers to choose from. Its reply stands as long as `about` is what it was when an answer was chosen; `offer`
    says whether there are data for a reply. */
export function guess(
  { settings, attempts }: { settings: Settings; attempts: Attempts },
  { guess: question, answers }: { guess: string; answers: string[] },
  about: () => string,
  reply: () => string | Promise<string>,
): { element: HTMLElement; offer: (ready: boolean) => void } {
  const words = el("p", { class: "guessed", role: "status" });
  let asked: string | null = null;
  const mark = (chosen: HTMLButtonElement | null): void =>
    buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === chosen)));
  const clear = (): void => {
    asked = null;
    mark(null);
    words.textContent = "";
  };
  const choose = async (button: HTMLButtonElement): Promise<void> => {
    const of = about();
    asked = of;
    mark(button);
    words.textContent = site.computing;
    try {
      const found = await reply();
      if (asked === of) words.textContent = found;
    } catch (error) {
      if (asked === of) clear();
      throw error;
    }
  };
  const buttons: HTMLButtonElement[] = answers.map((answer) => {
    const button = press(answer, answer, () => void attempts.run("guess", () => choose(button)));
    return button;
  });
  mark(null);
  settings.watch(() => {
    if (asked !== null && asked !== about()) clear();
  });
  const offer = (ready: boolean): void => buttons.forEach((button) => (button.disabled = !ready));
  return { element: el("div", { class: "guess" }, el("p", {}, question), el("div", { class: "answers" }, ...buttons), words), offer };
}

/** A command to copy. */
export function command(label: string, words: string): HTMLElement {
  return el("p", { class: "command" }, el("span", { class: "soft small" }, label), " ", el("code", {}, words));
}
