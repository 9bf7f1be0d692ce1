// Draws the histogram.

import { bars, labelled, rangeText } from "./bars.js";
import { $, draw, make } from "./dom.js";
import { power } from "./numbers.js";

const [WIDTH, HEIGHT, LABELS] = [640, 140, 34];

export function showHistogram({ bins }, isLogarithmic) {
  if (bins.length === 0) {
    $("histogram").replaceChildren(make("p", { textContent: "There is no finite number to count." }));
    return;
  }
  const width = WIDTH / bins.length;
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + LABELS}`, role: "img" });
  svg.append(draw("title", {}, "How many elements lie between powers of two"));
  const named = labelled(bins, 12);
  bars(bins, isLogarithmic).forEach((bar, index) => {
    const said = `${rangeText(bar, power)}: ${bar.count.toLocaleString("en")}`;
    const high = bar.count > 0 ? Math.max(bar.height * HEIGHT, 1) : 0;
    const place = { x: index * width, width };
    svg.append(
      draw("rect", { class: "bar", x: place.x + width * 0.06, width: width * 0.88, y: HEIGHT - high, height: high }),
      // The whole column can be pointed at, not only its bar.
      draw("rect", { class: "column", ...place, y: 0, height: HEIGHT }, draw("title", {}, said)),
    );
    if (named[index]) {
      svg.append(draw("text", { x: place.x + width / 2, y: HEIGHT + 14, "text-anchor": "middle" }, power(bar.from)));
    }
  });
  svg.append(draw("line", { class: "axis", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  svg.append(draw("text", { class: "note", x: WIDTH / 2, y: HEIGHT + 30, "text-anchor": "middle" }, "each bar spans the numbers from its label to the double"));
  $("histogram").replaceChildren(svg);
}
