// What waits at a moment of a stretch: which requests have arrived and are not begun, where they lie, and in which order
// the arm will take them. Nothing is drawn here. Times are milliseconds after the picture's beginning.

import type { Stretch } from "./report";
import type { Movement } from "./stretch";

/** A read or a write at the device. */
export interface Access {
  write: boolean;
  cylinder: number;
  angle: number;
  issued: number;
  /** When the host's driver handed it on. */
  handed: number;
  /** When it was answered; infinite if that was after the recording. */
  done: number;
  /** The movement that serves it first; null if none does in the stretch. */
  movement: Movement | null;
}

/** Where it waits: in the host, in the drive's queue, or, answered early, in a buffer. */
export type Where = "host" | "drive" | "held";

/** An access that waits. */
export interface Waiting {
  access: Access;
  where: Where;
  /** Its place in the order in which the arm takes them, from 1; null if no movement takes it in the stretch. */
  turn: number | null;
}

/** All accesses of a stretch, those of data that a buffer held before it at the end; null if their places are unknown. */
export function accesses({ queue }: Stretch, moves: Movement[]): Access[] | null {
  if (queue === null) return null;
  const byPlace = new Map(moves.map((move) => [move.place, move]));
  const writes = new Set(queue.writes);
  const known = queue.cylinder.map((cylinder, place): Access => {
    const issued = queue.issued_us[place]! / 1e3;
    const movement = queue.movement[place] ?? null;
    return {
      write: writes.has(place),
      cylinder,
      angle: queue.angle[place]!,
      issued,
      handed: issued + (queue.host_us[place] ?? Infinity) / 1e3,
      done: issued + (queue.done_us[place] ?? Infinity) / 1e3,
      movement: movement === null ? null : (byPlace.get(movement) ?? null),
    };
  });
  const earlier = queue.earlier.flatMap((place): Access[] => {
    const movement = byPlace.get(place);
    if (movement === undefined) return [];
    const { to: cylinder, angle } = movement;
    return [
      { write: true, cylinder, angle, issued: -Infinity, handed: -Infinity, done: -Infinity, movement },
    ];
  });
  return [...known, ...earlier];
}

/** Where it waits at `time`; null if it has not arrived, is being served, or is over. */
function whereAt({ write, issued, handed, done, movement }: Access, time: number): Where | null {
  if (time < issued || (movement !== null && time >= movement.start)) return null;
  if (time >= done) return write ? "held" : null;
  return time < handed ? "host" : "drive";
}

/** What waits at `time`, in the order in which the arm takes it; last what it does not take in the stretch. */
export function waitingAt(all: Access[], time: number): Waiting[] {
  const found = all.flatMap((access): Waiting[] => {
    const where = whereAt(access, time);
    return where === null ? [] : [{ access, where, turn: null }];
  });
  const start = ({ access }: Waiting): number => access.movement?.start ?? Infinity;
  found.sort((a, b) => (start(a) === start(b) ? 0 : start(a) - start(b)));
  let turn = 0;
  let last: Movement | null = null;
  for (const waiting of found) {
    const { movement } = waiting.access;
    if (movement === null) break;
    // Requests that one movement serves have one turn.
    if (movement !== last) turn += 1;
    last = movement;
    waiting.turn = turn;
  }
  return found;
}

/** The instants at which one arrives, is handed on or is answered. */
export function changes(all: Access[]): number[] {
  return all.flatMap(({ issued, handed, done }) => [issued, handed, done]).filter(Number.isFinite);
}

/** What has arrived when the clock begins and is not answered yet, being served included. */
function presentAtFirst(all: Access[]): Access[] {
  return all.filter(({ issued, done }) => issued <= 0 && done > 0);
}

/** How many requests all sides begin with, if they are the same on all; else null. */
export function sharedBeginning(sides: (Access[] | null)[]): number | null {
  const present = sides.map((all) => presentAtFirst(all ?? []));
  const words = present.map((all) =>
    JSON.stringify(all.map(({ write, cylinder, angle }) => JSON.stringify([cylinder, angle, write])).sort()),
  );
  const many = present[0]?.length ?? 0;
  return many > 0 && words.length > 1 && words.every((word) => word === words[0]) ? many : null;
}
