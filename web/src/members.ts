// The work of an array's members: bytes by purpose, and busy time of each.

import type { Table } from "./csv";
import { el, scroller, section, type Child } from "./dom";
import { csvButton, files } from "./download";
import { fixedSelectors } from "./controls";
import { chip } from "./palette";
import { number } from "./format";
import type { Choice, Side } from "./choice";
import type { Member, Members } from "./report";

interface Column {
  head: string;
  unit: string;
  read: (member: Member) => number | null;
  /** Left out if no member has any. */
  optional: boolean;
}

const COLUMNS: Column[] = [
  { head: "read", unit: "MB", read: ({ read_mb }) => read_mb, optional: false },
  { head: "of it before writes", unit: "MB", read: (member) => member.read_before_writes_mb, optional: true },
  { head: "written", unit: "MB", read: ({ written_mb }) => written_mb, optional: false },
  { head: "rebuild", unit: "MB", read: ({ sync_mb }) => sync_mb, optional: true },
  { head: "bitmap", unit: "MB", read: ({ bitmap_mb }) => bitmap_mb, optional: true },
  { head: "busy", unit: "%", read: ({ busy_percent }) => busy_percent, optional: false },
];

interface Shown {
  side: Side;
  array: Members;
}

/** The members of each side in the chosen cells; null if no cell has an array. */
export function members(choice: Choice, has: boolean): HTMLElement | null {
  if (!has) return null;
  const bar = el("div", { class: "controls" });
  const words = el("p", { class: "caption", "aria-live": "polite" });
  const body = el("div", {});
  const fill = (): void => {
    bar.replaceChildren(...fixedSelectors(choice, [choice.compared]));
    words.textContent = choice.condition([choice.compared]);
    body.replaceChildren(...shownSides(choice).map((shown) => sideOf(choice, shown)));
  };
  fill();
  choice.watch(fill);
  const lead =
    "Bytes at each member of the array in the counted time, means of the runs. Busy: the time with at least one command " +
    "at the member, as iostat's %util. MB are 10⁶ bytes.";
  const csv = csvButton("members", () => table(choice));
  return section("members", "What the members did", lead, bar, words, files(csv), body);
}

function shownSides(choice: Choice): Shown[] {
  return choice.sides().flatMap((side) => {
    const array = choice.cell(side)?.array;
    return array ? [{ side, array }] : [];
  });
}

/** The columns that these members use. */
function used(all: Member[]): Column[] {
  return COLUMNS.filter(({ optional, read }) => !optional || all.some((member) => (read(member) ?? 0) > 0));
}

function sideOf(choice: Choice, { side, array }: Shown): HTMLElement {
  const many = choice.allSides().length > 1;
  const name: Child[] = many ? [chip(side), " ", el("strong", {}, side.name), " "] : [];
  const columns = used(array.members);
  const heads = columns.map(({ head, unit }) => el("th", { scope: "col", class: "figure" }, `${head}, ${unit}`));
  const row = (member: Member): HTMLElement =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, `member ${member.member}`),
      ...columns.map(({ read }) => el("td", { class: "figure" }, number(read(member)))),
    );
  const head = el("tr", {}, el("th", { scope: "col" }, "member"), ...heads);
  const drawn = el("table", { class: "parts" }, el("thead", {}, head), el("tbody", {}, ...array.members.map(row)));
  const label = many ? `the members of ${side.name}` : "the members";
  return el("div", { class: "members" }, el("p", {}, ...name, array.bytes), scroller(label, drawn));
}

function table(choice: Choice): Table {
  const head = ["side", "member", ...COLUMNS.map((column) => `${column.head}, ${column.unit}`)];
  const rows = shownSides(choice).flatMap(({ side, array }) =>
    array.members.map((member) => [side.name, member.member, ...COLUMNS.map(({ read }) => read(member))]),
  );
  return { head, rows };
}
