// The work of a page, and its faults: each stands on its page until the work that failed succeeds.

import { el } from "../dom";
import { Stopped } from "./engine";

/** Pieces of work that can fail: what is drawn, its curves, the reply to a guess, a comparison. */
type Piece = "drawing" | "curves" | "guess" | "comparison";

export class Attempts {
  readonly element = el("p", { class: "trouble", role: "status", hidden: true });
  private readonly faults = new Map<Piece, string>();

  /** Does the work; shows its fault, or takes back the one before. Work that was stopped says nothing. */
  async run(piece: Piece, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.faults.delete(piece);
    } catch (error) {
      if (error instanceof Stopped) return;
      this.faults.set(piece, String(error instanceof Error ? error.message : error));
    }
    this.element.textContent = [...this.faults.values()].join("\n");
    this.element.hidden = this.faults.size === 0;
  }
}
