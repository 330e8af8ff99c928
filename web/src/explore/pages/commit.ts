// A commit: how many records share one flush is dragged. A log whose blocks exist (the built-in job `flushed-writes`), and
// beside it a file that grows on ext4 (the operation `append` of the built-in scene `fsync`).

import { el } from "../../dom";
import { number } from "../../format";
import type { Stretch } from "../../report";
import { requests } from "../../stretch";
import { curve, type Line } from "../curve";
import { Latest } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { ribbon } from "../ribbon";
import { commit as texts, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

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

export function commitPage(bench: Bench): Page {
  const { settings, quick, slow, drives, fault } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const said = (value: number): string => String(value);
  const shared = slider(settings, "shared", { label: texts.shared, from: 1, to: MOST, step: 1, first: 8, said });
  const rows = ribbon(texts.rows, (request) => view.go(request.due));
  const view = player((ms) => rows.point(ms));
  const rate = curve(texts.curve, texts.axis, [1, MOST], SHARED);
  const [told, sentence, shell] = [el("div", {}), el("p", { class: "sentence" }), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
  const grown = new Map<string, number>();
  let lines: Line[] = [];
  let drawn = "";
  const run = (count: number): Promise<Run> => quick.ask<Run>({ ask: "run", setup: setup(drive.value(), count) });
  /** Milliseconds of a turn of the chosen drive. */
  const turn = (): number => 60_000 / drives.find(({ name }) => name === drive.value())!.rpm;

  const draw = async (): Promise<void> => {
    const count = shared.value();
    const [one, several] = (await Promise.all([run(1), run(count)])) as [Run, Run];
    const wait = several.json.commit.response_ms.mean / turn();
    const append = await appended();
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
      command("", `seekwise run fsync --on ${drive.value()}`),
    );
    rate.draw(lines, count);
    const [setups, most] = [[setup(drive.value(), count)], FLUSHES * (count + 1)];
    const asked = { ask: "timelines", setups, requests: most, together: false };
    const stretch = (await quick.ask<Stretch[]>(asked))[0]!;
    view.load([{ side: { level: "", index: 0, name: drive.value(), letter: "A" }, stretch }]);
    const all = requests(stretch).sort((a, b) => a.due - b.due);
    rows.load(all, Math.max(...all.map(({ due, response }) => due + response)));
  };
  /** Turns that a commit of a growing file waits on the chosen drive. */
  const appended = async (): Promise<number> => {
    const name = drive.value();
    if (!grown.has(name)) {
      const { json } = await slow.ask<Run>({ ask: "run", setup: { job: "fsync", target: name } });
      grown.set(name, json.operations.append!.response_ms.mean / turn());
    }
    return grown.get(name)!;
  };
  const trace = async (): Promise<void> => {
    if (drive.value() === drawn) return;
    const wanted = drive.value();
    const points: [number, number][] = [];
    for (const count of SHARED) {
      const { json } = await slow.ask<Run>({ ask: "run", setup: setup(wanted, count) });
      points.push([count, json.write.iops]);
    }
    drawn = wanted;
    lines = [{ name: texts.perSecond, colour: "var(--side-0)", points }];
    rate.draw(lines, shared.value());
  };
  const answer = async (reply: HTMLElement): Promise<void> => {
    const [one, many] = (await Promise.all([run(1), run(16)])) as [Run, Run];
    reply.textContent = texts.truth(number(many.json.commit.response_ms.mean / one.json.commit.response_ms.mean));
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
    "commit",
    texts,
    question,
    el("div", { class: "controls" }, shared.element, drive.element),
    sentence,
    told,
    el("div", { class: "two" }, el("div", {}, rate.element, rows.element), view.element),
    shell,
  );
  return { element, open };
}
