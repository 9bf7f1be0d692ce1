// The controls that choose what is shown: an index for each leading axis, and the window on the last two.

import { make } from "./dom.js";
import { LONGEST, matrix, moved } from "./window.js";

// Makes the controls of a tensor at a position. `choose` is called with another position.
export function controls(shape, position, choose) {
  const made = position.leading.map((at, axis) =>
    number(`axis ${axis}`, at, shape[axis] - 1, (value) => {
      choose({ ...position, leading: position.leading.with(axis, value) });
    }),
  );
  const { rows, columns } = matrix(shape);
  const go = (down, right) => () => choose(moved(shape, position, down, right));
  if (rows > LONGEST) {
    const last = rows - LONGEST;
    made.push(
      group(
        number("first row", position.row, last, (row) => choose({ ...position, row })),
        button("↑", "Up", position.row > 0, go(-1, 0)),
        button("↓", "Down", position.row < last, go(1, 0)),
      ),
    );
  }
  if (columns > LONGEST) {
    const last = columns - LONGEST;
    made.push(
      group(
        number("first column", position.column, last, (column) => choose({ ...position, column })),
        button("←", "Left", position.column > 0, go(0, -1)),
        button("→", "Right", position.column < last, go(0, 1)),
      ),
    );
  }
  return made;
}

function number(name, value, most, chosen) {
  const input = make("input", { type: "number", min: 0, max: most, value, name });
  input.addEventListener("change", () => chosen(input.valueAsNumber || 0));
  return make("label", {}, `${name} `, input, make("span", { className: "of", textContent: ` of 0 to ${most}` }));
}

function button(text, says, isEnabled, press) {
  const made = make("button", { textContent: text, title: says, ariaLabel: says, disabled: !isEnabled });
  made.addEventListener("click", press);
  return made;
}

function group(...parts) {
  return make("span", { className: "group" }, ...parts);
}
