// The sentence that each page of Explore leaves its reader with, held against the library's figures, in node: the queue's on all drives
// of the page, the others' on five.
// `cargo xtask explore` runs this.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { connect } from "../../src/explore/connect";
import type { Stretch } from "../../src/report";
import { requests } from "../../src/stretch";

const { SEEKWISE_MODULE: MODULE = "" } = process.env;
const DRIVES = ["barracuda-7200.7-ncq", "cheetah-15k.4", "atlas-10k-v-300", "exos-x18", "travelstar-5k250-160"];

type Setting = [string, string];

/** Milliseconds of the parts of a read. */
interface Parts {
  arm: number;
  turn: number;
  data: number;
}

interface Run {
  json: { all: { iops: number; response_ms: { p50: number; p99: number } }; commit: { response_ms: { mean: number } } };
}

interface Written {
  op: string;
  landed_ns: number | null;
}

describe.skipIf(MODULE === "")("what to keep is true", () => {
  const reply = MODULE === "" ? () => "" : connect(new WebAssembly.Module(readFileSync(MODULE)), () => undefined);
  function ask<T>(question: object): T {
    const { answer, faults } = JSON.parse(reply(JSON.stringify(question))) as { answer?: T; faults?: unknown };
    if (answer === undefined) throw new Error(JSON.stringify(faults));
    return answer;
  }
  const run = (target: string, job: string, set: Setting[], runtime: string): Run => ask<Run>({ ask: "run", setup: { job, target, set, runtime } });

  /** The mean parts of reads between these places. */
  function reads(target: string, places: [number, number][]): Parts {
    const setups = places.map(([first, second]) => ({
      job: "two-reads",
      target,
      set: [["job.env.FIRST", `${first}%`], ["job.env.SECOND", `${second}%`]],
    }));
    const stretches = ask<Stretch[]>({ ask: "timelines", setups, requests: 2, together: false });
    const all = stretches.map((stretch) => requests(stretch).at(-1)!.parts);
    const mean = (of: (parts: (typeof all)[number]) => number): number => all.reduce((sum, one) => sum + of(one), 0) / all.length;
    return {
      arm: mean(({ seek = 0, settle = 0 }) => seek + settle),
      turn: mean(({ rotation = 0 }) => rotation),
      data: mean(({ transfer = 0 }) => transfer),
    };
  }

  it.each(DRIVES)("a read on %s: nearby the platter's turn, across the drive the arm, the data next to nothing", (drive) => {
    const near = reads(drive, [5, 15, 25, 35, 45, 55, 65, 75].map((place) => [place, place + 1]));
    expect(near.turn).toBeGreaterThan(near.arm);
    const far = reads(drive, [0, 1, 2, 3, 4, 5, 6, 7].map((place) => [place, 99 - place]));
    expect(far.arm).toBeGreaterThan(far.turn);
    for (const { arm, turn, data } of [near, far]) expect(data).toBeLessThan(0.05 * (arm + turn + data));
  });

  /** Drives that let no request wait long: their queue is served in rounds (`drive.firmware.queue.patience`). */
  const PATIENT = ["ultrastar-hc570-22tb"];
  const DEPTHS = ["4", "8", "16", "32"];
  type Figures = Run["json"]["all"];
  const random = (drive: string, depth: string, ...set: Setting[]): Figures =>
    run(drive, "random-read", [["job.depth", depth], ...set], "60 s").json.all;
  /** Both sides of the page. */
  const sides = (drive: string, depth: string, ...set: Setting[]): [Figures, Figures] => [
    random(drive, depth, ...set, ["drive.firmware.depth", "1"]),
    random(drive, depth, ...set),
  ];
  const drives = MODULE === "" ? [] : ask<{ name: string; depth: number }[]>({ ask: "drives" });
  const named = (queued: (drive: { name: string; depth: number }) => boolean): string[] => drives.filter(queued).map(({ name }) => name);

  it.each(named(({ depth }) => depth > 1))("a queue on %s buys rate, and most wait less; the slowest wait longer unless their waiting is limited", (drive) => {
    for (const depth of DEPTHS) {
      const [ordered, chosen] = sides(drive, depth);
      expect(chosen.iops, depth).toBeGreaterThan(1.15 * ordered.iops);
      expect(chosen.response_ms.p50, depth).toBeLessThan(0.9 * ordered.response_ms.p50);
      if (PATIENT.includes(drive)) expect(chosen.response_ms.p99, depth).toBeLessThan(ordered.response_ms.p99);
      else expect(chosen.response_ms.p99, depth).toBeGreaterThan(ordered.response_ms.p99);
    }
  }, 60_000);

  it("the slowest wait longer on a drive that limits their waiting, if it no longer does", () => {
    expect(PATIENT.length).toBeGreaterThan(0);
    for (const drive of PATIENT) {
      const [ordered, chosen] = sides(drive, "32", ["drive.firmware.queue.patience", "0"]);
      expect(chosen.response_ms.p99).toBeGreaterThan(ordered.response_ms.p99);
    }
  }, 60_000);

  it("a drive without a queue is the same on both sides", () => {
    const without = named(({ depth }) => depth === 1);
    expect(without.length).toBeGreaterThan(0);
    for (const drive of without) {
      const [ordered, chosen] = sides(drive, "32");
      expect(chosen).toEqual(ordered);
    }
  }, 60_000);

  it("an acknowledged write can be lost, out of order; one before a flush never", () => {
    const setup = (flush: string) => ({ job: "paced-writes", target: DRIVES[0], set: [["job.env.FLUSH", flush]] });
    const list = (flush: string) => ask<{ requests: Written[]; end_ns: number }>({ ask: "writes", setup: setup(flush) });
    const landed = list("0").requests.flatMap(({ op, landed_ns }) => (op === "write" ? [landed_ns ?? Infinity] : []));
    expect(landed.some((instant, index) => index > 0 && instant < landed[index - 1]!)).toBe(true);
    const lost = (flush: string, part: number): { acknowledged: number; flushed: number } => {
      const at_ns = Math.round(list(flush).end_ns * part);
      type Lost = Record<"acknowledged_lost" | "flushed_lost", { writes: number }>;
      const { json } = ask<{ json: Lost }>({ ask: "power-cut", setup: setup(flush), at_ns });
      return { acknowledged: json.acknowledged_lost.writes, flushed: json.flushed_lost.writes };
    };
    expect(lost("0", 0.45).acknowledged).toBeGreaterThan(0);
    for (const part of [0.2, 0.45, 0.7]) expect(lost("16", part).flushed).toBe(0);
  });

  it.each(DRIVES)("commits on %s: sixteen that share a flush cost little more than one", (drive) => {
    const wait = (shared: string): number =>
      run(drive, "flushed-writes", [["job.env.RW", "write"], ["job.env.FLUSH", shared]], "5 s").json.commit.response_ms.mean;
    expect(wait("16")).toBeLessThan(1.5 * wait("1"));
    expect(wait("16")).toBeGreaterThan(wait("1"));
  });

  it("a larger budget saves hours, and users wait longer", () => {
    const setup = { job: "random-read", target: "exos-x18", set: [["array", "raid-1"], ["array.drives", "2"], ["driver", "linux-mq-deadline"]] };
    const price = (megabytes: number): [number, number] => {
      const asked = { ask: "rebuild", setup, users: 40, policy: `fixed:${megabytes}m`, stretches: 4 };
      const { json } = ask<{ json: { policies: { hours: number; phases: { mb_per_s: number | null; users: { p99_ms: number } }[] }[] } }>(asked);
      const { hours, phases } = json.policies[0]!;
      return [hours, Math.max(...phases.filter(({ mb_per_s }) => mb_per_s !== null).map(({ users }) => users.p99_ms))];
    };
    const [slow, fast] = [price(20), price(100)];
    expect(fast[0]).toBeLessThan(slow[0] / 2);
    expect(fast[1]).toBeGreaterThan(1.2 * slow[1]);
  }, 120_000);
});
