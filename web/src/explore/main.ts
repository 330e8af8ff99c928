// Explore: six pages, each one thing that is dragged and one sentence to keep. The library (`#module`) answers in workers;
// the address holds the state.

import "../style/colours.css";
import "../style/page.css";
import "../style/figures.css";
import "../style/media.css";
import "../style/explore.css";

import { write } from "../address";
import { followPrinting } from "../chart";
import { el } from "../dom";
import { themeSwitch } from "../theme";
import { Attempts } from "./attempts";
import { Engine, unpackModule } from "./engine";
import { commitPage } from "./pages/commit";
import { jobPage } from "./pages/job";
import type { Bench, DriveSummary, Page } from "./pages/page";
import { plugPage } from "./pages/plug";
import { queuePage } from "./pages/queue";
import { readPage } from "./pages/read";
import { rebuildPage } from "./pages/rebuild";
import { followAddress, Settings } from "./state";
import * as texts from "./texts";

const PAGES: [name: string, title: string, build: (bench: Bench) => Page][] = [
  ["read", texts.read.name, readPage],
  ["queue", texts.queue.name, queuePage],
  ["plug", texts.plug.name, plugPage],
  ["commit", texts.commit.name, commitPage],
  ["rebuild", texts.rebuild.name, rebuildPage],
  ["job", texts.job.name, jobPage],
];

async function start(): Promise<void> {
  const status = el("p", { class: "soft", role: "status" }, texts.site.loading);
  const main = el("main", { id: "main" }, status);
  frame(main);
  const module = unpackModule(document.getElementById("module")!.textContent!);
  const [quick, slow] = [new Engine(module), new Engine(module)];
  const drives = await quick.ask<DriveSummary[]>({ ask: "drives" });
  const settings = new Map(PAGES.map(([name]) => [name, new Settings()]));
  const pages = new Map<string, Page>();
  const links = new Map(PAGES.map(([name, title]) => [name, link(name, title, settings.get(name)!)]));
  const stage = el("div", {});
  main.replaceChildren(heading(), contents([...links.values()]), stage, el("footer", {}, texts.site.foot));
  const page = (name: string): Page => {
    const [, , build] = PAGES.find((one) => one[0] === name)!;
    const bench = { settings: settings.get(name)!, quick, slow, drives, attempts: new Attempts() };
    if (!pages.has(name)) pages.set(name, build(bench));
    return pages.get(name)!;
  };
  let shown = "";
  followAddress(settings, PAGES[0]![0], (name) => {
    if (name === shown) return;
    shown = name;
    quick.stop();
    slow.stop();
    const chosen = page(name);
    stage.replaceChildren(chosen.element);
    for (const [of, one] of links) {
      if (of === name) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
    chosen.open();
  });
  followPrinting();
}

function heading(): HTMLElement {
  return el("header", { class: "question" }, el("h1", {}, texts.site.title), el("p", { class: "lead" }, texts.site.lead));
}

/** A link to a page as it was left. */
function link(name: string, title: string, settings: Settings): HTMLElement {
  const anchor = el("a", {}, title);
  const show = (): void => anchor.setAttribute("href", write(name, settings.addressed()));
  settings.watch(show);
  show();
  return anchor;
}

function contents(links: HTMLElement[]): HTMLElement {
  const items = links.map((one) => el("li", {}, one));
  return el("nav", { class: "contents pages", "aria-label": texts.site.pages }, el("ul", {}, ...items));
}

function frame(main: HTMLElement): void {
  const bar = el("header", { class: "bar" }, el("span", { class: "mark" }, texts.site.mark), el("div", { class: "tools" }, themeSwitch()));
  document.getElementById("page")?.replaceChildren(el("a", { class: "skip", href: "#main" }, texts.site.skip), bar, main);
}

start().catch((error: unknown) => {
  document.getElementById("main")?.replaceChildren(el("p", {}, texts.site.broken(String(error))));
});
