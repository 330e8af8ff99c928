// Colours, as names that the style sheet defines for light, dark and print. The sides' hues are those of Okabe and
// Ito's palette ("Color universal design", 2008), told apart under every common colour blindness; a letter, a dash
// and a mark tell them apart without colour.

import type { Side } from "./choice";
import { el } from "./dom";
import type { Anatomy } from "./report";

const HUES = 7;
const DASHES = ["solid", [7, 3], [2, 3], [9, 3, 2, 3], [5, 5], [12, 4], [3, 2]] as const;
const MARKS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle"];
/** Room for one character of an axis label, in pixels; ample, as the reader's font is not known. */
const CHARACTER = 6.7;

export const ink = {
  text: "var(--ink)",
  soft: "var(--soft)",
  rule: "var(--rule)",
  paper: "var(--paper)",
  raised: "var(--raised)",
};

export function sideColour(side: Side): string {
  return `var(--side-${side.index % HUES})`;
}

export function sideDash(side: Side): "solid" | number[] {
  const dash = DASHES[side.index % DASHES.length]!;
  return dash === "solid" ? dash : [...dash];
}

export function sideMark(side: Side): string {
  return MARKS[side.index % MARKS.length]!;
}

/** A side's name and letter for the axis of a wide chart; a name too long for it is cut, the legend has it whole. */
export function named({ name, letter }: Side, width: number): string {
  const longest = Math.floor(width / CHARACTER) - 4;
  const short = name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
  return `${short}  ${letter}`;
}

/** The width of an axis that carries the sides' names. */
export function nameWidth(width: number): number {
  return Math.round(Math.min(320, width * 0.36));
}

/** A side's letter on its colour. */
export function chip(side: Side): HTMLElement {
  return el("span", { class: `chip side-${side.index % HUES}`, "aria-hidden": "true" }, side.letter);
}

export function partColour(part: keyof Anatomy): string {
  return `var(--part-${part})`;
}
