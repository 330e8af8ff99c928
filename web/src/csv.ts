// Figures as comma-separated values, as RFC 4180 has them.

/** A table: what stands over its columns, and its rows. Null is an empty field. */
export interface Table {
  head: string[];
  rows: (string | number | null | undefined)[][];
}

/** Text that a spreadsheet would take for a formula gets an apostrophe, which makes it text there. */
const FORMULA = /^[=+\-@\t\r]/;

/** The table as text; numbers with every digit. */
export function csv({ head, rows }: Table): string {
  return [head, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

function field(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
