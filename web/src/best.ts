// Which level of a factor is best for each kind of work: all kinds in one picture, the levels beside the best of each.

import { badge } from "./claims";
import { el, section } from "./dom";
import { csvButton, files } from "./download";
import type { Best, Chapter, Claim, Share } from "./report";

/** A cell this far behind the best has the full colour. */
const FULL = 0.3;

/** Kinds of work against levels; nothing if no part asks for the best. */
export function best(chapters: Chapter[]): HTMLElement | null {
  const all = chapters.flatMap(({ folder, report }) => report.best.map((row) => ({ row, folder, report })));
  const first = all[0];
  if (first === undefined) return null;
  const levels = first.row.levels.map(({ level }) => level);
  const head = [`kind of work`, ...levels, `best ${first.row.factor}`, "finding"];
  const rows = all.map(({ row, folder, report }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("a", { href: `#${folder}` }, row.work)),
      ...levels.map((level) => cell(row.levels.find((share) => share.level === level))),
      el("td", {}, alike(row)),
      el("td", {}, ...named(row, report.claims)),
    ),
  );
  const table = el(
    "table",
    { class: "best" },
    el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows),
  );
  const lead =
    `For each kind of work the figure at each number of ${first.row.factor}, as a share of the best one, with half of the 95 % ` +
    "interval over runs. The best stands in bold, with those that are not surely behind it by more than the margin; the " +
    "darker a field, the further it is behind.";
  const csv = csvButton("best", () => ({
    head: ["work", first.row.factor, "share", "low", "high", "alike"],
    rows: all.flatMap(({ row }) =>
      row.levels.map(({ level, ratio, low, high, alike: same }) => [row.work, level, ratio, low, high, String(same)]),
    ),
  }));
  return section("best", answer(all.map(({ row }) => row)), lead, el("div", { class: "wide" }, table), files(csv));
}

/** The answer as a heading: the level that is best for most kinds of work. */
export function answer(rows: Best[]): string {
  const counts = new Map<string, number>();
  for (const { levels } of rows) {
    for (const { level, alike: same } of levels) if (same) counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  const [[level, count] = ["", 0], next] = [...counts].sort(([, a], [, b]) => b - a);
  const factor = rows[0]?.factor ?? "";
  const then = next === undefined ? "" : `; then ${next[0]}, for ${String(next[1])}`;
  return `${factor}: ${level} is best, or as good, for ${String(count)} of ${String(rows.length)} kinds of work${then}`;
}

function cell(share: Share | undefined): HTMLElement {
  if (share === undefined) return el("td", {}, "–");
  const { ratio, low, high, alike: same } = share;
  const behind = Math.min(1, Math.max(0, (1 - ratio) / FULL));
  const half = (high - low) / 2;
  const text = `${(100 * ratio).toFixed(0)} % ± ${(100 * half).toFixed(half < 0.0995 ? 1 : 0)}`;
  const style = `--behind: ${String(Math.round(100 * behind))}%`;
  return el("td", { class: "share", style }, same ? el("strong", {}, text) : text);
}

/** The levels that cannot be told from the best, the best first. */
function alike({ best: first, levels }: Best): string {
  const others = levels.filter(({ level, alike: same }) => same && level !== first).map(({ level }) => level);
  if (levels.length > 1 && others.length === levels.length - 1) return "all alike";
  return others.length === 0 ? first : `${first} (or ${others.join(", ")})`;
}

/** The findings that are about it, with their verdicts. */
function named({ claims: ids }: Best, claims: Claim[]): HTMLElement[] {
  const own = claims.filter(({ id }) => ids.includes(id));
  return own.map((claim) =>
    el("span", { class: "one", title: claim.deciding ?? claim.finding }, `${claim.id} `, badge(claim)),
  );
}
