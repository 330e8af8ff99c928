// Explore: six pages, each one thing that is dragged and one sentence to keep. The library (`#module`) answers in workers;
// the address holds the state.

import "../style/colours.css";
import "../style/page.css";
import "../style/figures.css";
import "../style/media.css";
import "../style/explore.css";

import { followPrinting } from "../chart";
import { el } from "../dom";
import { themeSwitch } from "../theme";
import { Engine, Stopped, unpackModule } from "./engine";
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
  const fault = (error: unknown): void => {
    if (error instanceof Stopped) return;
    status.hidden = false;
    status.textContent = String(error instanceof Error ? error.message : error);
  };
  const settings = new Map(PAGES.map(([name]) => [name, new Settings()]));
  const pages = new Map<string, Page>();
  const [nav, stage] = [contents(), el("div", {})];
  main.replaceChildren(heading(), nav, status, stage, el("footer", {}, texts.site.foot));
  status.hidden = true;
  const page = (name: string): Page => {
    const [, , build] = PAGES.find((one) => one[0] === name)!;
    if (!pages.has(name)) pages.set(name, build({ settings: settings.get(name)!, quick, slow, drives, fault }));
    return pages.get(name)!;
  };
  let shown = "";
  followAddress(settings, PAGES[0]![0], (name) => {
    if (name === shown) return;
    shown = name;
    quick.stop();
    slow.stop();
    status.hidden = true;
    const chosen = page(name);
    stage.replaceChildren(chosen.element);
    nav.querySelectorAll("a").forEach((link) => {
      if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    chosen.open();
  });
  followPrinting();
}

function heading(): HTMLElement {
  return el("header", { class: "question" }, el("h1", {}, texts.site.title), el("p", { class: "lead" }, texts.site.lead));
}

function contents(): HTMLElement {
  const links = PAGES.map(([name, title]) => el("li", {}, el("a", { href: `#${name}` }, title)));
  return el("nav", { class: "contents pages", "aria-label": texts.site.pages }, el("ul", {}, ...links));
}

function frame(main: HTMLElement): void {
  const bar = el("header", { class: "bar" }, el("span", { class: "mark" }, texts.site.mark), el("div", { class: "tools" }, themeSwitch()));
  document.getElementById("page")?.replaceChildren(el("a", { class: "skip", href: "#main" }, texts.site.skip), bar, main);
}

start().catch((error: unknown) => {
  document.getElementById("main")?.replaceChildren(el("p", {}, texts.site.broken(String(error))));
});
