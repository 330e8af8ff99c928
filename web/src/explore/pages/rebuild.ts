// A rebuild beside its users: the budget is dragged. All budgets are simulated once, one after another; the slider moves
// among those that are there.

import { el } from "../../dom";
import { number, quantity } from "../../format";
import { curve } from "../curve";
import { command, figures, guess, slider } from "../parts";
import { Latest } from "../engine";
import { rebuild as texts, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

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

export function rebuildPage(bench: Bench): Page {
  const { settings, slow, fault } = bench;
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
  const [told, sentence, supported] = [el("div", {}), el("p", { class: "sentence" }), el("p", {})];
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
    const [array, policy] = ["--array raid-1 --drives 2", `--policy fixed:${BUDGETS[place]}m --stretches ${STRETCHES}`];
    const words = `seekwise rebuild --on ${drive.value()} ${array} --users ${USERS} ${policy}`;
    shell.replaceChildren(command(site.command, words));
    if (price === undefined) return;
    const [long, wait, before] = [number(price.hours), quantity(price.during, "ms"), quantity(price.before, "ms")];
    told.replaceChildren(
      figures([
        { what: texts.hours, value: long },
        { what: texts.wait, value: wait },
        { what: texts.before, value: before },
      ]),
    );
    sentence.textContent = texts.sentence(texts.said(BUDGETS[place]!), long, wait, before);
    const [slowest, fastest] = [found[0]!, found.at(-1)!];
    const named = (one: Price): [string, string] => [quantity(one.hours, "h"), quantity(one.during, "ms")];
    const [[h0, w0], [h1, w1]] = [named(fastest), named(slowest)];
    const [high, low] = [texts.said(BUDGETS[found.length - 1]!), texts.said(BUDGETS[0]!)];
    supported.textContent = found.length < BUDGETS.length ? "" : texts.supported(high, low, [h0, h1], [w0, w1]);
  };
  const compute = async (): Promise<void> => {
    const wanted = drive.value();
    const found = prices.get(wanted) ?? [];
    prices.set(wanted, found);
    while (found.length < BUDGETS.length && drive.value() === wanted) {
      found.push(await priceOf(wanted, BUDGETS[found.length]!));
      draw();
    }
  };
  const priceOf = async (target: string, megabytes: number): Promise<Price> => {
    const policy = `fixed:${megabytes}m`;
    const asked = { ask: "rebuild", setup: setup(target), users: USERS, policy, stretches: STRETCHES };
    const { json } = await slow.ask<Answer>(asked);
    const [answer] = json.policies;
    const during = answer!.phases.filter(({ mb_per_s }) => mb_per_s !== null);
    return {
      hours: answer!.hours ?? NaN,
      before: answer!.phases[0]!.users!.p99_ms,
      during: Math.max(...during.map(({ users }) => users!.p99_ms)),
    };
  };
  const question = guess(texts.guess, texts.answers, () => {
    const found = prices.get(drive.value()) ?? [];
    const at = (megabytes: number): Price | undefined => found[BUDGETS.indexOf(megabytes)];
    const [slowest, fast] = [at(20), at(100)];
    if (!slowest || !fast) return [texts.computing(found.length, BUDGETS.length)];
    return [texts.truth(number(fast.hours / slowest.hours), quantity(slowest.hours, "h"), quantity(fast.hours, "h"))];
  });
  const open = (): void => {
    draw();
    latest.run(() => compute().catch(fault));
  };
  settings.watch(open);
  const element = shape(
    "rebuild",
    texts,
    question,
    el("div", { class: "controls" }, budget.element, drive.element),
    sentence,
    told,
    el("div", { class: "two" }, hours.element, waits.element),
    supported,
    progress,
    shell,
  );
  return { element, open };
}
