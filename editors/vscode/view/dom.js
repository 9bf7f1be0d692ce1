// Small helpers for the page.

export const $ = (id) => document.getElementById(id);

// Makes an element with properties and children.
export function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Makes an element of an SVG drawing with attributes.
export function draw(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
