// What stood between the program and the platter, drawn as layers, and in what the compared sides differ.

import { el, scroller, section } from "./dom";
import { csvButton, files } from "./download";
import { counted } from "./format";
import type { Layer, Report, Setting, Verdict } from "./report";

/** The layers, top to bottom; settings in which compared sides differ are marked. */
export function stack({ stack: layers, verdicts }: Report): HTMLElement | null {
  if (layers.length === 0) return null;
  const varied = new Set(verdicts.flatMap(({ differs }) => differs));
  const marks = layers.some(({ settings }) => settings.some(({ key }) => varied.has(key)));
  const lead =
    "From the program down to the platter." +
    (marks ? " In sight: settings in which compared sides differ; the others are folded." : "");
  const drawn = layers.map((layer) => el("li", { class: "layer" }, ...layerOf(layer, varied)));
  return section("stack", "The stack", lead, el("ol", { class: "stack" }, ...drawn));
}

function layerOf({ role, name, settings }: Layer, varied: Set<string>): HTMLElement[] {
  const head = el("div", { class: "layer-name" }, el("span", { class: "role" }, role), el("strong", {}, name));
  const list = (all: Setting[], among = ""): HTMLElement =>
    el("dl", { class: `settings ${among}` }, ...all.map((setting) => entry(setting, role, varied)));
  const [differ, same] = [true, false].map((wanted) => settings.filter(({ key }) => varied.has(key) === wanted));
  const words = counted(same!.length, differ!.length > 0 ? "other setting" : "setting");
  const folded = el("details", { class: "folded" }, el("summary", {}, words), list(same!));
  return [head, el("div", {}, differ!.length > 0 ? list(differ!, "alone") : null, same!.length > 0 ? folded : null)];
}

function entry({ key, value, source }: Setting, role: string, varied: Set<string>): HTMLElement {
  const short = key.startsWith(`${role}.`) ? key.slice(role.length + 1) : key;
  const differs = varied.has(key);
  return el(
    "div",
    { class: differs ? "setting varied" : "setting" },
    el("dt", { title: key }, short),
    el(
      "dd",
      {},
      value,
      differs ? el("span", { class: "tag" }, "differs") : null,
      source === "" ? null : el("span", { class: "source" }, source),
    ),
  );
}

/** Each pair of sides that was compared, and the settings in which it differs. */
export function differences({ verdicts }: Report): HTMLElement | null {
  const pairs = new Map<string, Verdict>();
  for (const verdict of verdicts) {
    const { side_a, side_b, factor, differs } = verdict;
    const pair = JSON.stringify([side_a, side_b, factor, differs]);
    if (!pairs.has(pair)) pairs.set(pair, verdict);
  }
  if (pairs.size === 0) return null;
  const lead = "A difference is credited to the factor named only when the sides differ in nothing else.";
  const body = [...pairs.values()].map((verdict) =>
    el(
      "tr",
      {},
      el("td", {}, verdict.side_b),
      el("td", {}, verdict.side_a),
      el(
        "td",
        {},
        verdict.differs.length === 0
          ? "nothing"
          : el("ul", { class: "bare" }, ...verdict.differs.map((key) => el("li", {}, el("code", {}, key)))),
      ),
      el("td", {}, verdict.verdict === "refused" ? "nothing: refused" : verdict.factor),
    ),
  );
  const csv = csvButton("differences", () => ({
    head: ["judged", "against", "differ in", "credited to"],
    rows: [...pairs.values()].map(({ side_b, side_a, differs, factor, verdict }) => [
      side_b,
      side_a,
      differs.join(", "),
      verdict === "refused" ? "" : factor,
    ]),
  }));
  const heads = ["judged", "against", "differ in", "credited to"].map((name) => el("th", { scope: "col" }, name));
  const table = el("table", { class: "text" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...body));
  return section("differences", "What differs between the sides", lead, files(csv), scroller("differences", table));
}
