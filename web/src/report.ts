// The report's data, as the page gets it.
//
// Mirrors crates/lab/src/report.rs, which is the source of truth and says what each field means; a Rust test compares
// the names. A figure that was not a finite number arrives as null.

import type { Part } from "./parts";

export type Figure = number | null;

export interface Interval {
  estimate: Figure;
  low: Figure;
  high: Figure;
}

export type Outcome = "faster" | "slower" | "mixed" | "no difference" | "not enough data" | "refused";

export interface Verdict {
  name: string;
  headline: string;
  leads: boolean;
  factor: string;
  side_a: string;
  side_b: string;
  cell: string;
  cell_ids: string[];
  metric: string;
  better: "higher" | "lower";
  ratio: Interval | null;
  range: Range | null;
  verdict: Outcome;
  word: string;
  tempered: boolean;
  slight: boolean;
  cells: number;
  p_adjusted: Figure;
  margin_percent: Figure;
  differs: string[];
  at_once: string[];
  note: string | null;
  cause: Cause | null;
  beside: string[];
  place: Where | null;
  price: string | null;
}

export interface Meaning {
  word: string;
  says: string;
}

export interface Cause {
  of: string;
  from_ms: Figure;
  to_ms: Figure;
  parts: Partial<Anatomy>;
  text: string;
}

export interface Where {
  text: string;
  regions: Region[];
  turns: string[];
}

export interface Region {
  place: string;
  verdict: Outcome;
  word: string;
  cells: number;
  undecided: number;
  ratio: Range;
  by: string;
}

export interface Range {
  low: Figure;
  high: Figure;
}

export interface Setting {
  key: string;
  value: string;
  source: string;
}

export interface Layer {
  role: string;
  name: string;
  settings: Setting[];
}

export interface Factor {
  name: string;
  unit: string | null;
  says: string | null;
  levels: string[];
}

export interface Response {
  mean: Figure;
  p50: Figure;
  p90: Figure;
  p95: Figure;
  p99: Figure;
  p99_9: Figure;
  p99_99: Figure;
  max: Figure;
}

/** Milliseconds in each part. */
export type Anatomy = Record<Part, Figure>;

export interface Processor {
  percent: Figure;
  ios_per_cpu_second: Figure;
  iops_per_percent: Figure;
  mb_per_s_per_percent: Figure;
}

export interface Arrivals {
  asked_iops: Figure;
  asked_mb_per_s: Figure;
  reached_iops: Figure;
  reached_mb_per_s: Figure;
  backlog_mean_ms: Figure;
  backlog_max_ms: Figure;
}

export interface Operations {
  program: string;
  count: number;
  per_s: Interval;
  response_ms: Response;
}

export interface Member {
  member: number;
  read_mb: Figure;
  written_mb: Figure;
  read_before_writes_mb: Figure;
  sync_mb: Figure;
  bitmap_mb: Figure;
  busy_percent: Figure;
}

export interface Members {
  before_writes: string | null;
  bytes: string;
  read_per_byte_read: Figure;
  read_per_byte_written: Figure;
  written_per_byte_written: Figure;
  members: Member[];
}

export interface Cell {
  id: string;
  levels: string[];
  runs: number;
  ios: number;
  iops: Interval;
  bytes_per_s: Interval;
  response_ms: Response;
  reads: Response | null;
  writes: Response | null;
  flushes: Response | null;
  flushes_per_s: Figure;
  histogram: [upper_ms: number, count: number][];
  anatomy_ms: Anatomy;
  elapsed_s: Interval;
  operations: Operations[];
  cpu: Processor | null;
  arrivals: Arrivals | null;
  array: Members | null;
  flags: string[];
}

export interface Platter {
  revolution_ns: number;
  turned: number;
}

export interface Requests {
  worker: number[];
  op: string[];
  failed: number[];
  lba: number[];
  sectors: number[];
  due_ns: number[];
  parts_ns: number[][];
}

export interface Queue {
  writes: number[];
  issued_us: number[];
  host_us: (number | null)[];
  done_us: (number | null)[];
  cylinder: number[];
  angle: number[];
  movement: (number | null)[];
  earlier: number[];
}

export interface Movements {
  drive: number[];
  errand: string[];
  from: number[];
  to: number[];
  head: number[];
  lba: number[];
  sectors: number[];
  angle: number[];
  arc: number[];
  course_us: number[][];
}

export interface Stretch {
  cell: string;
  begin_ns: string;
  counted: boolean;
  cylinders: number;
  heads: number;
  sectors: number;
  platters: Platter[];
  parts: Part[];
  requests: Requests;
  queue: Queue | null;
  movements: Movements;
}

export interface Claim {
  id: string;
  class: string;
  finding: string;
  condition: string;
  figure: string;
  reproduced: boolean | null;
  answer: string;
  deciding: string | null;
  reading: string | null;
  unchecked: string | null;
  mechanism: string;
  pending: string | null;
}

export interface Share {
  level: string;
  ratio: number;
  low: number;
  high: number;
  alike: boolean;
}

/** Which level of a factor is best for a kind of work: crates/lab/src/finding/best.rs. */
export interface Best {
  work: string;
  factor: string;
  best: string;
  levels: Share[];
  claims: string[];
  margin_percent: number;
}

export interface Provenance {
  hash: string;
  drive: string;
  notes: string[];
}

export interface Report {
  title: string;
  question: string;
  expectation: string | null;
  command: string;
  version: string;
  seed: string;
  runs_per_cell: [number, number];
  runs_planned: number;
  runs_done: number;
  runtime_s: [Figure, Figure];
  virtual_time: boolean;
  interval: string;
  verdicts: Verdict[];
  meanings: Meaning[];
  stack: Layer[];
  factors: Factor[];
  cells: Cell[];
  stretches: Stretch[];
  best: Best[];
  claims: Claim[];
  warnings: string[];
  provenance: Provenance;
}

export interface Chapter {
  folder: string;
  heading: string;
  why: string | null;
  /** Its leading comparison answers the question. */
  answers: boolean;
  held: string[];
  /** Its own page shows the arm at work. */
  arm: boolean;
  report: Report;
}

/** A sentence of an answer, and what it is of. */
export interface Sentence {
  about: string;
  says: string;
}

/** The answer in short, and the lines of its picture; if it needs several sentences, the lines are these. */
export interface Brief {
  says: string;
  lines: BriefLine[];
}

export interface BriefLine {
  says: string;
  cases: BriefCase[];
}

/** How many times as good the changed side is. */
export interface BriefCase {
  ratio: Figure;
  verdict: Outcome;
}

/** Several reports that answer one question: crates/lab/src/report/review.rs. */
export interface Review {
  title: string;
  question: string;
  brief: Brief;
  answer: Sentence[];
  introduction: string[];
  command: string;
  hash: string;
  chapters: Chapter[];
}

/** The report that Rust put into the page; null in the bare template. */
export function readReport(document: Document): Report | Review | null {
  const data = document.getElementById("report-data")?.textContent ?? "";
  return data.startsWith("{") ? (JSON.parse(data) as Report | Review) : null;
}
