// Light or dark: as the system asks, or as the reader chose. `?theme=dark` in the address chooses too.

import { el } from "./dom";

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];
const KEY = "seekwise-theme";

/** The three-way switch; applies the remembered choice. */
export function themeSwitch(): HTMLElement {
  const current = remembered();
  apply(current);
  const choices = THEMES.map((theme) => {
    const button = el("input", { type: "radio", name: "theme", value: theme, checked: theme === current });
    button.addEventListener("change", () => {
      apply(theme);
      remember(theme);
    });
    return el("label", {}, button, el("span", {}, theme));
  });
  return el("fieldset", { class: "theme" }, el("legend", { class: "unseen" }, "colours"), ...choices);
}

function apply(theme: Theme): void {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

function remembered(): Theme {
  const asked = new URLSearchParams(location.search).get("theme") ?? stored();
  return THEMES.find((theme) => theme === asked) ?? "auto";
}

// A page opened from a file may have no storage; the choice then lasts as long as the page.
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // See above.
  }
}
