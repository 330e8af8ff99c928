// What the reader has chosen to see. All figures share one choice, so they always speak of the same cells.

import { levelName, numeric, shown } from "./format";
import { metrics, type Metric } from "./metrics";
import type { Cell, Factor, Report } from "./report";

/** One side of a figure: a level of the compared factor, with its letter and its place in the palette. */
export interface Side {
  level: string;
  /** The level as it is shown: a number or a switch says of what. */
  name: string;
  letter: string;
  index: number;
}

/** What a reader chose, as words for an address. */
export type State = [name: string, value: string][];

/** The name of a figure's own option. Those of the page's choice have no such form, but for a factor's level. */
const OPTION = /^(?!at\.)[a-z]+\.[a-z]+[0-9]*$/;

/** Options by `figure.name`, and who wants to know of changes. */
export class Options {
  protected options = new Map<string, string>();
  private readonly watchers: (() => void)[] = [];

  /** Calls back after each change. */
  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  change(apply: () => void): void {
    apply();
    for (const watcher of this.watchers) watcher();
  }

  /** What a figure's own option is set to. */
  option(name: string, otherwise: string): string {
    return this.options.get(name) ?? otherwise;
  }

  /** Sets a figure's own option; nothing sets it back. */
  set(name: string, value: string | null): void {
    this.change(() => (value === null ? this.options.delete(name) : this.options.set(name, value)));
  }

  state(): State {
    return [...this.options];
  }

  restore(state: State): void {
    this.change(() => void (this.options = new Map(state.filter(([name]) => OPTION.test(name)))));
  }
}

export class Choice extends Options {
  metric: Metric;
  /** What can be drawn. */
  readonly metrics: Metric[];
  /** The factor whose levels are told apart by colour and letter. */
  compared: number;
  /** The factor along the axis of bars; -1 when there is no other. */
  grouped: number;
  /** The chosen level of each factor, for figures that hold it fixed. */
  levels: string[];
  /** Levels of the compared factor that are hidden. */
  hidden = new Set<string>();
  /** The state that the page opens with: an address need not say it. */
  private readonly opening: Map<string, string>;

  readonly factors: Factor[];
  private readonly headlineReference: string | undefined;
  private readonly cells = new Map<string, Cell>();

  constructor(report: Report) {
    super();
    const bare = report.factors.length === 0;
    this.factors = bare ? [{ name: "run", unit: null, says: null, levels: ["this run"] }] : report.factors;
    for (const cell of report.cells) {
      this.cells.set(key(bare ? ["this run"] : cell.levels), cell);
    }
    this.metrics = metrics(report.cells);
    this.metric = this.metrics[0]!;
    this.headlineReference = report.verdicts[0]?.side_a;
    this.compared = comparedFactor(report);
    this.grouped = groupedFactor(this.factors, this.compared);
    this.levels = openingLevels(report, this.factors);
    this.opening = this.whole();
  }

  /** All that differs from what the page opens with, as words for an address. */
  override state(): State {
    const changed = [...this.whole()].filter(([name, value]) => this.opening.get(name) !== value);
    return [...changed, ...[...this.hidden].map((level): [string, string] => ["hide", level])];
  }

  /** The other way round: what `state` does not name is as the page opens with it. What does not fit is left out. */
  override restore(state: State): void {
    const wanted = new Map([...this.opening, ...state]);
    const place = (name: string): number => this.factors.findIndex((factor) => factor.name === wanted.get(name));
    this.change(() => {
      this.metric = this.metrics.find(({ id }) => id === wanted.get("metric")) ?? this.metric;
      if (place("compare") >= 0) this.compared = place("compare");
      const grouped = place("group");
      this.grouped = grouped >= 0 && grouped !== this.compared ? grouped : groupedFactor(this.factors, this.compared);
      this.levels = this.factors.map(({ name, levels }, index) => {
        const level = wanted.get(`at.${name}`);
        return level !== undefined && levels.includes(level) ? level : this.levels[index]!;
      });
      const levels = this.factors[this.compared]?.levels ?? [];
      const hidden = state.flatMap(([name, value]) => (name === "hide" && levels.includes(value) ? [value] : []));
      this.hidden = new Set(hidden.length < levels.length ? hidden : []);
      this.options = new Map(state.filter(([name]) => OPTION.test(name)));
    });
  }

