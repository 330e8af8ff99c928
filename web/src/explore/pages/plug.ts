// The plug: the instant of a cut is dragged through the writes of a program (the built-in job `paced-writes`). The list
// says when each write was acknowledged and on the platter; how many are lost is the judge's figure (`power-cut`).

import { el, svg } from "../../dom";
import { number, quantity } from "../../format";
import { Latest } from "../engine";
import { chooser, command, guess, slider } from "../parts";
import { rowList } from "../rows";
import { plug as texts, site } from "../texts";
import { controls, driveChooser, sentenceBox, shape, type Bench, type Page, type SetupWords } from "./page";

/** A write or a flush (`crates/explore/src/plug.rs`). */
export interface Listed {
  op: "write" | "flush";
  issued_ns: number;
  acknowledged_ns: number | null;
  landed_ns: number | null;
}
export interface History {
  requests: Listed[];
  end_ns: number;
}
interface Cut {
  json: { acknowledged_lost: { writes: number }; flushed_lost: { writes: number } };
  command: string;
}

type Fate = keyof typeof texts.fates;

const WIDTH = 1000;
const ROW = 4;
/** Places of the slider. */
const STEPS = 200;

/** What a cut at `cut` makes of a write. */
export function fate({ issued_ns, acknowledged_ns, landed_ns }: Listed, cut: number): Fate {
  if (issued_ns > cut) return "later";
  if (landed_ns !== null && landed_ns <= cut) return "platter";
  return acknowledged_ns !== null && acknowledged_ns <= cut ? "lost" : "flight";
}

export function plugPage(bench: Bench): Page {
  const { settings, quick, drives, attempts } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const flush = chooser(settings, "flush", texts.flush, texts.flushes);
  const latest = new Latest();
  /** The list that is drawn, and what it is of. */
  let [history, of]: [History, string] = [{ requests: [], end_ns: 0 }, ""];
  const instant = (place: number, { end_ns } = history): number => Math.round((end_ns * place) / STEPS);
  const said = (place: number): string => (of === "" ? "" : quantity(instant(place) / 1e6, "ms"));
  const cut = slider(settings, "cut", { label: texts.cut, from: 1, to: STEPS, step: 1, first: 90, said });
  const [sentence, shell, safe] = [sentenceBox(), el("div", {}), el("p", { class: "small soft" })];
  const picture = writesPicture();
  const setup = (): SetupWords => ({ job: "paced-writes", target: drive.value(), set: [["job.env.FLUSH", flush.value()]] });
  const about = (): string => JSON.stringify(setup());

  /** Draws a list and a cut of one run, whatever is set meanwhile: `latest` draws that afterwards. */
  const draw = async (): Promise<void> => {
    const [asked, name, turn] = [setup(), about(), 60_000 / drives.find((one) => one.name === drive.value())!.rpm];
    const flushes = flush.value() !== "0";
    question.offer(name === of);
    const listed = name === of ? history : await quick.ask<History>({ ask: "writes", setup: asked });
    const at = instant(cut.value(), listed);
    if (name === of) picture.cut(at);
    const { json, command: words } = await quick.ask<Cut>({ ask: "power-cut", setup: asked, at_ns: at });
    if (name !== of) {
      [history, of] = [listed, name];
      picture.load(history);
      picture.cut(at);
      cut.show();
      safe.textContent = flushed(history, turn);
    }
    const acknowledged = writes(history).filter((one) => one.acknowledged_ns !== null && one.acknowledged_ns <= at);
    sentence.textContent = texts.counts(acknowledged.length, json.acknowledged_lost.writes, json.flushed_lost.writes, flushes);
    shell.replaceChildren(command(site.command, words));
    question.offer(about() === of);
  };
  const question = guess(bench, texts, () => `${about()} ${cut.value()}`, () => texts.truth(...disorder(history, instant(cut.value()))));
  const open = (): void => {
    if (about() !== of) question.offer(false);
    latest.run(() => attempts.run("drawing", draw));
  };
  settings.watch(open);
  const element = shape(
    "plug",
    texts,
    bench,
    question.element,
    controls(cut.element, flush.element, drive.element),
    sentence,
    picture.element,
    safe,
    shell,
  );
  return { element, open };
}

