// Every sentence of the pages, in one place, so that another language can follow. Results come from the library; only the terms of
// the questions (how many writes, how large a read, whose requests) are stated here.

import type { Part } from "../parts";

export const site = {
  mark: "Seekwise",
  title: "Explore a hard disk",
  lead:
    "A laboratory for hard-disk stacks, in this page. Everything that moves here is computed by the library of Seekwise, " +
    "as you drag: it is the program's model, and below the figures stands the command that asks the program.",
  skip: "To the page",
  pages: "pages",
  loading: "The library is being unpacked…",
  broken: (why: string) => `The library did not start: ${why}. A current browser with WebAssembly is needed.`,
  computing: "Being computed…",
  leaves: "What to keep",
  command: "The same figures on a command line:",
  drive: "drive",
  plain: "This page computes with a script, and draws as you drag. Without one, it has a picture and what each page says.",
  picture: "two drives from above with the same 16 reads waiting: one takes them in order, the other chooses the nearest",
  foot: "Made by Seekwise. It needs no network. Charts by Apache ECharts; the licences of what it is made with stand at the end of this file.",
};

export const player = {
  instant: "instant",
  speed: "speed",
  play: "▶ Play",
  pause: "❚❚ Pause",
  playLabel: "play or pause",
  asItWas: "as fast as the drive",
  slower: (times: string) => `${times} times slower`,
};

export const rows = {
  press: "Press a row to have it explained, or go through the rows with the arrow keys.",
  place: (place: number, all: number) => `row ${place} of ${all}`,
};

export const ribbon = {
  request: (op: string, lba: string, response: string, parts: string) =>
    `A ${op} at sector ${lba}: ${response} in all. ${parts}.`,
  parts: {
    processor: "processor",
    driver: "waiting in the host",
    flush: "waiting for the platter to hold the data",
    controller: "controller",
    queue: "waiting in the drive's queue",
    overhead: "the drive's electronics",
    seek: "arm",
    settle: "settling",
    rotation: "platter's turn",
    transfer: "reading or writing itself",
    cache: "waiting for the buffer",
    link: "cable",
  } satisfies Record<Part, string>,
};

export const read = {
  name: "One read",
  question: "What does one small read cost?",
  lead: "An idle drive has just read at one place. Drag the next read over the drive, or press a place on the platter.",
  from: "the arm stands at",
  target: "the next read lies at",
  place: (percent: string) => `${percent} % of the drive`,
  keep:
    "Nearby, a read is the platter's turn; across the drive, it is the arm. Reading the data itself takes almost nothing.",
  guess: "First guess: a read of 4 KiB from half-way across the drive. How much of its time is spent reading?",
  answers: ["about half", "about a tenth", "less than one percent"],
  truth: (share: string, whole: string) => `${share} of ${whole}: the rest is the arm and the platter's turn.`,
  sentence: (whole: string, arm: string, turn: string, data: string) =>
    `This read takes ${whole}: ${arm} for the arm, ${turn} for the platter's turn, ${data} for the data.`,
  hit: "The drive's buffer has these sectors already, so nothing moves.",
  curve: "Milliseconds of a read, by the place of its target. Each line up or down is a turn that was caught or missed.",
  axis: "place of the target, % of the drive",
  command: "On a command line, where this read is “second” (its parts: --json; the bars are the mean of both reads):",
};

export const queue = {
  name: "The queue",
  question: "What does a queue in the drive gain, and who pays?",
  lead: "Random reads of 8 KiB, so many outstanding at once. On the left the drive takes them in order; on the right it chooses.",
  depth: "requests outstanding",
  sides: ["in order", "the drive chooses"] as const,
  keep:
    "A queue buys rate, and most requests wait less; the slowest wait longer than in order, unless the drive limits their waiting.",
  guess: "First guess: 32 reads outstanding. How many more does the drive serve a second if it may choose?",
  answers: ["about as many", "about twice as many", "32 times as many"],
  truth: (ratio: string, hasQueue: boolean) => `${ratio} times as many${hasQueue ? "" : ": this drive has no queue"}.`,
  rate: "requests a second",
  slow: "the slowest one in a hundred waits",
  median: "half of them wait less than",
  sentence: (depth: number, ratio: string, median: [string, string], slow: [string, string], paid: boolean) =>
    `With ${depth} outstanding, the drive that chooses serves ${ratio} times the requests. Half of them are done ` +
    `within ${median[0]} instead of ${median[1]}, ${paid ? "but" : "and"} the slowest one in a hundred waits ${slow[0]} ` +
    `instead of ${slow[1]}.`,
  noQueue: (depth: number, median: string, slow: string) =>
    `This drive has no queue: it takes ${depth} outstanding requests in order on both sides. Half of them are done within ` +
    `${median}, the slowest one in a hundred waits ${slow}.`,
  alone: (median: string, slow: string) =>
    `With 1 outstanding there is nothing to choose from. Half of the requests are done within ${median}, the slowest one in a ` +
    `hundred waits ${slow}.`,
  rateCurve: "Requests a second, by how many are outstanding",
  slowCurve: "The slowest one in a hundred, ms, by how many are outstanding",
  axis: "requests outstanding",
  rows: "the first requests of each side, a row each",
};

