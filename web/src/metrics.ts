// What can be drawn of a cell: each metric with its unit, its direction and how to read it.

import type { Cell, Figure, Interval, Response } from "./report";

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

export const METRICS: Metric[] = [
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

/** Bytes to megabytes (10^6). */
export function mega(bytes: Figure): Figure {
  return bytes === null ? null : bytes / 1e6;
}

/** "longer is faster", or the other way round, for the end of an axis. */
export function direction(metric: Metric): string {
  return metric.moreIsFaster ? "more is faster" : "less is faster";
}
