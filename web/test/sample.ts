// A report whose names are as hostile as a stranger's, for tests of the page.

import { PARTS } from "../src/parts";
import type { Anatomy, Cell, Report, Stretch } from "../src/report";

export const HOSTILE = '<img src=x onerror="alert(1)">&amp;{value}';

export const interval = (estimate: number) => ({ estimate, low: estimate * 0.9, high: estimate * 1.1 });

export function cell(levels: string[], iops: number): Cell {
  const parts = Object.fromEntries(PARTS.map(([part]) => [part, 1])) as unknown as Anatomy;
  return {
    id: levels.join("/"),
    levels,
    runs: 3,
    ios: 1000,
    iops: interval(iops),
    bytes_per_s: interval(iops * 4096),
    response_ms: { mean: 11, p50: 10, p90: 20, p95: null, p99: 30, p99_9: 40, p99_99: 50, max: 60 },
    reads: null,
    writes: null,
    flushes: null,
    flushes_per_s: 0,
    histogram: [
      [10, 500],
      [20, 400],
      [60, 100],
    ],
    anatomy_ms: parts,
    elapsed_s: interval(60),
    operations: [],
    cpu: null,
    arrivals: null,
    array: null,
    flags: [HOSTILE],
  };
}

/** Two requests of a drive of a thousand cylinders that turns in 8 ms; the second is answered by the buffer. */
export function stretch(of: string): Stretch {
  return {
    cell: of,
    begin_ns: "5000000000",
    counted: true,
    cylinders: 1000,
    heads: 2,
    sectors: 1_000_000,
    platters: [{ revolution_ns: 8_000_000, turned: 0.25 }],
    parts: ["seek", "rotation", "transfer", "link"],
    requests: {
      worker: [0, 0],
      op: ["read", "write"],
      failed: [],
      lba: [5000, 7000],
      sectors: [8, 8],
      due_ns: [0, 9_000_000],
      parts_ns: [
        [4_000_000, 1_500_000, 500_000, 100_000],
        [0, 0, 0, 100_000],
      ],
    },
    queue: {
      writes: [1],
      issued_us: [0, 9000],
      host_us: [0, 0],
      done_us: [6100, 100],
      cylinder: [500, 700],
      angle: [0.9375, 0.55],
      movement: [0, 1],
      earlier: [],
    },
    movements: {
      drive: [0, 0],
      errand: ["read", "destage"],
      from: [0, 500],
      to: [500, 700],
      head: [1, 0],
      lba: [5000, 6990],
      sectors: [8, 32],
      angle: [0.9375, 0.5],
      arc: [0.0625, 0.25],
      course_us: [
        [0, 4000, 0, 2000, 0],
        [10_000, 3000, 1000, 4000, 0],
      ],
    },
  };
}

export function report(): Report {
  const sides = [HOSTILE, "on"];
  return {
    title: HOSTILE,
    question: HOSTILE,
    expectation: HOSTILE,
    command: HOSTILE,
    version: HOSTILE,
    seed: "18446744073709551615",
    runs_per_cell: [3, 3],
    runs_planned: 18,
    runs_done: 18,
    runtime_s: [60, 60],
    virtual_time: true,
    interval: HOSTILE,
    meanings: [{ word: "faster", says: HOSTILE }],
    verdicts: [1, 2].map(() => ({
      name: HOSTILE,
      headline: HOSTILE,
      leads: false,
      factor: HOSTILE,
      side_a: HOSTILE,
      side_b: "on",
      cell: HOSTILE,
      cell_ids: [`${HOSTILE}/8`, "on/8"],
      metric: HOSTILE,
      better: "higher" as const,
      ratio: interval(1.2),
      range: { low: 0.9, high: 1.4 },
      verdict: "faster" as const,
      word: HOSTILE,
      tempered: false,
      slight: false,
      cells: 4,
      p_adjusted: 0.01,
      margin_percent: 2,
      differs: [HOSTILE],
      at_once: [HOSTILE],
      note: HOSTILE,
      cause: { of: HOSTILE, from_ms: 1, to_ms: 2, parts: { seek: 1 }, text: `cause ${HOSTILE}` },
      beside: [`beside ${HOSTILE}`],
      place: {
        text: HOSTILE,
        regions: [
          { place: HOSTILE, verdict: "no difference" as const, word: HOSTILE, cells: 1, undecided: 0, ratio: { low: 1, high: 1.01 }, by: HOSTILE },
        ],
        turns: [HOSTILE],
      },
      price: HOSTILE,
    })),
    stack: [{ role: HOSTILE, name: HOSTILE, settings: [{ key: HOSTILE, value: HOSTILE, source: HOSTILE }] }],
    factors: [
      { name: HOSTILE, unit: null, says: HOSTILE, levels: sides },
      { name: "depth", unit: HOSTILE, says: null, levels: ["1", "8", "64"] },
    ],
    cells: sides.flatMap((side) => ["1", "8", "64"].map((depth) => cell([side, depth], 100 + Number(depth)))),
    stretches: [stretch(`${HOSTILE}/8`), stretch("on/8")],
    best: [
      {
        work: HOSTILE,
        factor: HOSTILE,
        best: HOSTILE,
        levels: [
          { level: HOSTILE, ratio: 1, low: 1, high: 1, alike: true },
          { level: "8", ratio: 0.7, low: 0.69, high: 0.71, alike: false },
        ],
        claims: [HOSTILE],
        margin_percent: 2,
      },
    ],
    claims: [
      {
        id: HOSTILE,
        class: HOSTILE,
        finding: HOSTILE,
        condition: HOSTILE,
        figure: HOSTILE,
        reproduced: null,
        answer: HOSTILE,
        deciding: HOSTILE,
        reading: HOSTILE,
        unchecked: HOSTILE,
        mechanism: HOSTILE,
        pending: null,
      },
    ],
    warnings: [HOSTILE],
    provenance: { hash: HOSTILE, drive: HOSTILE, notes: [HOSTILE] },
  };
}
