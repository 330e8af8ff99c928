// The reader's choice in the address, behind the place that is read: `#curves&metric=p99&hide=off`. It comes back when
// the page is loaded again, sent to someone, or left by "back".

import type { State } from "./choice";

/** What can be chosen on the page. */
interface Chosen {
  watch(watcher: () => void): void;
  state(): State;
  restore(state: State): void;
}

/** What an address says: the place on the page, and the choice. */
export function parse(hash: string): { place: string; state: State } {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const state = [...words].filter(([, value]) => value !== "");
  const place = [...words].find(([, value]) => value === "")?.[0] ?? "";
  return { place, state };
}

/** The address of a place and a choice; nothing where there is neither. */
export function write(place: string, state: State): string {
  const words = new URLSearchParams(state).toString();
  const all = [place, words].filter((part) => part !== "").join("&");
  return all === "" ? "" : `#${all}`;
}

/** Unfolds what an element lies in. */
export function reveal(element: Element): void {
  for (let around = element.closest("details"); around; around = around.parentElement?.closest("details") ?? null)
    around.open = true;
}

/** The place of an address: a moment of the moving picture leads to the picture. */
function placeOf(hash: string, state: State): string {
  return state.some(([name]) => name === "arm.t") ? "arm" : parse(hash).place;
}

/** Keeps the address and the choice in step. */
export function follow(choice: Chosen): void {
  let restoring = false;
  const restore = (): void => {
    const { state } = parse(location.hash);
    const place = placeOf(location.hash, state);
    restoring = true;
    choice.restore(state);
    restoring = false;
    const found = place === "" ? null : document.getElementById(place);
    if (found) reveal(found);
    found?.scrollIntoView({ behavior: "instant" });
  };
  choice.watch(() => {
    if (restoring) return;
    go(write(placeOf(location.hash, choice.state()), choice.state()));
  });
  window.addEventListener("popstate", restore);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    const place = link.getAttribute("href")!.slice(1);
    go(write(place, choice.state()));
    const found = document.getElementById(place);
    if (found) reveal(found);
    found?.scrollIntoView();
    (found?.querySelector<HTMLElement>(":scope > summary") ?? found)?.focus({ preventScroll: true });
  });
  if (location.hash !== "") restore();
}

function go(hash: string): void {
  if (hash !== location.hash) history.pushState(null, "", hash === "" ? location.pathname + location.search : hash);
}
