// A commit: how many records share one flush is dragged. A log whose blocks exist (the built-in job `flushed-writes`), and
// beside it a file that grows on ext4 (the operation `append` of the built-in scene `fsync`).

import { el } from "../../dom";
import { number } from "../../format";
import type { Stretch } from "../../report";
import { requests } from "../../stretch";
import { curve, traced, type Line } from "../curve";
import { Latest, type Engine } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { ribbon } from "../ribbon";
import { commit as texts, site } from "../texts";
import { controls, driveChooser, sentenceBox, shape, type Bench, type DriveSummary, type Page, type SetupWords } from "./page";

/** Commits to a flush, along the curve. */
const SHARED = [1, 2, 4, 8, 16, 24, 32, 48, 64];
const MOST = 64;
/** Flushes whose writes are drawn. */
const FLUSHES = 3;
const RUNTIME = "5 s";

interface Timed {
  response_ms: { mean: number };
}
interface Run {
  json: { write: { iops: number }; commit: Timed; operations: Record<string, Timed> };
  command: string;
}

function setup(drive: string, shared: number): SetupWords {
  const set: [string, string][] = [
    ["job.env.RW", "write"],
    ["job.env.FLUSH", String(shared)],
  ];
  return { job: "flushed-writes", target: drive, set, runtime: RUNTIME };
}

/** The curve of a drive; null if it is no longer wanted. */
async function computeCurves(slow: Engine, name: string, wanted: () => boolean): Promise<Line[][] | null> {
  const points: [number, number][] = [];
  for (const count of SHARED) {
    const { json } = await slow.ask<Run>({ ask: "run", setup: setup(name, count) });
    if (!wanted()) return null;
    points.push([count, json.write.iops]);
  }
  return [[{ name: texts.perSecond, colour: "var(--side-0)", points }]];
}

export function commitPage(bench: Bench): Page {
  const { settings, quick, slow, drives, attempts } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const said = (value: number): string => String(value);
  const shared = slider(settings, "shared", { label: texts.shared, from: 1, to: MOST, step: 1, first: 8, said });
  const rows = ribbon(texts.rows, (request) => view.go(request.due));
  const view = player((ms) => rows.point(ms));
  const rate = curve(texts.curve, texts.axis, [1, MOST], SHARED);
  const [told, sentence, shell] = [el("div", {}), sentenceBox(), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
  const grown = new Map<string, number>();
  const run = (name: string, count: number): Promise<Run> => quick.ask<Run>({ ask: "run", setup: setup(name, count) });
  const chosen = (): DriveSummary => drives.find(({ name }) => name === drive.value())!;

  const draw = async (): Promise<void> => {
    const [count, { name, rpm }] = [shared.value(), chosen()];
    const turn = 60_000 / rpm;
    const [one, several] = (await Promise.all([run(name, 1), run(name, count)])) as [Run, Run];
    const wait = several.json.commit.response_ms.mean / turn;
    const append = await appended(name, turn);
    told.replaceChildren(
      figures([
        { what: texts.perSecond, value: number(several.json.write.iops) },
        { what: texts.turns, value: number(wait) },
        { what: texts.grown, value: number(append) },
      ]),
    );
    const [rates, singles] = [number(several.json.write.iops), number(one.json.write.iops)];
    sentence.textContent = texts.sentence(count, number(wait), number(append), rates, singles);
    shell.replaceChildren(
      command(site.command, several.command),
      command("", `seekwise run fsync --on ${name}`),
    );
    lines.show();
    const [setups, most] = [[setup(name, count)], FLUSHES * (count + 1)];
    const asked = { ask: "timelines", setups, requests: most, together: false };
    const stretch = (await quick.ask<Stretch[]>(asked))[0]!;
    view.load([{ side: { level: "", index: 0, name, letter: "A" }, stretch }]);
    const all = requests(stretch).sort((a, b) => a.due - b.due);
    rows.load(all, Math.max(...all.map(({ due, response }) => due + response)));
  };
  /** Turns of so many milliseconds that a commit of a growing file waits on a drive. */
  const appended = async (name: string, turn: number): Promise<number> => {
    if (!grown.has(name)) {
      const { json } = await slow.ask<Run>({ ask: "run", setup: { job: "fsync", target: name } });
      grown.set(name, json.operations.append!.response_ms.mean / turn);
    }
    return grown.get(name)!;
  };
  const lines = traced(drive.value, (wanted) => computeCurves(slow, drive.value(), wanted), ([one = []]) => rate.draw(one, shared.value()));
  const question = guess(bench, texts, drive.value, async () => {
    const name = drive.value();
    const [one, many] = (await Promise.all([run(name, 1), run(name, 16)])) as [Run, Run];
    return texts.truth(number(many.json.commit.response_ms.mean / one.json.commit.response_ms.mean));
  });
  const open = (): void => {
    latest.run(() => attempts.run("drawing", draw));
    curves.run(() => attempts.run("curves", lines.trace));
  };
  settings.watch(open);
  const element = shape(
    "commit",
    texts,
    bench,
    question.element,
    controls(shared.element, drive.element),
    sentence,
    told,
    el("div", { class: "two" }, el("div", {}, rate.element, rows.element), view.element),
    shell,
  );
  return { element, open };
}
