// What the pages share: their shape on the screen, the engines that they ask, and the drives to choose from.

import { el, type Child } from "../../dom";
import type { Attempts } from "../attempts";
import type { Engine } from "../engine";
import type { Settings } from "../state";
import { chooser } from "../parts";
import { site } from "../texts";

/** A drive of the catalogue, as `seekwise drives --json` names it. */
export interface DriveSummary {
  name: string;
  rpm: number;
  capacity_gb: number;
  /** Commands that the drive queues; 1 is a drive without a queue. */
  depth: number;
}

/** What a page works with. */
export interface Bench {
  settings: Settings;
  /** Answers what is dragged. */
  quick: Engine;
  /** Answers what takes longer: curves, rebuilds, comparisons. */
  slow: Engine;
  drives: DriveSummary[];
  /** Shows what went wrong. */
  attempts: Attempts;
}

/** A page: `element` is made once; `open` is called when it is shown. */
export interface Page {
  element: HTMLElement;
  open: () => void;
}

/** A setup as the library reads it (`crates/explore/src/setup.rs`). */
export interface SetupWords {
  job: string;
  target: string;
  set?: [string, string][];
  runtime?: string;
  texts?: Record<string, string>;
}

/** The sentence that the figures of a page say. */
export function sentenceBox(): HTMLElement {
  return el("p", { class: "sentence", role: "status" });
}

/** What is set on a page; paper shows it as plain text. */
export function controls(...all: HTMLElement[]): HTMLElement {
  return el("div", { class: "controls dragged" }, ...all);
}

/** The question, what is dragged, the drawing, the sentence that its figures say, and the one to keep. */
export function shape(
  id: string,
  { question, lead, keep }: { question: string; lead: string; keep: string },
  { attempts }: Bench,
  ...body: Child[]
): HTMLElement {
  const kept = el("p", { class: "keep" }, el("span", { class: "soft small" }, `${site.leaves}: `), el("strong", {}, keep));
  const heading = el("h2", { id: `${id}-heading` }, question);
  const top = [heading, el("p", { class: "lead" }, lead), attempts.element];
  return el("section", { id, "aria-labelledby": `${id}-heading` }, ...top, ...body, kept);
}

/** A selector of drives; the first of `names` is what the page opens with. */
export function driveChooser({ settings, drives }: Bench, first: string): ReturnType<typeof chooser> {
  const words = ({ name, capacity_gb: gb, rpm }: DriveSummary): string =>
    `${name} (${gb >= 1000 ? `${(gb / 1000).toFixed(0)} TB` : `${gb.toFixed(0)} GB`}, ${rpm.toFixed(0)} rpm)`;
  const sorted = [...drives].sort((a, b) => Number(b.name === first) - Number(a.name === first));
  return chooser(
    settings,
    "drive",
    site.drive,
    sorted.map((drive) => ({ value: drive.name, text: words(drive) })),
  );
}