/** What the flushes of a list take, in turns of so many milliseconds. */
export function flushed({ requests }: History, turn: number): string {
  const took = requests.flatMap(({ op, issued_ns, acknowledged_ns }) =>
    op === "flush" && acknowledged_ns !== null ? [(acknowledged_ns - issued_ns) / 1e6] : [],
  );
  if (took.length === 0) return texts.unsafe;
  const mean = took.reduce((sum, ms) => sum + ms, 0) / took.length;
  return texts.safe(took.length, quantity(mean, "ms"), number(mean / turn));
}

function writes({ requests }: History): Listed[] {
  return requests.filter(({ op }) => op === "write");
}

/** The last write on the platter at a cut, and the first that is lost, by their numbers; 0 where there is none. */
export function disorder(history: History, cut: number): [number, number] {
  const fates = writes(history).map((one) => fate(one, cut));
  return [fates.lastIndexOf("platter") + 1, fates.indexOf("lost") + 1];
}

/** A row for each write, from its acknowledgement to the platter, and the cut across all of them. */
function writesPicture(): {
  element: HTMLElement;
  load: (history: History) => void;
  cut: (at: number) => void;
} {
  const drawing = svg("svg", { class: "ribbon plug", preserveAspectRatio: "none" });
  const list = rowList(drawing, texts.drawing);
  const line = svg("line", { class: "cursor cut", y1: 0 });
  const scale = el("div", { class: "ends soft small" });
  const keys = (Object.keys(texts.fates) as Fate[]).map((one) =>
    el("li", {}, el("span", { class: `swatch fate-${one}` }), texts.fates[one]),
  );
  let rows: { group: SVGElement; write: Listed }[] = [];
  let until = 1;
  const px = (ns: number): number => (Math.min(ns, until) / until) * WIDTH;
  const load = (history: History): void => {
    const listed = writes(history);
    until = Math.max(history.end_ns, ...listed.map(({ landed_ns }) => landed_ns ?? 0));
    const height = listed.length * ROW;
    drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    (drawing as SVGSVGElement).style.height = `${height}px`;
    line.setAttribute("y2", String(height));
    rows = listed.map((write, place) => ({ group: writeRow(write, place, px), write }));
    list.load(rows.map(({ group, write }, place) => ({ element: group, explain: () => explain(write, place) })));
    drawing.replaceChildren(...rows.map(({ group }) => group), line);
    scale.replaceChildren(el("span", {}, "0 ms"), el("span", {}, quantity(until / 1e6, "ms")));
  };
  const cut = (at: number): void => {
    const x = px(at).toFixed(1);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    for (const { group, write } of rows) group.setAttribute("class", `row fate-${fate(write, at)}`);
  };
  return { element: el("div", { class: "ribbon-box" }, el("p", { class: "small soft" }, texts.reading), el("ul", { class: "legend" }, ...keys), drawing, scale, list.told), load, cut };
}

function writeRow({ issued_ns, acknowledged_ns, landed_ns }: Listed, place: number, px: (ns: number) => number): SVGElement {
  const from = px(acknowledged_ns ?? issued_ns);
  const to = landed_ns === null ? WIDTH : px(landed_ns);
  const y = place * ROW;
  const bar = svg("rect", { class: "held", x: from.toFixed(2), y, width: Math.max(1.5, to - from).toFixed(2), height: ROW - 1 });
  const landed = svg("rect", { class: "landed", x: to.toFixed(2), y, width: 5, height: ROW - 1 });
  return svg("g", { class: "row" }, svg("rect", { class: "hit", x: 0, y, width: WIDTH, height: ROW }), bar, landed);
}

/** A write in words. */
function explain({ issued_ns, acknowledged_ns, landed_ns }: Listed, place: number): string {
  const ms = (ns: number | null): string => (ns === null ? texts.never : quantity(ns / 1e6, "ms"));
  return texts.row(place + 1, ms(issued_ns), ms(acknowledged_ns), ms(landed_ns));
}
