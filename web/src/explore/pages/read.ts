// One read: the place of the target is dragged, or pressed on the platter. Two reads on an idle drive (the built-in job
// `two-reads`); what is told is the second.

import { el } from "../../dom";
import { quantity, share } from "../../format";
import { movements, requests, type Request } from "../../stretch";
import type { Stretch } from "../../report";
import { curve, traced, type Line } from "../curve";
import { Latest } from "../engine";
import { command, figures, guess, slider } from "../parts";
import { player } from "../player";
import { read as texts, ribbon } from "../texts";
import { controls, driveChooser, sentenceBox, shape, type Bench, type Page, type SetupWords } from "./page";

/** Places of the curve, in percent of the drive (fio's offsets are whole ones). */
const PLACES = Array.from({ length: 100 }, (_, place) => place);
/** The parts that a reader tells apart; the others are the electronics and the cable. */
const SHOWN = ["seek", "rotation", "transfer"] as const;

export function setup(drive: string, from: number, target: number): SetupWords {
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

/** The command that asks the program the same. */
export function shellWords({ target, set }: SetupWords): string {
  return `seekwise run two-reads --on ${target} ${set!.map(([key, value]) => `--set ${key}=${value}`).join(" ")}`;
}

/** How far in a press on the drawing of a drive lies: 0 is the outermost cylinder, 1 the innermost; null off the platter. */
function pressedDepth({ target, clientX, clientY }: MouseEvent): number | null {
  const drawing = (target as Element).closest<SVGSVGElement>("svg.disc");
  const [outer, inner] = [...(drawing?.querySelectorAll(".edge") ?? [])].map((edge) => Number(edge.getAttribute("r")));
  const seen = drawing?.getScreenCTM();
  if (!seen || outer === undefined || inner === undefined) return null;
  const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(seen.inverse());
  const depth = (outer - Math.hypot(x, y)) / (outer - inner);
  return depth < 0 || depth > 1 ? null : depth;
}

function spent({ parts, response }: Request): { arm: number; turn: number; data: number; rest: number } {
  const [arm, turn, data] = [(parts.seek ?? 0) + (parts.settle ?? 0), parts.rotation ?? 0, parts.transfer ?? 0];
  return { arm, turn, data, rest: response - arm - turn - data };
}

export function readPage(bench: Bench): Page {
  const { settings, quick, slow, attempts } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const percent = (value: number): string => texts.place(String(value));
  const ends = { from: 0, to: 99, step: 1, said: percent };
  const target = slider(settings, "target", { label: texts.target, first: 45, ...ends });
  const from = slider(settings, "from", { label: texts.from, first: 10, ...ends });
  const view = player();
  const over = curve(texts.curve, texts.axis, [0, 100]);
  const [told, sentence, shell] = [el("div", {}), sentenceBox(), el("div", {})];
  const [latest, curves] = [new Latest(), new Latest()];
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
    shell.replaceChildren(command(texts.command, shellWords(chosen)));
    lines.show();
  };
  /** How far in each of the places lies, on a drive. */
  let [depths, depthsOf]: [number[], string] = [[], ""];
  const compute = async (): Promise<Line[][]> => {
    const name = drive.value();
    const setups = PLACES.map((place) => setup(name, from.value(), place));
    const stretches = await slow.ask<Stretch[]>({ ask: "timelines", setups, requests: 2, together: false });
    const all = stretches.map((stretch) => second(stretch).parts);
    [depths, depthsOf] = [stretches.map((stretch) => (movements(stretch, 0).at(-1)?.to ?? NaN) / stretch.cylinders), name];
    return [
      SHOWN.map((part) => ({
        name: ribbon.parts[part],
        colour: `var(--part-${part})`,
        stack: true,
        points: PLACES.map((place, index): [number, number] => [place, all[index]![part] ?? 0]),
      })),
    ];
  };
  const lines = traced(() => `${drive.value()} ${from.value()}`, compute, ([parts = []]) => over.draw(parts, target.value()));
  const question = guess(bench, texts, drive.value, async () => {
    const request = second(await alone(setup(drive.value(), 0, 50)));
    return texts.truth(share(spent(request).data / request.response), quantity(request.response, "ms"));
  });
  const open = (): void => {
    latest.run(() => attempts.run("drawing", draw));
    curves.run(() => attempts.run("curves", lines.trace));
  };
  view.element.addEventListener("click", (event) => {
    const depth = pressedDepth(event);
    if (depth === null || depthsOf !== drive.value()) return;
    const far = (place: number): number => Math.abs((depths[place] ?? NaN) - depth);
    target.set(PLACES.reduce((best, place) => (far(place) < far(best) || Number.isNaN(far(best)) ? place : best)));
  });
  settings.watch(open);
  const element = shape(
    "read",
    texts,
    bench,
    question.element,
    controls(target.element, from.element, drive.element),
    sentence,
    el("div", { class: "two" }, view.element, el("div", {}, told, over.element)),
    shell,
  );
  return { element, open };
}
