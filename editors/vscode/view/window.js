// The window on a tensor: which of its elements are read and shown. A tensor of one axis is shown as a row, one without
// an axis as one element.

// How many rows and columns a window has at most.
export const LONGEST = 256;

// Returns the first position: index 0 of each leading axis, the first row and column.
export function first(shape) {
  return { leading: shape.slice(0, -2).map(() => 0), row: 0, column: 0 };
}

// Returns the rows and columns of each matrix of a tensor.
export function matrix(shape) {
  return { rows: shape.length > 1 ? shape.at(-2) : 1, columns: shape.length > 0 ? shape.at(-1) : 1 };
}

// Returns the position next to `position` that the tensor has.
export function clamp(shape, position) {
  const { rows, columns } = matrix(shape);
  const within = (number, count) => Math.min(Math.max(Math.trunc(number) || 0, 0), Math.max(count - 1, 0));
  const start = (number, count) => Math.min(within(number, count), Math.max(count - LONGEST, 0));
  return {
    leading: shape.slice(0, -2).map((size, axis) => within(position.leading[axis] ?? 0, size)),
    row: start(position.row, rows),
    column: start(position.column, columns),
  };
}

// Returns the position at which an element can be seen. The index may be that of the first axes alone.
export function around(shape, index, position) {
  const start = (number, before) => (number === undefined ? before : number - LONGEST / 2);
  return clamp(shape, {
    leading: position.leading.map((at, axis) => index[axis] ?? at),
    row: start(index[shape.length - 2], position.row),
    column: start(index[shape.length - 1], position.column),
  });
}

// Returns the position that lies a number of windows down and to the right.
export function moved(shape, position, down, right) {
  return clamp(shape, {
    ...position,
    row: position.row + down * LONGEST,
    column: position.column + right * LONGEST,
  });
}

// Returns how many rows and columns the window has at a position.
export function extent(shape, position) {
  const { rows, columns } = matrix(shape);
  return { rows: Math.min(rows - position.row, LONGEST), columns: Math.min(columns - position.column, LONGEST) };
}

// Returns the slice of a window, as it stands behind a tensor: `[3, 0:64, 0:64]`.
export function slice(shape, position) {
  if (shape.length === 0) return "";
  const { rows, columns } = extent(shape, position);
  const parts = [...position.leading.map(String)];
  if (shape.length > 1) parts.push(`${position.row}:${position.row + rows}`);
  parts.push(`${position.column}:${position.column + columns}`);
  return `[${parts.join(", ")}]`;
}

// Returns the index of an element of a window in the tensor.
export function indexOf(shape, position, row, column) {
  if (shape.length === 0) return [];
  const index = [...position.leading];
  if (shape.length > 1) index.push(position.row + row);
  return [...index, position.column + column];
}
