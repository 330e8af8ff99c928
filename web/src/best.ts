// Which level of a factor is best for each kind of work: all kinds in one picture, the levels beside the best of each.

import { badge } from "./claims";
import { el, section } from "./dom";
import { csvButton, files } from "./download";
import { plain, share } from "./format";
import type { Best, Chapter, Claim, Share } from "./report";

/** Shades go with this power of how far a field is behind: below 1, so that small differences have more of the scale. */
const SPREAD = 0.7;

/** Kinds of work against levels; nothing if no part asks for the best. */
export function best(chapters: Chapter[]): HTMLElement | null {
  const all = chapters.flatMap(({ folder, report }) => report.best.map((row) => ({ row, folder, report })));
  const first = all[0];
  if (first === undefined) return null;
  const levels = first.row.levels.map(({ level }) => level);
  const head = [`kind of work`, ...levels, `best ${first.row.factor}`, "source's finding in the model"];
  const furthest = Math.max(...all.flatMap(({ row }) => row.levels.map(behind)));
  const rows = all.map(({ row, folder, report }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("a", { href: `#${folder}` }, row.work)),
      ...levels.map((level) => cell(row.levels.find((share) => share.level === level), furthest)),
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
  const margin = [...new Set(all.map(({ row }) => plain(row.margin_percent)))].join(" or ");
  const findings = all.some(({ row, report }) => named(row, report.claims).length > 0);
  const lead =
    `For each kind of work the figure at each number of ${first.row.factor}, as a share of the best one, with half of the 95 % ` +
    `interval over runs. The best stands in bold, with those that are as good: surely behind it by no more than ${margin} %. ` +
    `The darker a field, the further it is behind; the darkest is ${share(1 - furthest)} of the best.` +
    (findings ? " The last column says whether what the source study found for that work is reproduced by the model." : "");
  const csv = csvButton("best", () => ({
    head: ["work", first.row.factor, "share", "low", "high", "alike"],
    rows: all.flatMap(({ row }) =>
      row.levels.map(({ level, ratio, low, high, alike: same }) => [row.work, level, ratio, low, high, String(same)]),
    ),
  }));
  return section("best", `Which ${first.row.factor} for which work`, lead, el("div", { class: "wide" }, table), files(csv));
}

/** How far a level is behind the best. */
function behind({ ratio }: Share): number {
  return Math.min(1, Math.max(0, 1 - ratio));
}

/** A field; its colour has the whole scale from the best to the furthest behind, more of it for small differences. */
function cell(level: Share | undefined, furthest: number): HTMLElement {
  if (level === undefined) return el("td", {}, "–");
  const { ratio, low, high, alike: same } = level;
  const shade = furthest > 0 ? (behind(level) / furthest) ** SPREAD : 0;
  const half = (high - low) / 2;
  const text = `${(100 * ratio).toFixed(0)} % ± ${(100 * half).toFixed(half < 0.0995 ? 1 : 0)}`;
  const style = `--behind: ${String(Math.round(100 * shade))}%`;
  return el("td", { class: "share", style }, same ? el("strong", {}, text) : text);
}

/** The levels that are as good as the best, the best first. */
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
