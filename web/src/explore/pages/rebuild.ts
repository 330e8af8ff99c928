// A rebuild beside its users: the budget is dragged. All budgets are simulated once, one after another; the slider moves
// among those that are there.

import { el } from "../../dom";
import { number, quantity } from "../../format";
import { curve } from "../curve";
import { command, figures, guess, slider } from "../parts";
import { Latest, type Engine } from "../engine";
import { rebuild as texts, site } from "../texts";
import { controls, driveChooser, sentenceBox, shape, type Bench, type Page, type SetupWords } from "./page";

/** Budgets in megabytes a second on each drive. */
const BUDGETS = [10, 20, 35, 50, 75, 100, 150];
/** Requests a second of the users. */
const USERS = 40;
/** Stretches of the drive that are simulated. */
const STRETCHES = 8;

interface Users {
  p99_ms: number;
}
interface Phase {
  mb_per_s: number | null;
  users: Users | null;
}
interface Answer {
  json: { policies: { hours: number | null; phases: Phase[] }[] };
}

/** What is shown of one budget. */
interface Price {
  hours: number;
  before: number;
  during: number;
}

function setup(drive: string): SetupWords {
  const set: [string, string][] = [
    ["array", "raid-1"],
    ["array.drives", "2"],
    ["driver", "linux-mq-deadline"],
  ];
  return { job: "random-read", target: drive, set };
}

/** What the library is asked for one budget. */
export function questionOf(drive: string, megabytes: number): object {
  return { ask: "rebuild", setup: setup(drive), users: USERS, policy: `fixed:${megabytes}m`, stretches: STRETCHES };
}

/** The command that asks the program the same. */
export function shellWords(drive: string, megabytes: number): string {
  const policy = `--policy fixed:${megabytes}m --stretches ${STRETCHES}`;
  return `seekwise rebuild --on ${drive} --array raid-1 --drives 2 --users ${USERS} ${policy}`;
}

/** Simulates one budget. */
async function priceOf(slow: Engine, target: string, megabytes: number): Promise<Price> {
  const { json } = await slow.ask<Answer>(questionOf(target, megabytes));
  const [answer] = json.policies;
  const during = answer!.phases.filter(({ mb_per_s }) => mb_per_s !== null);
  return {
    hours: answer!.hours ?? NaN,
    before: answer!.phases[0]!.users!.p99_ms,
    during: Math.max(...during.map(({ users }) => users!.p99_ms)),
  };
}

/** The smallest budget beside the largest. */
function comparison(slowest: Price, fastest: Price): string {
  const hours = [fastest, slowest].map((one) => quantity(one.hours, "h")) as [string, string];
  const waits = [fastest, slowest].map((one) => quantity(one.during, "ms")) as [string, string];
  return texts.supported(texts.said(BUDGETS.at(-1)!), texts.said(BUDGETS[0]!), hours, waits);
}

export function rebuildPage(bench: Bench): Page {
  const { settings, slow, attempts } = bench;
  const drive = driveChooser(bench, "exos-x18");
  const budget = slider(settings, "budget", {
    label: texts.budget,
    from: 0,
    to: BUDGETS.length - 1,
    step: 1,
    first: 3,
    said: (place) => texts.said(BUDGETS[place]!),
  });
  const span: [number, number] = [0, BUDGETS.at(-1)!];
  const hours = curve(texts.hoursCurve, texts.axis, span, BUDGETS);
  const waits = curve(texts.waitCurve, texts.axis, span, BUDGETS);
  const [told, sentence, supported] = [el("div", {}), sentenceBox(), el("p", {})];
  const [shell, progress] = [el("div", {}), el("p", { class: "small soft", role: "status" })];
  const prices = new Map<string, Price[]>();
  const latest = new Latest();

  const draw = (): void => {
    const found = prices.get(drive.value()) ?? [];
    const place = budget.value();
    const price = found[place];
    progress.textContent = found.length < BUDGETS.length ? texts.computing(found.length, BUDGETS.length) : texts.note;
    const line = (name: string, colour: string, pick: (price: Price) => number) => ({
      name,
      colour,
      points: found.map((one, index): [number, number] => [BUDGETS[index]!, pick(one)]),
    });
    hours.draw([line(texts.hours, "var(--side-0)", (one) => one.hours)], BUDGETS[place]!);
    waits.draw([line(texts.wait, "var(--side-1)", (one) => one.during)], BUDGETS[place]!);
    shell.replaceChildren(command(site.command, shellWords(drive.value(), BUDGETS[place]!)));
    question.offer([20, 100].every((megabytes) => found[BUDGETS.indexOf(megabytes)] !== undefined));
    supported.textContent = "";
    if (price === undefined) {
      told.replaceChildren();
      sentence.textContent = site.computing;
      return;
    }
    const [long, wait, before] = [number(price.hours), quantity(price.during, "ms"), quantity(price.before, "ms")];
    told.replaceChildren(
      figures([
        { what: texts.hours, value: long },
        { what: texts.wait, value: wait },
        { what: texts.before, value: before },
      ]),
    );
    sentence.textContent = texts.sentence(texts.said(BUDGETS[place]!), long, wait, before);
    if (found.length < BUDGETS.length) return;
    supported.textContent = comparison(found[0]!, found.at(-1)!);
  };
  const compute = async (): Promise<void> => {
    const wanted = drive.value();
    const found = prices.get(wanted) ?? [];
    prices.set(wanted, found);
    while (found.length < BUDGETS.length && drive.value() === wanted) {
      found.push(await priceOf(slow, wanted, BUDGETS[found.length]!));
      draw();
    }
  };
  const question = guess(bench, texts, drive.value, () => {
    const [slowest, fast] = [20, 100].map((megabytes) => prices.get(drive.value())![BUDGETS.indexOf(megabytes)]!.hours);
    return texts.truth(number(fast! / slowest!), quantity(slowest, "h"), quantity(fast, "h"));
  });
  const open = (): void => {
    draw();
    latest.run(() => attempts.run("curves", compute));
  };
  settings.watch(open);
  const element = shape(
    "rebuild",
    texts,
    bench,
    question.element,
    controls(budget.element, drive.element),
    sentence,
    told,
    el("div", { class: "two" }, hours.element, waits.element),
    supported,
    progress,
    shell,
  );
  return { element, open };
}
