// Draws a window of a tensor, with its legend, and says which element is pointed at.

import { INFINITE, MINUS_INFINITE, NAN, colourOf, pixelsOf, rangeOf, scaleOf } from "./colours.js";
import { $, make } from "./dom.js";
import { bytesOf, element, numbersOf } from "./elements.js";
import { exact, short } from "./numbers.js";
import { extent, indexOf } from "./window.js";

// The largest side of an element on the screen, and the greatest height of the picture.
const [LARGEST, HIGHEST] = [32, 512];

let shown;

// Shows the elements of a window. `of` is the tensor, or the window, whose lowest and highest number the colours span.
export function showWindow({ tensor, statistics, position, dtype, data }, of) {
  const { rows, columns } = extent(statistics.shape, position);
  const bytes = bytesOf(data);
  const numbers = numbersOf(dtype, bytes, rows * columns);
  // A complex tensor has no lowest and highest number.
  const whole = statistics.min === null ? undefined : statistics;
  const range = (of === "tensor" ? whole : undefined) ?? rangeOf(numbers) ?? {};
  const scale = scaleOf(range.min, range.max);
  // The element that was pointed at stays so from stop to stop.
  const isSame = JSON.stringify([shown?.position, shown?.rows, shown?.columns]) === JSON.stringify([position, rows, columns]);
  const at = isSame ? shown.at : undefined;
  shown = { tensor, shape: statistics.shape, position, dtype, bytes, rows, columns, cell: 1, at };
  const canvas = $("heatmap");
  [canvas.width, canvas.height] = [columns, rows];
  canvas.getContext("2d").putImageData(new ImageData(pixelsOf(numbers, scale), columns), 0, 0);
  canvas.ariaLabel = `${rows} by ${columns} elements of ${tensor} as colours`;
  showLegend(scale, numbers, range.min !== undefined);
  fit();
}

// Points at an element of the window, by its index in the tensor.
export function pointAt(index) {
  point(within((index.at(-2) ?? 0) - shown.position.row, (index.at(-1) ?? 0) - shown.position.column));
}

// Makes the elements as large as the page allows.
export function fit() {
  if (!shown) return;
  const room = $("picture").clientWidth - 2;
  shown.cell = Math.max(Math.min(Math.floor(room / shown.columns), Math.floor(HIGHEST / shown.rows), LARGEST), 1);
  $("heatmap").style.width = `${shown.columns * shown.cell}px`;
  $("heatmap").style.height = `${shown.rows * shown.cell}px`;
  point(shown.at);
}

function showLegend(scale, numbers, isSpanned) {
  const ramp = $("ramp");
  const part = (share) => scale.min * (1 - share) + scale.max * share;
  const steps = Float64Array.from({ length: ramp.width }, (_, index) => part(index / (ramp.width - 1)));
  ramp.getContext("2d").putImageData(new ImageData(pixelsOf(steps, scale), ramp.width), 0, 0);
  ramp.hidden = !isSpanned;
  $("least").textContent = isSpanned ? short(scale.min) : "no finite number";
  $("most").textContent = isSpanned ? short(scale.max) : "";
  const counts = [
    ["NaN", NAN, numbers.filter(Number.isNaN).length],
    ["inf", INFINITE, numbers.filter((number) => number === Infinity).length],
    ["-inf", MINUS_INFINITE, numbers.filter((number) => number === -Infinity).length],
  ];
  const rows = counts.map(([name, colour, count]) => {
    const swatch = make("span", { className: "swatch" });
    swatch.style.background = `rgb(${colour.join(", ")})`;
    return make("li", {}, swatch, `${name}: ${count.toLocaleString("en")}`);
  });
  $("specials").replaceChildren(...rows);
}

// Says the index and the value of an element of the window, or of none.
function point(at) {
  shown.at = at;
  const cursor = $("cursor");
  cursor.hidden = at === undefined;
  if (at === undefined) {
    $("readout").textContent = "Point at an element, or choose one by the arrow keys.";
    return;
  }
  const index = indexOf(shown.shape, shown.position, at.row, at.column);
  const value = element(shown.dtype, shown.bytes, at.row * shown.columns + at.column);
  $("readout").textContent = `${shown.tensor}[${index.join(", ")}] = ${exact(shown.dtype, value)}`;
  const sides = { left: at.column * shown.cell, top: at.row * shown.cell, width: shown.cell, height: shown.cell };
  for (const [name, size] of Object.entries(sides)) cursor.style[name] = `${size}px`;
}

function within(row, column) {
  const inside = (number, count) => Math.min(Math.max(number, 0), count - 1);
  return { row: inside(row, shown.rows), column: inside(column, shown.columns) };
}

const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Lets elements be pointed at by the mouse and by keys.
export function listen() {
  const canvas = $("heatmap");
  canvas.addEventListener("mousemove", (event) => {
    if (shown) point(within(Math.floor(event.offsetY / shown.cell), Math.floor(event.offsetX / shown.cell)));
  });
  canvas.addEventListener("keydown", (event) => {
    const by = KEYS[event.key];
    if (!by || !shown) return;
    event.preventDefault();
    const at = shown.at ?? { row: -by[0], column: -by[1] };
    point(within(at.row + by[0], at.column + by[1]));
  });
  new ResizeObserver(fit).observe($("picture"));
}
