// Colours, as names that the style sheet defines for light, dark and print. The sides' hues are those of Okabe and
// Ito's palette ("Color universal design", 2008), told apart under every common colour blindness; a letter, a dash
// and a mark tell them apart without colour.

import type { Side } from "./choice";
import { el } from "./dom";
import type { Part } from "./parts";

const HUES = 7;
const DASHES = ["solid", [7, 3], [2, 3], [9, 3, 2, 3], [5, 5], [12, 4], [3, 2]] as const;
const MARKS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle"];
/** Room for one character of an axis label, in pixels; ample, as the reader's font is not known. */
export const CHARACTER = 6.7;

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

/** Lines that a side's name may take on an axis; the legend has a longer one whole. */
const LINES = 3;

/** A side's name and letter for the axis of a wide chart, in lines that fit. */
export function named({ name, letter }: Side, width: number): string {
  const longest = Math.max(4, Math.floor(width / CHARACTER) - 4);
  const lines = broken(name, longest);
  const shown = lines.slice(0, LINES);
  if (lines.length > LINES) shown[LINES - 1] = `${shown[LINES - 1]!.slice(0, longest - 1)}…`;
  return `${shown.join("\n")}  ${letter}`;
}

/** The lines that the longest of these names takes. */
export function linesOf(sides: Side[], width: number): number {
  return Math.max(1, ...sides.map((side) => named(side, width).split("\n").length));
}

/** Words in lines of at most `longest` characters; a longer word is broken. */
function broken(text: string, longest: number): string[] {
  const lines = [""];
  for (const word of text.split(" ").flatMap((word) => pieces(word, longest))) {
    const last = lines.at(-1)!;
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= longest) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function pieces(word: string, longest: number): string[] {
  const count = Math.max(1, Math.ceil(word.length / longest));
  return Array.from({ length: count }, (_, piece) => word.slice(piece * longest, (piece + 1) * longest));
}

/** The width of an axis that carries the sides' names. */
export function nameWidth(width: number, sides: Side[]): number {
  const longest = Math.max(...sides.map(({ name }) => name.length));
  return Math.round(Math.min(320, width * 0.36, (longest + 5) * CHARACTER + 10));
}

/** A side's letter on its colour. */
export function chip(side: Side): HTMLElement {
  return el("span", { class: `chip side-${side.index % HUES}`, "aria-hidden": "true" }, side.letter);
}

export function partColour(part: Part): string {
  return `var(--part-${part})`;
}
