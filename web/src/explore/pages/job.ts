// Your job: a pasted fio job or Iometer configuration, a drive, a setting and two values; the answer, its report, and the
// result folder, all as the program makes them.

import { zipSync, strToU8 } from "fflate";
import { press } from "../../controls";
import { el } from "../../dom";
import { save } from "../../download";
import { Faults, Stopped } from "../engine";
import { chooser, command } from "../parts";
import type { Settings } from "../state";
import { job as texts, site } from "../texts";
import { controls, driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

/** Runs of each side. */
const RUNS = 5;

const EXAMPLE = `[reads]
ioengine=libaio
direct=1
rw=randread
bs=8k
size=10g
iodepth=16
time_based=1
runtime=20
`;

/** Settings that are offered; any key of \`seekwise keys\` may be typed. */
const KEYS: { key: string; from: string; to: string }[] = [
  { key: "drive.firmware.depth", from: "1", to: "32" },
  { key: "drive.cache.write_back", from: "true", to: "false" },
  { key: "driver.queue.policy", from: "fifo", to: "look" },
  { key: "array", from: "none", to: "raid-1" },
  { key: "drive", from: "barracuda-7200.7-ncq", to: "exos-x18" },
];

const PATTERNS = ["random-read", "random-write", "file-server", "database", "workstation", "web-server"];

interface Side {
  text: string;
  worse: boolean;
}
interface Answer {
  json: {
    said: string;
    to: string;
    title: string;
    cause: { text: string } | null;
    /** Why nothing differs. */
    unasked?: string;
    beside: Side[];
    refused: string | null;
  };
  /** How the job was read otherwise than it says. */
  warnings: string[];
  question: string;
  command: string;
  page: string;
  files: [name: string, text: string][];
}

export function jobPage(bench: Bench): Page {
  const { settings } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const options = [{ value: "", text: texts.pasted }, ...PATTERNS.map((name) => ({ value: name, text: name }))];
  const pattern = chooser(settings, "pattern", texts.pattern, options);
  const text = kept(el("textarea", { rows: 11, spellcheck: "false", "aria-label": texts.text }), settings, "text", EXAMPLE);
  const usual = KEYS[0]!;
  const [key, from, to] = [
    field(settings, "key", texts.key, usual.key),
    field(settings, "from", texts.from, usual.from),
    field(settings, "to", texts.to, usual.to),
  ];
  const known = el("datalist", { id: "keys" }, ...KEYS.map((one) => el("option", { value: one.key })));
  key.input.setAttribute("list", "keys");
  key.input.addEventListener("change", () => {
    const one = KEYS.find((offered) => offered.key === key.input.value);
    if (!one) return;
    settings.set("from", one.from);
    settings.set("to", one.to);
  });
  const setup = (): SetupWords => {
    if (pattern.value() !== "") return { job: pattern.value(), target: drive.value() };
    const name = fileName(text.value);
    return { job: name, target: drive.value(), texts: { [name]: text.value } };
  };
  const asked = (): Asked => ({
    ask: "compare",
    setup: setup(),
    key: key.input.value,
    values: [from.input.value, to.input.value],
    runs: RUNS,
  });
  const { buttons, status, answer } = comparison(bench, asked);
  const element = shape(
    "job",
    texts,
    bench,
    controls(pattern.element, drive.element),
    el("label", { class: "pasted" }, el("span", {}, texts.text), text),
    controls(key.element, from.element, to.element, known, ...buttons),
    status,
    answer,
  );
  const show = (): void => void (text.disabled = pattern.value() !== "");
  settings.watch(show);
  show();
  return { element, open: () => undefined };
}

interface Asked {
  ask: "compare";
  setup: SetupWords;
  key: string;
  values: string[];
  runs: number;
}

/** The buttons that start a comparison and stop it, and what it says. A second one stops the first. */
function comparison({ slow, attempts }: Bench, asked: () => Asked): { buttons: HTMLElement[]; status: HTMLElement; answer: HTMLElement } {
  const status = el("p", { class: "small soft", role: "status" });
  const answer = el("div", { class: "answer-box", role: "region", "aria-label": site.leaves });
  /** The comparison that is running here; others use the engine too. */
  let running: Asked | null = null;
  let report = "";
  const halt = (): void => {
    if (running) slow.stop();
  };
  const compare = async (question: Asked): Promise<void> => {
    halt();
    [running, stop.disabled] = [question, false];
    URL.revokeObjectURL(report);
    report = "";
    answer.replaceChildren();
    const progress = (done: number, all: number): void => void (status.textContent = texts.running(done, all));
    progress(0, 0);
    let [said, ended]: [Node[], string] = [[], ""];
    try {
      const found = await slow.ask<Answer>(question, progress);
      said = answered(found, question.setup, () => (report ||= URL.createObjectURL(new Blob([found.page], { type: "text/html" }))));
    } catch (error) {
      if (error instanceof Faults) said = refused(error);
      else if (error instanceof Stopped) ended = texts.stopped;
      else throw error;
    } finally {
      if (running === question) {
        [running, stop.disabled] = [null, true];
        answer.replaceChildren(...said);
        status.textContent = ended;
      }
    }
  };
  const stop = press(texts.stop, texts.stop, halt);
  stop.disabled = true;
  const run = press(texts.run, texts.run, () => void attempts.run("comparison", () => compare(asked())));
  run.classList.add("go");
  return { buttons: [run, stop], status, answer };
}

/** A field whose text is kept in the settings. */
function kept<T extends HTMLInputElement | HTMLTextAreaElement>(input: T, settings: Settings, name: string, first: string): T {
  const show = (): void => {
    const value = settings.option(name, first);
    if (input.value !== value) input.value = value;
  };
  input.addEventListener("input", () => settings.set(name, input.value === first ? null : input.value));
  settings.watch(show);
  show();
  return input;
}

function field(settings: Settings, name: string, label: string, first: string): { element: HTMLElement; input: HTMLInputElement } {
  const input = kept(el("input", { type: "text", autocomplete: "off", spellcheck: "false" }), settings, name, first);
  return { element: el("label", { class: "control" }, el("span", {}, label), input), input };
}

/** The name that stands for the pasted text: Iometer's files begin with its version or have its headings. */
export function fileName(text: string): string {
  return /^\s*Version |'[A-Z ]+={5,}/m.test(text) ? "mine.icf" : "mine.fio";
}

function refused(error: Faults): Node[] {
  const lines = error.faults.map((fault) => el("li", {}, el("code", {}, fault.text)));
  return [el("p", {}, texts.faults), el("ul", { class: "faults" }, ...lines)];
}

/** The answer; `report` gives the address of its report. */
function answered({ json, question, warnings, command: words, files, page }: Answer, setup: SetupWords, report: () => string): Node[] {
  const but = json.beside.filter(({ worse }) => worse);
  const pasted = Object.keys(setup.texts ?? {})[0];
  return [
    el("p", { class: "soft" }, question),
    warnings.length === 0 ? null : el("p", {}, texts.limits, el("ul", { class: "faults" }, ...warnings.map((one) => el("li", {}, one)))),
    el("p", { class: "sentence" }, el("strong", {}, json.refused ?? `${json.to}: ${json.said}`), json.refused ? "" : texts.judged(json.title)),
    ...[json.cause?.text, json.unasked].flatMap((why) => (why ? [el("p", {}, el("strong", {}, texts.why), why)] : [])),
    ...but.map((one) => el("p", {}, el("strong", {}, texts.but), one.text)),
    el(
      "p",
      { class: "controls" },
      press(texts.report, texts.report, () => void window.open(report(), "_blank")),
      press(texts.folder, texts.folder, () => save("results.zip", archive(files, page))),
    ),
    el("p", { class: "small soft hint" }, texts.folderNote),
    pasted ? el("p", { class: "small soft" }, texts.save(pasted)) : null,
    command(site.command, words),
  ].filter((child) => child !== null);
}

/** The result folder as an archive. */
function archive(files: [string, string][], page: string): Blob {
  const folder = Object.fromEntries([...files, ["report.html", page] as const].map(([name, text]) => [`results/${name}`, strToU8(text)]));
  return new Blob([new Uint8Array(zipSync(folder))], { type: "application/zip" });
}