export const plug = {
  name: "The plug",
  question: "The drive said “done”. Is it written?",
  lead:
    "A program writes 120 small blocks. The drive answers from its buffer, and writes them to the platter later, in an " +
    "order of its own. Drag the instant at which the plug is pulled.",
  cut: "the plug is pulled after",
  flush: "the program flushes",
  flushes: [
    { value: "0", text: "never" },
    { value: "16", text: "after every 16 writes" },
    { value: "1", text: "after every write" },
  ],
  keep: "“Done” is not “written”: what the drive still held is gone, and not in the order in which it was written.",
  guess: "First guess: the plug is pulled. Are only the newest writes lost?",
  answers: ["yes: it writes in order", "no: an earlier one can be gone, and a later one there"],
  truth: (there: number, lost: number) =>
    there > lost
      ? `Write number ${there} is on the platter; number ${lost}, acknowledged before it, is gone.`
      : "At this instant nothing is out of order. Drag the cut to another.",
  counts: (acknowledged: number, lost: number, flushed: number, flushes: boolean) =>
    `${acknowledged} writes were acknowledged; ${lost === 1 ? "1 of them is" : `${lost} of them are`} lost` +
    (flushed > 0 ? `, ${flushed} of them after a flush that promised they were safe.` : flushes ? ", none that a flush had made safe." : "."),
  fates: {
    platter: "on the platter",
    lost: "acknowledged, and lost",
    flight: "not acknowledged yet",
    later: "not issued yet",
  },
  row: (number: number, issued: string, acknowledged: string, landed: string) =>
    `Write ${number}: issued at ${issued}, acknowledged at ${acknowledged}, on the platter at ${landed}.`,
  never: "never",
  drawing: "each write a row: from the instant at which it was acknowledged to the one at which it was on the platter",
  reading:
    "One row is one write, the first on top. It begins when the drive says “done”; its dark end is when the platter has it. " +
    "Right of the line is what would have come.",
  safe: (flushes: number, time: string, turns: string) =>
    `A flush waits until the platter has it all: what came before it is safe. The ${flushes} flushes of this run take ${time} ` +
    `on average, ${turns} turns of the platter.`,
  unsafe: "Without a flush, nothing says when a write is safe.",
};

export const commit = {
  name: "A commit",
  question: "What does a commit cost, and what if several share it?",
  lead: "A program writes a record and flushes, so that it is durable. Drag how many records share one flush.",
  shared: "commits that share a flush",
  keep: "A commit waits a turn of the platter, in a growing file several. Sixteen that share a flush cost little more than one.",
  guess: "First guess: 16 commits share one flush. How much longer does that flush take?",
  answers: ["16 times as long", "twice as long", "hardly longer"],
  truth: (ratio: string) => `${ratio} times as long as a flush for one commit.`,
  perSecond: "commits a second",
  turns: "turns of the platter that a commit waits",
  grown: "turns, in a file that grows (ext4)",
  sentence: (shared: number, turns: string, grown: string, rate: string, single: string) =>
    `With ${shared} to a flush, each commit waits ${turns} turns of the platter, and the drive makes ${rate} a second ` +
    `instead of ${single}. In a file that grows, a commit alone waits ${grown} turns.`,
  curve: "Commits a second, by how many share a flush",
  axis: "commits that share a flush",
  rows: "the first writes and flushes, a row each",
};

export const rebuild = {
  name: "A rebuild beside you",
  question: "A drive of an array is replaced. How fast should it be rebuilt while people work?",
  lead: "A mirror of two drives, 40 random requests a second of its users. Drag how much the rebuild may copy a second.",
  budget: "budget of the rebuild",
  said: (megabytes: number) => `${megabytes} MB/s`,
  keep: "A larger budget saves hours without a spare, and the users pay for it by waiting.",
  supported: (fast: string, slow: string, hours: [string, string], waits: [string, string]) =>
    `From ${slow} to ${fast}: ${hours[1]} become ${hours[0]}, and the slowest one in a hundred of the users' requests waits ` +
    `${waits[0]} instead of ${waits[1]}.`,
  guess: "First guess: the rebuild gets five times the budget. What happens to its hours?",
  answers: ["exactly a fifth of them", "more than a fifth: users get in its way", "no change"],
  truth: (ratio: string, from: string, to: string) => `${ratio} of the hours: ${from} at 20 MB/s, ${to} at 100 MB/s.`,
  hours: "hours until the array is whole",
  wait: "the slowest one in a hundred waits",
  before: "before the rebuild",
  sentence: (budget: string, hours: string, wait: string, before: string) =>
    `At ${budget} the array is whole after ${hours} h. Meanwhile the slowest one in a hundred requests waits ${wait} ` +
    `instead of ${before}.`,
  computing: (done: number, all: number) => `Being simulated: ${done} of ${all} budgets.`,
  hoursCurve: "Hours until the array is whole, by budget",
  waitCurve: "The slowest one in a hundred of the users' requests, ms, by budget",
  axis: "budget, MB/s",
  note: "Eight short stretches of the drive are simulated, the hours between them computed; by itself the command takes 24.",
};

export const job = {
  name: "Your job",
  question: "Is your own job faster with another setting?",
  lead: "Paste a fio job file or an Iometer .icf, or keep the one that stands here. Choose a drive and two values of a setting.",
  text: "job (fio or .icf)",
  pattern: "or a built-in pattern",
  pasted: "the text below",
  key: "setting",
  from: "value",
  to: "other value",
  run: "Compare",
  stop: "Stop",
  running: (done: number, all: number) => (all > 0 ? `Run ${done} of ${all}.` : "Being run…"),
  stopped: "Stopped.",
  keep: "One setting, one workload, one drive: a verdict with its interval, its cause, and the command that gives the same.",
  limits: "The job was read with these limits:",
  judged: (metric: string) => `, by ${metric}`,
  why: "Why: ",
  but: "But: ",
  report: "Open the report",
  folder: "Download the result folder",
  folderNote: "Unpacked, `seekwise report FOLDER` opens it.",
  faults: "This cannot be run:",
  save: (name: string) => `Save the text as ${name} first.`,
};
