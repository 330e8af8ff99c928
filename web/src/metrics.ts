// What can be drawn of a cell: each metric with its unit, its direction and how to read it.

import type { Arrivals, Cell, Figure, Interval, Members, Operations, Processor, Response } from "./report";

export interface Metric {
  id: string;
  name: string;
  unit: string;
  /** Whether a larger figure is the better one. */
  moreIsFaster: boolean;
  read: (cell: Cell) => Interval;
}

/** What the percentiles are called, in the order of the table. */
export const QUANTILES: [keyof Response, string][] = [
  ["mean", "mean"],
  ["p50", "median"],
  ["p90", "90th percentile"],
  ["p99", "99th percentile"],
  ["p99_9", "99.9th percentile"],
  ["p99_99", "99.99th percentile"],
  ["max", "longest"],
];

/** What a processor has of the work, where one is modelled: key, name, unit, and whether more is better. */
export const PROCESSOR: [keyof Processor, string, string, boolean][] = [
  ["percent", "processor", "%", false],
  ["iops_per_percent", "efficiency, by requests", "requests/s for each %", true],
  ["mb_per_s_per_percent", "efficiency, by bytes", "MB/s for each %", true],
  ["ios_per_cpu_second", "requests a core-second", "", true],
];

/** Bytes at the members of an array: key, name and unit. */
export const MEMBERS: [keyof Omit<Members, "before_writes" | "bytes" | "members">, string, string][] = [
  ["read_per_byte_written", "members read before writes", "bytes for each byte written"],
  ["written_per_byte_written", "members wrote", "bytes for each byte written"],
  ["read_per_byte_read", "members read", "bytes for each byte read"],
];

/** Those of them that some cell has a figure of. */
export function membersOf(cells: Cell[]): typeof MEMBERS {
  return MEMBERS.filter(([key]) => cells.some(({ array }) => (array?.[key] ?? null) !== null));
}

/** What came at instants of its own, by a rate or of a trace: key, name, unit, and whether more is better. */
export const ARRIVALS: [keyof Arrivals, string, string, boolean][] = [
  ["asked_iops", "rate asked", "requests/s", true],
  ["reached_iops", "rate reached", "requests/s", true],
  ["asked_mb_per_s", "throughput asked", "MB/s", true],
  ["reached_mb_per_s", "throughput reached", "MB/s", true],
  ["backlog_mean_ms", "backlog, mean", "ms", false],
  ["backlog_max_ms", "backlog, longest", "ms", false],
];

/** Those of them that some cell has a figure of; a throughput is reached where one was asked for. */
export function arrivalsOf(cells: Cell[]): typeof ARRIVALS {
  const has = (key: keyof Arrivals): boolean => cells.some(({ arrivals }) => (arrivals?.[key] ?? null) !== null);
  const bytes = has("asked_mb_per_s");
  return ARRIVALS.filter(([key]) => has(key) && (key !== "reached_mb_per_s" || bytes));
}

const METRICS: Metric[] = [
  { id: "iops", name: "request rate", unit: "requests/s", moreIsFaster: true, read: (cell) => cell.iops },
  {
    id: "bytes_per_s",
    name: "throughput",
    unit: "MB/s",
    moreIsFaster: true,
    read: ({ bytes_per_s: { estimate, low, high } }) => ({
      estimate: mega(estimate),
      low: mega(low),
      high: mega(high),
    }),
  },
  ...QUANTILES.map(([key, name]): Metric => ({
    id: key,
    name: `response time, ${name}`,
    unit: "ms",
    moreIsFaster: false,
    read: (cell) => ({ estimate: cell.response_ms[key], low: null, high: null }),
  })),
];

const ELAPSED: Metric = {
  id: "elapsed",
  name: "time of the whole run",
  unit: "s",
  moreIsFaster: false,
  read: (cell) => cell.elapsed_s,
};

/** What of a program's operations is drawn, beside how many there were a second. */
export const OF_OPERATIONS: [keyof Response, string][] = [
  ["mean", "mean"],
  ["p50", "median"],
  ["p99", "99th percentile"],
];

/** What a program of a scene did; nothing where the cell has no such program. */
export function operationsOf(cell: Cell, program: string): Operations | undefined {
  return cell.operations.find((done) => done.program === program);
}

/** The programs of all cells, in order. */
export function programs(cells: Cell[]): string[] {
  return [...new Set(cells.flatMap(({ operations }) => operations.map(({ program }) => program)))];
}

const NONE: Interval = { estimate: null, low: null, high: null };

function ofProgram(program: string): Metric[] {
  const rate: Metric = {
    id: `operations.${program}.per_s`,
    name: `operations of ${program}`,
    unit: "operations/s",
    moreIsFaster: true,
    read: (cell) => operationsOf(cell, program)?.per_s ?? NONE,
  };
  const responses = OF_OPERATIONS.map(([key, name]): Metric => ({
    id: `operations.${program}.${key}`,
    name: `operation of ${program}, ${name}`,
    unit: "ms",
    moreIsFaster: false,
    read: (cell) => ({ ...NONE, estimate: operationsOf(cell, program)?.response_ms[key] ?? null }),
  }));
  return [rate, ...responses];
}

const OF_PROCESSOR = PROCESSOR.map(([key, name, unit, moreIsFaster]): Metric => ({
  id: `cpu.${key}`,
  name,
  unit,
  moreIsFaster,
  read: ({ cpu }) => ({ estimate: cpu?.[key] ?? null, low: null, high: null }),
}));

function ofArrivals([key, name, unit, moreIsFaster]: (typeof ARRIVALS)[number]): Metric {
  const read = ({ arrivals }: Cell): Interval => ({ ...NONE, estimate: arrivals?.[key] ?? null });
  return { id: `arrivals.${key}`, name, unit, moreIsFaster, read };
}

function ofMembers([key, name, unit]: (typeof MEMBERS)[number]): Metric {
  const read = ({ array }: Cell): Interval => ({ ...NONE, estimate: array?.[key] ?? null });
  return { id: `array.${key}`, name, unit, moreIsFaster: false, read };
}

/** Those that some cell has. Of scenes first how long they take, then what their programs did. */
export function metrics(cells: Cell[]): Metric[] {
  const known = programs(cells);
  const scene = known.length > 0 ? [ELAPSED, ...known.flatMap(ofProgram)] : [];
  const paced = arrivalsOf(cells).filter(([key]) => key.startsWith("backlog")).map(ofArrivals);
  const processor = cells.some(({ cpu }) => cpu !== null) ? OF_PROCESSOR : [];
  return [...scene, ...METRICS, ...paced, ...processor, ...membersOf(cells).map(ofMembers)];
}

/** Bytes to megabytes (10^6). */
export function mega(bytes: Figure): Figure {
  return bytes === null ? null : bytes / 1e6;
}

/** "longer is faster", or the other way round, for the end of an axis. */
export function direction(metric: Metric): string {
  return metric.moreIsFaster ? "more is faster" : "less is faster";
}
