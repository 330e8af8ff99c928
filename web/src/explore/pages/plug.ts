// The plug: the instant of a cut is dragged through the writes of a program (the built-in job `paced-writes`). The list
// says when each write was acknowledged and on the platter; how many are lost is the judge's figure (`power-cut`).

import { el, svg } from "../../dom";
import { quantity } from "../../format";
import { Latest } from "../engine";
import { chooser, command, guess, slider } from "../parts";
import { plug as texts, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

/** A write or a flush (`crates/explore/src/plug.rs`). */
interface Listed {
  op: "write" | "flush";
  issued_ns: number;
  acknowledged_ns: number | null;
  landed_ns: number | null;
}
interface History {
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
  const { settings, quick, fault } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const flush = chooser(settings, "flush", texts.flush, texts.flushes);
  const [latest, loading] = [new Latest(), new Latest()];
  let history: History = { requests: [], end_ns: 0 };
  let loaded = "";
  const instant = (place: number): number => Math.round((history.end_ns * place) / STEPS);
  const said = (place: number): string => quantity(instant(place) / 1e6, "ms");
  const cut = slider(settings, "cut", { label: texts.cut, from: 1, to: STEPS, step: 1, first: 90, said });
  const [sentence, shell, told] = [el("p", { class: "sentence" }), el("div", {}), el("p", { class: "small told", role: "status" })];
  const picture = writesPicture((words) => (told.textContent = words));
  const setup = (): SetupWords => ({ job: "paced-writes", target: drive.value(), set: [["job.env.FLUSH", flush.value()]] });

  const draw = async (): Promise<void> => {
    const at = instant(cut.value());
    picture.cut(at);
    const { json, command: words } = await quick.ask<Cut>({ ask: "power-cut", setup: setup(), at_ns: at });
    const acknowledged = writes(history).filter((one) => one.acknowledged_ns !== null && one.acknowledged_ns <= at);
    sentence.textContent = texts.counts(acknowledged.length, json.acknowledged_lost.writes, json.flushed_lost.writes);
    shell.replaceChildren(command(site.command, words));
  };
  const load = async (): Promise<void> => {
    const wanted = JSON.stringify(setup());
    if (wanted === loaded) return;
    history = await quick.ask<History>({ ask: "writes", setup: setup() });
    loaded = wanted;
    picture.load(history);
    cut.show();
  };
  const question = guess(texts.guess, texts.answers, () => {
    const [there, lost] = disorder(history, instant(cut.value()));
    return [texts.truth(there, lost)];
  });
  const open = (): void => {
    if (JSON.stringify(setup()) === loaded) latest.run(() => draw().catch(fault));
    else
      loading.run(async () => {
        await load().catch(fault);
        latest.run(() => draw().catch(fault));
      });
  };
  settings.watch(open);
  const element = shape(
    "plug",
    texts,
    question,
    el("div", { class: "controls" }, cut.element, flush.element, drive.element),
    sentence,
    picture.element,
    told,
    el("p", { class: "small soft" }, texts.safe),
    shell,
  );
  return { element, open };
}

function writes({ requests }: History): Listed[] {
  return requests.filter(({ op }) => op === "write");
}

/** The last write on the platter at a cut, and the first that is lost, by their numbers; 0 where there is none. */
function disorder(history: History, cut: number): [number, number] {
  const fates = writes(history).map((one) => fate(one, cut));
  return [fates.lastIndexOf("platter") + 1, fates.indexOf("lost") + 1];
}

/** A row for each write, from its acknowledgement to the platter, and the cut across all of them. */
function writesPicture(tell: (words: string) => void): {
  element: HTMLElement;
  load: (history: History) => void;
  cut: (at: number) => void;
} {
  const drawing = svg("svg", { class: "ribbon plug", role: "img", "aria-label": texts.drawing, preserveAspectRatio: "none" });
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
    rows = listed.map((write, place) => ({ group: writeRow(write, place, px, tell), write }));
    drawing.replaceChildren(...rows.map(({ group }) => group), line);
    scale.replaceChildren(el("span", {}, "0 ms"), el("span", {}, quantity(until / 1e6, "ms")));
  };
  const cut = (at: number): void => {
    const x = px(at).toFixed(1);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    for (const { group, write } of rows) group.setAttribute("class", `row fate-${fate(write, at)}`);
  };
  return { element: el("div", { class: "ribbon-box" }, el("ul", { class: "legend" }, ...keys), drawing, scale), load, cut };
}

function writeRow(write: Listed, place: number, px: (ns: number) => number, tell: (words: string) => void): SVGElement {
  const { issued_ns, acknowledged_ns, landed_ns } = write;
  const from = px(acknowledged_ns ?? issued_ns);
  const to = landed_ns === null ? WIDTH : px(landed_ns);
  const y = place * ROW;
  const bar = svg("rect", { class: "held", x: from.toFixed(2), y, width: Math.max(1.5, to - from).toFixed(2), height: ROW - 1 });
  const landed = svg("rect", { class: "landed", x: to.toFixed(2), y, width: 5, height: ROW - 1 });
  const group = svg("g", { class: "row" }, svg("rect", { class: "hit", x: 0, y, width: WIDTH, height: ROW }), bar, landed);
  const ms = (ns: number | null): string => (ns === null ? texts.never : quantity(ns / 1e6, "ms"));
  group.addEventListener("click", () => tell(texts.row(place + 1, ms(issued_ns), ms(acknowledged_ns), ms(landed_ns))));
  return group;
}
