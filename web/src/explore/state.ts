// The state of the pages in the address: the page, then what is set on it (`#queue&depth=8&drive=exos-x18`). It comes back
// when the page is loaded again, sent to someone, or left by "back".

import { parse, write } from "../address";

/** What is set on one page. */
export class Settings {
  private values = new Map<string, string>();
  private watchers: (() => void)[] = [];

  /** A value, or what the page opens with. */
  option(name: string, otherwise: string): string {
    return this.values.get(name) ?? otherwise;
  }

  /** A number within its limits. */
  number(name: string, otherwise: number, [least, most]: [number, number]): number {
    const value = Number(this.values.get(name) ?? otherwise);
    return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : otherwise;
  }

  /** Sets a value; nothing sets it back to what the page opens with. */
  set(name: string, value: string | null): void {
    if (value === null) this.values.delete(name);
    else this.values.set(name, value);
    this.tell();
  }

  /** Is called after each change. */
  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  all(): [string, string][] {
    return [...this.values];
  }

  restore(values: [string, string][]): void {
    this.values = new Map(values);
    this.tell();
  }

  private tell(): void {
    for (const watcher of this.watchers) watcher();
  }
}

/** Keeps the address in step with the settings of the page that is shown. Dragging writes no history. */
export function followAddress(pages: Map<string, Settings>, first: string, show: (page: string) => void): void {
  const shown = (): string => {
    const { place } = parse(location.hash);
    return pages.has(place) ? place : first;
  };
  let restoring = false;
  const restore = (): void => {
    const page = shown();
    restoring = true;
    pages.get(page)!.restore(parse(location.hash).state);
    restoring = false;
    show(page);
  };
  for (const [name, settings] of pages)
    settings.watch(() => {
      if (restoring || name !== shown()) return;
      history.replaceState(null, "", write(name, settings.all()));
    });
  window.addEventListener("hashchange", restore);
  restore();
}
