// Charts and tables as files of the reader's: CSV of the figures, PNG of the picture. Made here; nothing is fetched.

import { csv, type Table } from "./csv";
import { el, svg } from "./dom";

/** A picture is drawn with so many pixels for one of the page's, so that it is sharp in print. */
const SHARPNESS = 2;
const MARGIN = 16;
const LINE = 20;

/** A button that gives `table` as a file. */
export function csvButton(name: string, table: () => Table): HTMLElement {
  const button = el("button", { type: "button", class: "save", "aria-label": `${name} as CSV` }, "CSV");
  button.addEventListener("click", () => save(`${name}.csv`, new Blob([csv(table())], { type: "text/csv" })));
  return button;
}

/** A button that gives the drawings inside `chart` as one picture, with `words` above them. */
export function pngButton(name: string, chart: HTMLElement, words: () => string[]): HTMLElement {
  const button = el("button", { type: "button", class: "save", "aria-label": `${name} as PNG` }, "PNG");
  button.addEventListener("click", () => void savePicture(name, chart, words()));
  return button;
}

/** What can be had of what stands below. */
export function files(...buttons: HTMLElement[]): HTMLElement {
  return el("div", { class: "files" }, ...buttons);
}

async function savePicture(name: string, chart: HTMLElement, words: string[]): Promise<void> {
  const { text, width, height } = standalone([...chart.querySelectorAll("svg")], words);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: width * SHARPNESS, height: height * SHARPNESS });
  const context = canvas.getContext("2d");
  context?.scale(SHARPNESS, SHARPNESS);
  context?.drawImage(image, 0, 0, width, height);
  canvas.toBlob((picture) => picture && save(`${name}.png`, picture), "image/png");
}

/** Drawings, one below the other, as one that needs no style sheet: its colours by value, on the page's ground, with
    `words` above. */
export function standalone(
  drawings: SVGSVGElement[],
  words: string[],
): { text: string; width: number; height: number } {
  const style = getComputedStyle(document.documentElement);
  const colour = (variable: string): string => style.getPropertyValue(variable).trim() || "currentColor";
  let y = MARGIN + words.length * LINE;
  const width = Math.max(0, ...drawings.map((drawing) => drawing.getBoundingClientRect().width)) + 2 * MARGIN;
  const copies = drawings.map((drawing) => {
    const box = drawing.getBoundingClientRect();
    const copy = drawing.cloneNode(true) as SVGSVGElement;
    for (const [name, value] of Object.entries({ x: MARGIN, y, width: box.width, height: box.height }))
      copy.setAttribute(name, String(value));
    y += box.height + MARGIN;
    return copy;
  });
  const height = y;
  const lines = words.map((line, index) =>
    svg(
      "text",
      { x: MARGIN, y: MARGIN + LINE * (index + 0.7), "font-size": 14, "font-family": "sans-serif", fill: "var(--ink)" },
      line,
    ),
  );
  const ground = svg("rect", { width, height, fill: "var(--paper)" });
  const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height }, ground, ...lines, ...copies);
  const text = new XMLSerializer().serializeToString(whole);
  return { text: text.replace(/var\((--[\w-]+)\)/g, (_, variable: string) => colour(variable)), width, height };
}

/** Hands over a file. */
export function save(name: string, content: Blob): void {
  const link = el("a", { download: name, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
