// The tensor view: takes what the extension reports, and asks for the window that is shown.

import { controls } from "./controls.js";
import { $ } from "./dom.js";
import { TYPES } from "./elements.js";
import { listen, pointAt, showWindow } from "./heatmap.js";
import { showHistogram } from "./histogram.js";
import { showStatistics } from "./statistics.js";
import { around, clamp, first, slice } from "./window.js";

const host = acquireVsCodeApi();

// What is kept while the page is hidden: the position in the tensor, and the choices of the reader.
const kept = { position: undefined, range: "tensor", isLogarithmic: false, ...host.getState() };
let described;
let elements;
// The index of the element that is to be pointed at when it is there.
let wanted;

function keep(changes) {
  Object.assign(kept, changes);
  host.setState(kept);
}

// Shows where the run is stopped, or why there is nothing to show.
function showState(state, text) {
  $("state").textContent = text;
  $("state").className = state;
  document.body.classList.toggle("old", state !== "stopped");
}

function showTensor(message) {
  described = message;
  const { shape, dtype, count } = message.statistics;
  $("reference").textContent = message.tensor;
  $("place").textContent = message.place;
  $("content").hidden = false;
  showState("stopped", "");
  showStatistics(message.statistics);
  showHistogram(message.histogram, kept.isLogarithmic);
  const reason = count === 0 ? "The tensor has no elements." : `Elements of type ${dtype} are not shown.`;
  const isShown = count > 0 && TYPES.includes(dtype);
  $("nothing").hidden = isShown;
  $("nothing").textContent = reason;
  $("picture").hidden = !isShown;
  if (!isShown) return;
  wanted = message.index?.length === shape.length ? message.index : undefined;
  const before = kept.position?.leading.length === Math.max(shape.length - 2, 0) ? kept.position : first(shape);
  choose(around(shape, message.index ?? [], before));
}

// Chooses a position, and asks for the elements there.
function choose(position) {
  const { shape } = described.statistics;
  keep({ position: clamp(shape, position) });
  $("controls").replaceChildren(...controls(shape, kept.position, choose));
  const { turn } = described;
  host.postMessage({ type: "window", turn, position: kept.position, slice: slice(shape, kept.position) });
}

function showElements(message) {
  // An answer for a position that was left meanwhile is passed over.
  if (message.turn !== described?.turn || message.slice !== slice(described.statistics.shape, kept.position)) return;
  elements = { ...described, ...message };
  showWindow(elements, kept.range);
  if (wanted) pointAt(wanted);
  wanted = undefined;
}

addEventListener("message", ({ data: message }) => {
  if (message.type === "tensor") showTensor(message);
  else if (message.type === "window") showElements(message);
  else if (message.type === "state") {
    $("reference").textContent = message.tensor;
    showState(message.state, message.text);
  }
});

$("range").value = kept.range;
$("range").addEventListener("change", () => {
  keep({ range: $("range").value });
  if (elements) showWindow(elements, kept.range);
});
$("logarithmic").checked = kept.isLogarithmic;
$("logarithmic").addEventListener("change", () => {
  keep({ isLogarithmic: $("logarithmic").checked });
  if (described) showHistogram(described.histogram, kept.isLogarithmic);
});
listen();
host.postMessage({ type: "ready" });
