// A stretch of a run, read for its two pictures: whose it is, its requests one by one, and where an arm is at a moment.
// Times are milliseconds after the picture's beginning; a turn is a share of a revolution.

import type { Choice, Side } from "./choice";
import type { Part } from "./parts";
import type { Report, Stretch } from "./report";

/** A stretch and the side that it is of. */
export interface Told {
  side: Side;
  stretch: Stretch;
}

/** One request. */
export interface Request {
  place: number;
  op: string;
  worker: number;
  failed: boolean;
  lba: number;
  sectors: number;
  due: number;
  response: number;
  /** Milliseconds in the parts that it met. */
  parts: Partial<Record<Part, number>>;
}

/** One movement of an arm, and when each stretch of it is over. */
export interface Movement {
  /** Its place among those of the stretch. */
  place: number;
  drive: number;
  errand: string;
  from: number;
  to: number;
  head: number;
  lba: number;
  sectors: number;
  angle: number;
  arc: number;
  start: number;
  arrived: number;
  ready: number;
  passed: number;
  end: number;
}

/** The stretches with the sides of the headline, under the letters that the page opens with. */
export function told(report: Report, choice: Choice): Told[] {
  const sides = choice.allSides();
  const all = report.stretches.flatMap((stretch) => {
    const levels = report.cells.find(({ id }) => id === stretch.cell)?.levels;
    const alone = report.factors.length === 0;
    const side = alone ? sides[0] : sides.find(({ level }) => levels?.[choice.compared] === level);
    return side && stretch.requests.lba.length > 0 ? [{ side, stretch }] : [];
  });
  return all.sort((a, b) => a.side.index - b.side.index);
}

export function requests({ requests: all, parts }: Stretch): Request[] {
  const failed = new Set(all.failed);
  return all.lba.map((lba, place) => {
    const own = all.parts_ns[place]!;
    return {
      place,
      op: all.op[place]!,
      worker: all.worker[place]!,
      failed: failed.has(place),
      lba,
      sectors: all.sectors[place]!,
      due: all.due_ns[place]! / 1e6,
      response: own.reduce((sum, ns) => sum + ns, 0) / 1e6,
      parts: Object.fromEntries(parts.flatMap((part, at) => (own[at]! > 0 ? [[part, own[at]! / 1e6]] : []))),
    };
  });
}

/** The movements of one drive, in the order in which they begin. */
export function movements({ movements: all }: Stretch, drive: number): Movement[] {
  const found = all.drive.flatMap((of, place): Movement[] => {
    if (of !== drive) return [];
    // Summed in whole microseconds, so that no figure gets digits of its own.
    let us = 0;
    const instants = all.course_us[place]!.map((span) => (us += span) / 1e3);
    const [start, arrived, ready, passed, end] = instants as [number, number, number, number, number];
    return [
      {
        place,
        drive,
        errand: all.errand[place]!,
        from: all.from[place]!,
        to: all.to[place]!,
        head: all.head[place]!,
        lba: all.lba[place]!,
        sectors: all.sectors[place]!,
        angle: all.angle[place]!,
        arc: all.arc[place]!,
        start,
        arrived,
        ready,
        passed,
        end,
      },
    ];
  });
  return found.sort((a, b) => a.start - b.start);
}

/** When the last of it is over. */
export function ending(stretch: Stretch): number {
  const done = requests(stretch).map(({ due, response }) => due + response);
  return Math.max(0, ...done);
}

/** The last movement that has begun by `at`; -1 before the first. */
export function current(all: Movement[], at: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.start <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export type Doing = "seek" | "settle" | "rotation" | "transfer" | "rest";

/** What a movement is at, and over which cylinder the head is; `turned` is how far the platter has. Between a seek's
    ends the way is drawn evenly: only they are known. */
export function at(movement: Movement, turned: number, time: number): { cylinder: number; doing: Doing } {
  const { from, to, start, arrived, ready, end, angle, arc } = movement;
  if (time < arrived) return { cylinder: from + ((to - from) * (time - start)) / (arrived - start), doing: "seek" };
  const past = turned - angle - Math.floor(turned - angle);
  const doing = time < ready ? "settle" : time >= end ? "rest" : past < arc ? "transfer" : "rotation";
  return { cylinder: to, doing };
}

/** The movements of a request on a drive by itself, where it had some; of several drives nobody can tell. */
export function movedFor({ op, lba, sectors, due, response }: Request, all: Movement[], drives: number): Movement[] {
  if (drives > 1) return [];
  const done = due + response;
  const near = (a: number, b: number): boolean => a >= b - 0.002;
  return all.filter(
    (movement) =>
      movement.errand === op &&
      movement.lba < lba + sectors &&
      movement.lba + movement.sectors > lba &&
      near(movement.start, due) &&
      near(done, movement.end),
  );
}

/** When a write that was answered early reached the platter. */
export function writtenOut({ op, lba, sectors, due }: Request, all: Movement[], drives: number): Movement | undefined {
  if (drives > 1 || op !== "write") return undefined;
  return all.find(
    ({ errand, start, ...run }) =>
      errand === "destage" && start >= due && run.lba < lba + sectors && run.lba + run.sectors > lba,
  );
}
