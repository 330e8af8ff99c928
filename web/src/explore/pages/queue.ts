// The queue: how many requests are outstanding is dragged. Random reads, taken in order on one side
// (`drive.firmware.depth=1`), chosen by the drive on the other.

import { el } from "../../dom";
import { number, quantity } from "../../format";
import type { Stretch } from "../../report";
import { requests, type Told } from "../../stretch";
import { curve, type Line } from "../curve";
import { Latest } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { ribbon } from "../ribbon";
import { queue as texts, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

/** Depths of the curves. */
const DEPTHS = [1, 2, 4, 8, 12, 16, 24, 32];
const DEEPEST = 32;
/** Requests that are drawn as rows, of each side. */
const ROWS = 24;
/** Requests whose movements are drawn. */
const DRAWN = 64;
const RUNTIME = "60 s";

/** What is read of a run's record. */
interface Record {
  all: { iops: number; response_ms: { p50: number; p99: number } };
}
interface Run {
  json: Record;
  command: string;
}

const COLOURS = ["var(--side-0)", "var(--side-1)"];

function setup(drive: string, depth: number, chooses: boolean): SetupWords {
  const set: [string, string][] = [["job.depth", String(depth)]];
  if (!chooses) set.push(["drive.firmware.depth", "1"]);
  return { job: "random-read", target: drive, set, runtime: RUNTIME };
}

export function queuePage(bench: Bench): Page {
  const { settings, quick, slow, fault } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const said = (value: number): string => String(value);
  const depth = slider(settings, "depth", { label: texts.depth, from: 1, to: DEEPEST, step: 1, first: 8, said });
  const rows = texts.sides.map((side) => ribbon(`${side}: ${texts.rows}`, (request) => view.go(request.due)));
  const view = player((ms) => rows.forEach((one) => one.point(ms)));
  const span: [number, number] = [1, DEEPEST];
  const [rate, slowest] = [curve(texts.rateCurve, texts.axis, span, DEPTHS), curve(texts.slowCurve, texts.axis, span, DEPTHS)];
  const [told, sentence, shell] = [el("div", {}), el("p", { class: "sentence" }), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
  let lines: { rate: Line[]; slow: Line[] } = { rate: [], slow: [] };
  let drawn = "";

  const run = (asked: SetupWords): Promise<Run> => quick.ask<Run>({ ask: "run", setup: asked });
  const pair = (value: number): SetupWords[] => [false, true].map((chooses) => setup(drive.value(), value, chooses));

  const draw = async (): Promise<void> => {
    const outstanding = depth.value();
    const setups = pair(outstanding);
    const runs = await Promise.all(setups.map(run));
    const [ordered, chosen] = runs.map(({ json }) => json.all) as [Record["all"], Record["all"]];
    told.replaceChildren(
      figures([
        { what: texts.rate, value: `${number(ordered.iops)} → ${number(chosen.iops)}` },
        { what: texts.median, value: `${number(ordered.response_ms.p50)} → ${quantity(chosen.response_ms.p50, "ms")}` },
        { what: texts.slow, value: `${number(ordered.response_ms.p99)} → ${quantity(chosen.response_ms.p99, "ms")}` },
      ]),
    );
    const [ratio, median, p99] = [
      number(chosen.iops / ordered.iops),
      quantity(chosen.response_ms.p50, "ms"),
      quantity(chosen.response_ms.p99, "ms"),
    ];
    sentence.textContent = texts.sentence(outstanding, ratio, median, p99);
    shell.replaceChildren(...runs.map((one, index) => command(index === 0 ? site.command : "", one.command)));
    rate.draw(lines.rate, outstanding);
    slowest.draw(lines.slow, outstanding);
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
  const trace = async (): Promise<void> => {
    if (drive.value() === drawn) return;
    const wanted = drive.value();
    const found: Record["all"][][] = [];
    for (const chooses of [false, true]) {
      const side: Record["all"][] = [];
      for (const value of DEPTHS)
        side.push((await slow.ask<Run>({ ask: "run", setup: setup(wanted, value, chooses) })).json.all);
      found.push(side);
    }
    drawn = wanted;
    const line = (pick: (record: Record["all"]) => number): Line[] =>
      found.map((side, index) => ({
        name: texts.sides[index]!,
        colour: COLOURS[index]!,
        points: side.map((record, place): [number, number] => [DEPTHS[place]!, pick(record)]),
      }));
    lines = { rate: line(({ iops }) => iops), slow: line(({ response_ms }) => response_ms.p99) };
    rate.draw(lines.rate, depth.value());
    slowest.draw(lines.slow, depth.value());
  };
  const answer = async (reply: HTMLElement): Promise<void> => {
    const [ordered, chosen] = (await Promise.all(pair(DEEPEST).map(run))) as [Run, Run];
    reply.textContent = texts.truth(number(chosen.json.all.iops / ordered.json.all.iops));
  };
  const question = guess(texts.guess, texts.answers, () => {
    const reply = el("span", {});
    answer(reply).catch(fault);
    return [reply];
  });
  const open = (): void => {
    latest.run(() => draw().catch(fault));
    curves.run(() => trace().catch(fault));
  };
  settings.watch(open);
  const element = shape(
    "queue",
    texts,
    question,
    el("div", { class: "controls" }, depth.element, drive.element),
    sentence,
    told,
    view.element,
    el("div", { class: "two" }, ...rows.map(({ element: one }) => one)),
    el("div", { class: "two" }, rate.element, slowest.element),
    shell,
  );
  return { element, open };
}
