// Your job: a pasted fio job or Iometer configuration, a drive, a setting and two values; the answer, its report, and the
// result folder, all as the program makes them.

import { zipSync, strToU8 } from "fflate";
import { press } from "../../controls";
import { el } from "../../dom";
import { Faults, Stopped } from "../engine";
import { chooser, command } from "../parts";
import { job as texts, site } from "../texts";
import { driveChooser, shape, type Bench, type Page, type SetupWords } from "./page";

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
  ratio: { estimate: number; low: number; high: number };
  text: string;
  worse: boolean;
}
interface Answer {
  json: { said: string; from: string; to: string; cause: { text: string } | null; beside: Side[]; refused: string | null };
  question: string;
  command: string;
  page: string;
  files: [name: string, text: string][];
}

export function jobPage(bench: Bench): Page {
  const { settings, slow } = bench;
  const drive = driveChooser(bench, "barracuda-7200.7-ncq");
  const options = [{ value: "", text: texts.pasted }, ...PATTERNS.map((name) => ({ value: name, text: name }))];
  const pattern = chooser(settings, "pattern", texts.pattern, options);
  const text = el("textarea", { rows: 11, spellcheck: "false", "aria-label": texts.text });
  text.value = EXAMPLE;
  const [key, from, to] = [field(texts.key, KEYS[0]!.key), field(texts.from, KEYS[0]!.from), field(texts.to, KEYS[0]!.to)];
  const known = el("datalist", { id: "keys" }, ...KEYS.map((one) => el("option", { value: one.key })));
  key.input.setAttribute("list", "keys");
  key.input.addEventListener("change", () => {
    const one = KEYS.find((offered) => offered.key === key.input.value);
    if (one) [from.input.value, to.input.value] = [one.from, one.to];
  });
  const [status, answer] = [el("p", { class: "small soft", role: "status" }), el("div", { class: "answer-box", role: "region", "aria-label": site.leaves })];
  const stop = press(texts.stop, texts.stop, () => slow.stop());
  stop.disabled = true;

  const setup = (): SetupWords => {
    if (pattern.value() !== "") return { job: pattern.value(), target: drive.value() };
    const name = fileName(text.value);
    return { job: name, target: drive.value(), texts: { [name]: text.value } };
  };
  const compare = async (): Promise<void> => {
    slow.stop();
    const asked = { ask: "compare", setup: setup(), key: key.input.value, values: [from.input.value, to.input.value], runs: RUNS };
    answer.replaceChildren();
    stop.disabled = false;
    const progress = (done: number, all: number): void => void (status.textContent = texts.running(done, all));
    progress(0, 0);
    try {
      answer.replaceChildren(...answered(await slow.ask<Answer>(asked, progress), asked.setup));
      status.textContent = "";
    } catch (error) {
      if (error instanceof Faults) answer.replaceChildren(...refused(error));
      status.textContent = error instanceof Stopped ? texts.stopped : "";
      if (!(error instanceof Faults || error instanceof Stopped)) bench.fault(error);
    }
    stop.disabled = !slow.isBusy();
  };
  const run = press(texts.run, texts.run, () => void compare());
  run.classList.add("go");
  const element = shape(
    "job",
    texts,
    el("div", { class: "controls" }, pattern.element, drive.element),
    el("label", { class: "pasted" }, el("span", {}, texts.text), text),
    el("div", { class: "controls" }, key.element, from.element, to.element, known, run, stop),
    status,
    answer,
  );
  settings.watch(() => text.toggleAttribute("disabled", pattern.value() !== ""));
  return { element, open: () => undefined };
}

function field(label: string, first: string): { element: HTMLElement; input: HTMLInputElement } {
  const input = el("input", { type: "text", value: first, autocomplete: "off", spellcheck: "false" });
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

function answered(answer: Answer, setup: SetupWords): Node[] {
  const { json, files, page } = answer;
  const but = json.beside.filter(({ worse }) => worse);
  const pasted = Object.keys(setup.texts ?? {})[0];
  return [
    el("p", { class: "soft" }, answer.question),
    el("p", { class: "sentence" }, el("strong", {}, json.refused ?? `${json.to}: ${json.said}`)),
    json.cause ? el("p", {}, el("strong", {}, texts.why), json.cause.text) : null,
    ...but.map((one) => el("p", {}, el("strong", {}, texts.but), one.text)),
    el(
      "p",
      { class: "controls" },
      press(texts.report, texts.report, () => open(page)),
      press(texts.folder, texts.folder, () => download(files, page)),
    ),
    el("p", { class: "small soft" }, texts.folderNote),
    pasted ? el("p", { class: "small soft" }, texts.save(pasted)) : null,
    command(site.command, answer.command),
  ].filter((child) => child !== null);
}

/** Shows the report in a tab of its own. */
function open(page: string): void {
  window.open(URL.createObjectURL(new Blob([page], { type: "text/html" })), "_blank");
}

/** Hands over the result folder as an archive. */
function download(files: [string, string][], page: string): void {
  const folder = Object.fromEntries([...files, ["report.html", page] as const].map(([name, text]) => [`results/${name}`, strToU8(text)]));
  const address = URL.createObjectURL(new Blob([new Uint8Array(zipSync(folder))], { type: "application/zip" }));
  const link = el("a", { href: address, download: "results.zip" });
  link.click();
  URL.revokeObjectURL(address);
}
