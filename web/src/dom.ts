// Elements of the page. Text is only ever set as text, so no name from a file can become an element.

export type Child = Node | string | null;

type Attributes = Record<string, string | number | boolean | null>;

/** An HTML element with attributes and children; strings become text nodes, null is left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  furnish(element, attributes, children);
  return element;
}

/** The same for SVG. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  furnish(element, attributes, children);
  return element;
}

function furnish(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child !== null) element.append(child);
  }
}

/** The address of a file in a folder beside this page. No name of a folder makes it lead elsewhere or run: it stays relative. */
export function below(folder: string, file: string): string {
  return `./${encodeURIComponent(folder)}/${file}`;
}

/** Words in which `a name` stands between backticks, as on a terminal: here in another type. */
export function prose(words: string): Child[] {
  return words.split("`").map((part, place) => (place % 2 === 1 ? el("code", {}, part) : part));
}

/** A box that scrolls sideways on its own, reachable by keyboard. */
export function scroller(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

/** Something folded away, made when it is unfolded. */
export function folded(summary: string, make: () => Child[]): HTMLDetailsElement {
  const details = el("details", {}, el("summary", {}, summary));
  let made = false;
  const fill = (): void => {
    if (!made) details.append(...make().filter((child) => child !== null));
    made = true;
  };
  details.addEventListener("toggle", fill);
  return details;
}

/** A section, folded: its heading opens it, and so does a link to it or into it. */
export function section(id: string, heading: string, lead: string | null, ...children: Child[]): HTMLDetailsElement {
  return el(
    "details",
    { id, class: "section", "aria-labelledby": `${id}-heading` },
    el("summary", {}, el("h2", { id: `${id}-heading` }, heading)),
    lead === null ? null : el("p", { class: "lead" }, lead),
    ...children,
  );
}
