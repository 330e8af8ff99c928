// Numbers as text: three or four significant digits, thousands apart by a thin space, a real minus sign.

import type { Figure, Interval } from "./report";

const THIN = "\u202f";
const NONE = "–";
/** Below a nanosecond in milliseconds, or a byte in megabytes, a figure is only the rounding of another. */
const SMALLEST = 1e-6;

/** A figure with three or four significant digits; a dash when there is none. */
export function number(value: Figure | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (Math.abs(value) < SMALLEST) return "0";
  return grouped(value.toFixed(decimals(Math.abs(value))));
}

/** A count, with every digit. */
export function count(value: number): string {
  return grouped(value.toFixed(0));
}

/** A figure and its unit, kept on one line; the unit is left out with the figure. */
export function quantity(value: Figure | undefined, unit: string): string {
  const text = number(value);
  return text === NONE ? text : `${text}\u00a0${unit}`;
}

/** The two ends of an interval, as exact as the estimate, or more where the interval is narrow. */
export function ends(interval: Interval): string {
  const { low, high } = interval;
  if (low === null || high === null) return NONE;
  const digits = digitsOf(interval);
  return `${grouped(low.toFixed(digits))} to ${grouped(high.toFixed(digits))}`;
}

/** The estimate of an interval, as exact as its ends. */
export function estimated(interval: Interval): string {
  const { estimate, low, high } = interval;
  if (estimate === null || low === null || high === null) return number(estimate);
  return grouped(estimate.toFixed(digitsOf(interval)));
}

function digitsOf({ estimate, low, high }: Interval): number {
  const own = decimals(Math.abs(estimate ?? high ?? 0));
  return low === null || high === null ? own : Math.min(6, Math.max(own, decimals(high - low) - 2));
}

/** The smallest and the largest of several figures; one figure where they read alike. */
export function range({ low, high }: { low: Figure; high: Figure }): string {
  const [least, most] = [number(low), number(high)];
  return least === most ? least : `${least} to ${most}`;
}

/** A round number as it is: tick marks, margins, levels. */
export function plain(value: number): string {
  return grouped(String(Number(value.toPrecision(6))));
}

/** A ratio as a change in percent: 1.27 becomes "+27 %". */
export function change(ratio: number): string {
  const percent = (ratio - 1) * 100;
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  const text = Math.abs(percent).toFixed(digits);
  const sign = Number(text) === 0 ? "±" : percent > 0 ? "+" : "−";
  return `${sign}${grouped(text)}${THIN}%`;
}

/** A p value; very small ones as a bound. */
export function probability(p: number): string {
  if (p < 0.0001) return "p\u00a0<\u00a00.0001";
  return `p\u00a0=\u00a0${p.toFixed(p < 0.01 ? 4 : 2)}`;
}

/** A share between 0 and 1 as percent. */
export function share(value: number): string {
  const percent = value * 100;
  return `${percent.toFixed(percent < 10 ? 1 : 0)}${THIN}%`;
}

/** A level as it is shown: switches are on or off. */
export function shown(level: string): string {
  return level === "true" ? "on" : level === "false" ? "off" : level;
}

/** Levels that say nothing without their factor's name. */
const SWITCH = new Set(["on", "off", "true", "false", "yes", "no"]);

/** A level by itself: a number or a switch says of what. */
export function levelName(factor: string, level: string): string {
  return numeric(level) || SWITCH.has(level) ? `${factor} ${shown(level)}` : level;
}

/** So many things, in words: "1 run", "3 runs". */
export function counted(many: number, one: string, several = `${one}s`): string {
  return `${count(many)} ${many === 1 ? one : several}`;
}

/** Whether a level is a number, so that it can stand on an axis. */
export function numeric(level: string): boolean {
  return level.trim() !== "" && Number.isFinite(Number(level));
}

function decimals(size: number): number {
  if (size === 0 || size >= 99.95) return 0;
  if (size >= 9.995) return 1;
  if (size >= 0.9995) return 2;
  return Math.min(6, 2 - Math.floor(Math.log10(size)));
}

function grouped(text: string): string {
  const [whole = "", fraction] = text.replace("-", "").split(".");
  const sign = text.startsWith("-") && Number(text) !== 0 ? "−" : "";
  const parted = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  return sign + (fraction === undefined ? parted : `${parted}.${fraction}`);
}

/** Words in which no line ends between a figure and its %. */
export function unbroken(words: string): string {
  return words.replace(/(\d) %/g, "$1\u00a0%");
}
