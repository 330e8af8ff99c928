// The state of the pages in the address: the page, then what is set on it (`#queue&depth=8&drive=exos-x18`). It comes back
// when the page is loaded again, sent to someone, or left by "back".

import { parse, write } from "../address";

/** Longer values are left out of the address; they last as long as the page is open. */
export const LONGEST = 2000;

/** The ends of a number, and the step between the values that it can have. */
export interface Span {
  from: number;
  to: number;
  step: number;
}

/** What is set on one page. */
export class Settings {
  private values = new Map<string, string>();
  private watchers: (() => void)[] = [];

  /** A value, or what the page opens with. */
  option(name: string, otherwise: string): string {
    return this.values.get(name) ?? otherwise;
  }

  /** The nearest number that a slider can stand at. */
  number(name: string, otherwise: number, { from, to, step }: Span): number {
    const value = Number(this.values.get(name) ?? otherwise);
    if (!Number.isFinite(value)) return otherwise;
    return Math.min(to, Math.max(from, from + Math.round((value - from) / step) * step));
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

  /** What stands in the address. */
  addressed(): [string, string][] {
    return [...this.values].filter(([, value]) => value.length <= LONGEST);
  }

  /** Sets what an address says; what no address holds stays. */
  restore(values: [string, string][]): void {
    const long = [...this.values].filter(([, value]) => value.length > LONGEST);
    this.values = new Map([...long, ...values]);
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
      history.replaceState(null, "", write(name, settings.addressed()));
    });
  window.addEventListener("hashchange", restore);
  restore();
}
