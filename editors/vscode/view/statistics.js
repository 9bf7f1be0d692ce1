// The statistics of the whole tensor.

import { $, make } from "./dom.js";
import { short } from "./numbers.js";

export function showStatistics({ dtype, shape, count, min, max, mean, std, nan, zeros, ...others }) {
  const infinite = others.positive_infinite + others.negative_infinite;
  $("form").textContent = `${dtype} [${shape.join(", ")}]`;
  const rows = [
    ["elements", count.toLocaleString("en")],
    ["min", short(min), min],
    ["max", short(max), max],
    ["mean", short(mean), mean],
    ["std", short(std), std],
    ["NaN", nan.toLocaleString("en")],
    ["infinite", infinite.toLocaleString("en")],
    ["zeros", zeros.toLocaleString("en")],
  ];
  $("statistics").replaceChildren(
    ...rows.map(([name, text, full]) => {
      const isBad = (name === "NaN" || name === "infinite") && text !== "0";
      const value = make("dd", { textContent: text, title: full ?? "", className: isBad ? "bad" : "" });
      return make("div", {}, make("dt", { textContent: name }), value);
    }),
  );
}
