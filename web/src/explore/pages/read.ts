// One read: the place of the target is dragged. Two reads on an idle drive (the built-in job `two-reads`); what is told is
// the second.

import { el } from "../../dom";
import { quantity, share } from "../../format";
import { requests, type Request } from "../../stretch";
import type { Stretch } from "../../report";
import { curve, type Line } from "../curve";
import { Latest } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { read as texts, ribbon, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

/** Places of the curve, in percent of the drive (fio's offsets are whole ones). */
const PLACES = Array.from({ length: 100 }, (_, place) => place);
/** The parts that a reader tells apart; the others are the electronics and the cable. */
const SHOWN = ["seek", "rotation", "transfer"] as const;

function setup(drive: string, from: number, target: number): SetupWords {
  const set: [string, string][] = [
    ["job.env.FIRST", `${from}%`],
    ["job.env.SECOND", `${target}%`],
  ];
  return { job: "two-reads", target: drive, set };
}

/** The second read of a stretch, with its parts. */
function second(stretch: Stretch): Request {
  return requests(stretch).at(-1)!;
}

function spent({ parts, response }: Request): { arm: number; turn: number; data: number; rest: number } {
  const [arm, turn, data] = [(parts.seek ?? 0) + (parts.settle ?? 0), parts.rotation ?? 0, parts.transfer ?? 0];
  return { arm, turn, data, rest: response - arm - turn - data };
}

export function readPage(bench: Bench): Page {
  const { settings, quick, slow, fault } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const percent = (value: number): string => texts.place(String(value));
  const ends = { from: 0, to: 99, step: 1, said: percent };
  const target = slider(settings, "target", { label: texts.target, first: 45, ...ends });
  const from = slider(settings, "from", { label: texts.from, first: 10, ...ends });
  const view = player();
  const over = curve(texts.curve, texts.axis, [0, 100]);
  const [told, sentence, shell] = [el("div", {}), el("p", { class: "sentence" }), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
  let lines: Line[] = [];
  let drawn = "";

  const alone = async (one: SetupWords): Promise<Stretch> =>
    (await quick.ask<Stretch[]>({ ask: "timelines", setups: [one], requests: 2, together: false }))[0]!;
  const draw = async (): Promise<void> => {
    const chosen = setup(drive.value(), from.value(), target.value());
    const stretch = await alone(chosen);
    const request = second(stretch);
    const { arm, turn, data, rest } = spent(request);
    view.load([{ side: { level: "", index: 0, name: chosen.target, letter: "A" }, stretch }], request.due);
    told.replaceChildren(
      figures([
        { what: ribbon.parts.seek, value: quantity(arm, "ms") },
        { what: ribbon.parts.rotation, value: quantity(turn, "ms") },
        { what: ribbon.parts.transfer, value: quantity(data, "ms") },
        { what: `${ribbon.parts.overhead}, ${ribbon.parts.link}`, value: quantity(rest, "ms") },
      ]),
    );
    const [whole, ...each] = [request.response, arm, turn, data].map((ms) => quantity(ms, "ms")) as [string, string, string, string];
    sentence.textContent = arm + turn + data === 0 ? texts.hit : texts.sentence(whole, ...each);
    const words = chosen.set!.map(([key, value]) => `--set ${key}=${value}`).join(" ");
    shell.replaceChildren(command(site.command, `seekwise run two-reads --on ${chosen.target} ${words}`));
    over.draw(lines, target.value());
  };
  const trace = async (): Promise<void> => {
    const wanted = `${drive.value()} ${from.value()}`;
    if (wanted === drawn) return;
    const setups = PLACES.map((place) => setup(drive.value(), from.value(), place));
    const stretches = await slow.ask<Stretch[]>({ ask: "timelines", setups, requests: 2, together: false });
    drawn = wanted;
    const all = stretches.map((stretch) => second(stretch).parts);
    lines = SHOWN.map((part) => ({
      name: ribbon.parts[part],
      colour: `var(--part-${part})`,
      stack: true,
      points: PLACES.map((place, index): [number, number] => [place, all[index]![part] ?? 0]),
    }));
    over.draw(lines, target.value());
  };
  const answer = async (reply: HTMLElement): Promise<void> => {
    const stretch = await alone(setup(drive.value(), 0, 50));
    const request = second(stretch);
    reply.textContent = texts.truth(share(spent(request).data / request.response), quantity(request.response, "ms"));
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
    "read",
    texts,
    question,
    el("div", { class: "controls" }, target.element, from.element, drive.element),
    sentence,
    el("div", { class: "two" }, view.element, el("div", {}, told, over.element)),
    shell,
  );
  return { element, open };
}
