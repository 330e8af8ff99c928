// What stood between the program and the platter, drawn as layers.

import { el, section } from "./dom";
import { counted } from "./format";
import type { Layer, Report, Setting } from "./report";

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
