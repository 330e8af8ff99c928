// The queue: how many requests are outstanding is dragged. Random reads, taken in order on one side
// (`drive.firmware.depth=1`), chosen by the drive on the other.

import { el } from "../../dom";
import { number, quantity } from "../../format";
import type { Stretch } from "../../report";
import { requests, type Told } from "../../stretch";
import { curve, traced, type Line } from "../curve";
import { Latest, type Engine } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { ribbon } from "../ribbon";
import { queue as texts, site } from "../texts";
import { controls, driveChooser, sentenceBox, shape, type Bench, type Page, type SetupWords } from "./page";

/** Depths of the curves. */
const DEPTHS = [1, 2, 4, 8, 12, 16, 24, 32];
const DEEPEST = 32;
/** Requests that are drawn as rows, of each side. */
const ROWS = 24;
/** Requests whose movements are drawn. */
const DRAWN = 64;
const RUNTIME = "60 s";

/** What is read of a run's record. */
interface Figures {
  iops: number;
  response_ms: { p50: number; p99: number };
}
interface Run {
  json: { all: Figures };
  command: string;
}

const COLOURS = ["var(--side-0)", "var(--side-1)"];

function setup(drive: string, depth: number, chooses: boolean): SetupWords {
  const set: [string, string][] = [["job.depth", String(depth)]];
  if (!chooses) set.push(["drive.firmware.depth", "1"]);
  return { job: "random-read", target: drive, set, runtime: RUNTIME };
}

/** What the queue gains, and whether the slowest pay for it. */
export function verdict(outstanding: number, hasQueue: boolean, ordered: Figures, chosen: Figures): string {
  const waits = [chosen, ordered].flatMap(({ response_ms: { p50, p99 } }) => [quantity(p50, "ms"), quantity(p99, "ms")]);
  const [median, slow, medianBefore, slowBefore] = waits as [string, string, string, string];
  if (outstanding === 1) return texts.alone(median, slow);
  if (!hasQueue) return texts.noQueue(outstanding, median, slow);
  const paid = chosen.response_ms.p99 > ordered.response_ms.p99;
  const ratio = number(chosen.iops / ordered.iops);
  return texts.sentence(outstanding, ratio, [median, medianBefore], [slow, slowBefore], paid);
}

/** The curves of a drive on both sides: its rate, and the wait of its slowest; null if it is no longer wanted. */
async function computeCurves(slow: Engine, name: string, wanted: () => boolean): Promise<Line[][] | null> {
  const found: Figures[][] = [];
  for (const chooses of [false, true]) {
    const side: Figures[] = [];
    for (const value of DEPTHS) {
      side.push((await slow.ask<Run>({ ask: "run", setup: setup(name, value, chooses) })).json.all);
      if (!wanted()) return null;
    }
    found.push(side);
  }
  const line = (pick: (figures: Figures) => number): Line[] =>
    found.map((side, index) => ({
      name: texts.sides[index]!,
      colour: COLOURS[index]!,
      points: side.map((figures, place): [number, number] => [DEPTHS[place]!, pick(figures)]),
    }));
  return [line(({ iops }) => iops), line(({ response_ms }) => response_ms.p99)];
}

export function queuePage(bench: Bench): Page {
  const { settings, quick, slow, drives, attempts } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const said = (value: number): string => String(value);
  const depth = slider(settings, "depth", { label: texts.depth, from: 1, to: DEEPEST, step: 1, first: 8, said });
  const rows = texts.sides.map((side) => ribbon(`${side}: ${texts.rows}`, (request) => view.go(request.due)));
  const view = player((ms) => rows.forEach((one) => one.point(ms)));
  const span: [number, number] = [1, DEEPEST];
  const [rate, slowest] = [curve(texts.rateCurve, texts.axis, span, DEPTHS), curve(texts.slowCurve, texts.axis, span, DEPTHS)];
  const [told, sentence, shell] = [el("div", {}), sentenceBox(), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
  const run = (asked: SetupWords): Promise<Run> => quick.ask<Run>({ ask: "run", setup: asked });
  const pair = (value: number): SetupWords[] => [false, true].map((chooses) => setup(drive.value(), value, chooses));
  const hasQueue = (): boolean => drives.some(({ name, depth: most }) => name === drive.value() && most > 1);

  const draw = async (): Promise<void> => {
    const [outstanding, queues] = [depth.value(), hasQueue()];
    const setups = pair(outstanding);
    const runs = await Promise.all(setups.map(run));
    const [ordered, chosen] = runs.map(({ json }) => json.all) as [Figures, Figures];
    told.replaceChildren(
      figures([
        { what: texts.rate, value: `${number(ordered.iops)} → ${number(chosen.iops)}` },
        { what: texts.median, value: `${number(ordered.response_ms.p50)} → ${quantity(chosen.response_ms.p50, "ms")}` },
        { what: texts.slow, value: `${number(ordered.response_ms.p99)} → ${quantity(chosen.response_ms.p99, "ms")}` },
      ]),
    );
    sentence.textContent = verdict(outstanding, queues, ordered, chosen);
    shell.replaceChildren(...runs.map((one, index) => command(index === 0 ? site.command : "", one.command)));
    lines.show();
    await show(setups);
  };
  const show = async (setups: SetupWords[]): Promise<void> => {
    const stretches = await quick.ask<Stretch[]>({ ask: "timelines", setups, requests: DRAWN, together: true });
    const sides: Told[] = stretches.map((stretch, index) => ({
      side: { level: String(index), index, name: texts.sides[index]!, letter: "AB"[index]! },
      stretch,
    }));
    view.load(sides);
    const firsts = sides.map(({ stretch }) => requests(stretch).slice(0, ROWS));
    const until = Math.max(...firsts.flat().map(({ due, response }) => due + response));
    rows.forEach((one, index) => one.load(firsts[index]!, until));
  };
  const lines = traced(drive.value, (wanted) => computeCurves(slow, drive.value(), wanted), ([rates = [], waits = []]) => {
    rate.draw(rates, depth.value());
    slowest.draw(waits, depth.value());
  });
  const question = guess(bench, texts, drive.value, async () => {
    const queues = hasQueue();
    const [ordered, chosen] = (await Promise.all(pair(DEEPEST).map(run))) as [Run, Run];
    return texts.truth(number(chosen.json.all.iops / ordered.json.all.iops), queues);
  });
  const open = (): void => {
    latest.run(() => attempts.run("drawing", draw));
    curves.run(() => attempts.run("curves", lines.trace));
  };
  settings.watch(open);
  const element = shape(
    "queue",
    texts,
    bench,
    question.element,
    controls(depth.element, drive.element),
    sentence,
    told,
    view.element,
    el("div", { class: "two" }, ...rows.map(({ element: one }, side) => el("div", {}, el("p", { class: "caption on-paper" }, texts.sides[side]!), one))),
    el("div", { class: "two" }, rate.element, slowest.element),
    shell,
  );
  return { element, open };
}
