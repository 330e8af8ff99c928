import { describe, expect, it } from "vitest";

import { change, count, ends, estimated, number, numeric, plain, probability, quantity, range, share, unbroken } from "../src/format";

const THIN = "\u202f";

describe("numbers", () => {
  it.each([
    [0, "0"],
    [0.0779, "0.0779"],
    [0.5, "0.500"],
    [0.99951, "1.00"],
    [7.328, "7.33"],
    [9.996, "10.0"],
    [99.96, "100"],
    [469.4, "469"],
    [12514, `12${THIN}514`],
    [2856339.4, `2${THIN}856${THIN}339`],
    [-7.5, "−7.50"],
    [-0.0000001, "0"],
    [0.00000123, "0.000001"],
  ])("%d has three or four significant digits", (value, text) => expect(number(value)).toBe(text));

  it("shows a dash where there is no figure, and no unit with it", () => {
    for (const none of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(number(none)).toBe("–");
      expect(quantity(none, "ms")).toBe("–");
    }
    expect(quantity(469, "ms")).toBe("469\u00a0ms");
  });

  it("keeps every digit of a count and every figure of a tick", () => {
    expect(count(547134)).toBe(`547${THIN}134`);
    expect(plain(2)).toBe("2");
    expect(plain(5000)).toBe(`5${THIN}000`);
    expect(plain(0.1 + 0.2)).toBe("0.3");
  });
});

describe("statistics", () => {
  it("gives one figure where smallest and largest read alike", () => {
    expect(range({ low: 0.641, high: 0.6411 })).toBe("0.641");
    expect(range({ low: 0.64, high: 1.2 })).toBe("0.640 to 1.20");
  });

  it("tells the ends of an interval apart", () => {
    expect(ends({ estimate: 1.4, low: 1.383, high: 1.416 })).toBe("1.38 to 1.42");
    expect(ends({ estimate: 476, low: 475.7, high: 476.3 })).toBe("475.7 to 476.3");
    expect(ends({ estimate: 1, low: null, high: 2 })).toBe("–");
  });

  it("gives an estimate as exactly as its interval, so that it stands inside", () => {
    const narrow = { estimate: 1.0023, low: 1.001, high: 1.0041 };
    expect(`${estimated(narrow)} (${ends(narrow)})`).toBe("1.002 (1.001 to 1.004)");
    expect(estimated({ estimate: 1.4, low: 1.383, high: 1.416 })).toBe("1.40");
    expect(estimated({ estimate: 2.34, low: null, high: null })).toBe("2.34");
    expect(estimated({ estimate: null, low: null, high: null })).toBe("–");
  });

  it("gives the sign of a change", () => {
    expect(change(1.4)).toBe(`+40${THIN}%`);
    expect(change(0.985)).toBe(`−1.5${THIN}%`);
    expect(change(1.0001)).toBe(`±0.0${THIN}%`);
  });

  it("does not claim a p value of nothing", () => {
    expect(probability(0.00004)).toBe("p\u00a0<\u00a00.0001");
    expect(probability(0.83)).toBe("p\u00a0=\u00a00.83");
    expect(share(0.984)).toBe(`98${THIN}%`);
  });
});

it("knows a number among levels", () => {
  expect(["1", "0.5", "64"].every(numeric)).toBe(true);
  expect(["", " ", "64k", "on"].some(numeric)).toBe(false);
});

it("keeps a figure and its % on a line", () => {
  expect(unbroken("within 5 % of all")).toBe("within 5\u00a0% of all");
});