  private whole(): Map<string, string> {
    const words: [string, string][] = [
      ["metric", this.metric.id],
      ["compare", this.factors[this.compared]?.name ?? ""],
      ["group", this.factors[this.grouped]?.name ?? ""],
      ...this.factors.map(({ name }, index): [string, string] => [`at.${name}`, this.levels[index] ?? ""]),
    ];
    return new Map([...words, ...this.options]);
  }

  compare(factor: number): void {
    this.compared = factor;
    this.hidden.clear();
    if (this.grouped === factor) this.grouped = groupedFactor(this.factors, factor);
  }

  /** The sides to draw. */
  sides(): Side[] {
    return this.allSides().filter((side) => !this.hidden.has(side.level));
  }

  allSides(): Side[] {
    const factor = this.factors[this.compared];
    const name = (level: string): string => levelName(factor?.name ?? "", level);
    return (factor?.levels ?? []).map((level, index) => ({ level, index, name: name(level), letter: letter(index) }));
  }

  /** The side that others are set against: the headline's reference, else the first. */
  reference(): Side | undefined {
    const sides = this.allSides();
    return sides.find(({ level }) => level === this.headlineReference) ?? sides[0];
  }

  /** The cell of a side; `at` moves other factors off their chosen level. */
  cell(side: Side, at: [factor: number, level: string][] = []): Cell | undefined {
    const levels = [...this.levels];
    levels[this.compared] = side.level;
    for (const [factor, level] of at) levels[factor] = level;
    return this.cells.get(key(levels));
  }

  /** Factors whose levels are numbers, and that have more than one. */
  numericFactors(): number[] {
    return this.factors.flatMap((factor, index) =>
      factor.levels.length > 1 && factor.levels.every(numeric) ? [index] : [],
    );
  }

  /** Factors held at one level when the given ones are drawn. */
  fixedFactors(drawn: number[]): number[] {
    return this.factors.flatMap((factor, index) => (drawn.includes(index) || factor.levels.length < 2 ? [] : [index]));
  }

  /** The levels held fixed, in words: "pattern File Server, depth 64". */
  condition(drawn: number[]): string {
    return this.fixedFactors(drawn)
      .map((index) => `${this.factors[index]!.name} ${shown(this.levels[index]!)}`)
      .join(", ");
  }
}

function key(levels: string[]): string {
  return JSON.stringify(levels);
}

function letter(index: number): string {
  return index < 26 ? String.fromCharCode(65 + index) : String(index + 1);
}

/** The factor whose levels the headline compares, else the first with more than one level. */
function comparedFactor(report: Report): number {
  const headline = report.verdicts[0];
  const judged = report.factors.findIndex(
    ({ levels }) => headline && levels.includes(headline.side_a) && levels.includes(headline.side_b),
  );
  if (judged >= 0) return judged;
  return Math.max(
    0,
    report.factors.findIndex(({ levels }) => levels.length > 1),
  );
}

/** Names make better groups than numbers, which have curves of their own. */
function groupedFactor(factors: Factor[], compared: number): number {
  const others = factors.flatMap(({ levels }, index) => (index !== compared && levels.length > 1 ? [index] : []));
  return others.find((index) => !factors[index]!.levels.every(numeric)) ?? others[0] ?? -1;
}

/** The headline's condition, else the last of numbers (the deepest queue) and the first of names. */
function openingLevels(report: Report, factors: Factor[]): string[] {
  const judged = report.verdicts[0]?.cell_ids.at(-1);
  const cell = report.cells.find(({ id }) => id === judged);
  if (cell && cell.levels.length === factors.length) return [...cell.levels];
  return factors.map(({ levels }) => (levels.every(numeric) ? levels.at(-1) : levels[0]) ?? "");
}
