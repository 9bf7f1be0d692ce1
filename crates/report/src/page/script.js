"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const SVG = "http://www.w3.org/2000/svg";

  // Durations, in nanoseconds.
  const duration = (nanos) => {
    const size = Math.abs(nanos);
    const [value, unit] = size >= 1e9 ? [nanos / 1e9, "s"] : size >= 1e6 ? [nanos / 1e6, "ms"] : size >= 1e3 ? [nanos / 1e3, "µs"] : [nanos, "ns"];
    const digits = unit === "ns" ? (size < 10 && size > 0 ? 1 : 0) : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
    return value.toFixed(digits) + " " + unit;
  };

  // Calls a function once, when an element comes near the screen: what is not seen need not be measured while the page opens.
  const whenSeen = (element, call) => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      call();
    });
    observer.observe(element);
  };

  // A moment with as many digits as tell it from those a step beside it.
  const moment = (nanos, step) => {
    const [factor, unit] = nanos + step >= 1e9 ? [1e9, "s"] : nanos + step >= 1e6 ? [1e6, "ms"] : nanos + step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    const digits = Math.min(9, Math.max(unit === "ns" ? 0 : 1, 1 - Math.floor(Math.log10(Math.max(step, 0.01) / factor))));
    return (nanos / factor).toFixed(digits) + " " + unit;
  };

  // Sorting: by a column's button. A second press turns the order round.
  for (const table of all(document, "table.sortable")) {
    const body = table.tBodies[0];
    const heads = all(table, "thead th");
    const key = (row, column) => {
      const cell = row.cells[column];
      const value = cell.dataset.v;
      if (value === undefined) return cell.textContent;
      return value === "" ? -Infinity : Number(value);
    };
    const names = new Intl.Collator(undefined, { numeric: true });
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const isNumber = head.classList.contains("n");
        const down = before ? before === "ascending" : isNumber;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = Array.from(body.rows, (row) => [key(row, column), row]);
        rows.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : names.compare(a, b)));
        if (down) rows.reverse();
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // Searching: rows whose text holds every word.
  for (const input of all(document, "input[data-search]")) {
    const body = document.getElementById(input.dataset.search).tBodies[0];
    const output = input.parentElement.querySelector("output");
    let texts = null;
    input.addEventListener("input", () => {
      texts ||= new Map(Array.from(body.rows, (row) => [row, (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase()]));
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      texts.forEach((text, row) => {
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      });
      output.value = words.length ? shown + " of " + texts.size + " rows" : texts.size + " rows";
    });
  }

  // Charts: the text of the nearest point, and a line through it.
  for (const figure of all(document, "figure[data-hover]")) {
    const points = JSON.parse(figure.dataset.hover);
    const output = figure.querySelector("output");
    if (!points.length) continue;
    for (const svg of all(figure, "svg")) {
      const [from, to, top, bottom] = svg.dataset.plot.split(" ").map(Number);
      const box = svg.viewBox.baseVal;
      const line = document.createElementNS(SVG, "line");
      line.setAttribute("class", "cursor");
      line.setAttribute("y1", top);
      line.setAttribute("y2", bottom);
      line.style.display = "none";
      svg.append(line);
      svg.addEventListener("pointermove", (event) => {
        const area = svg.getBoundingClientRect();
        const place = (((event.clientX - area.left) / area.width) * box.width - from) / (to - from);
        const high = (bottom - ((event.clientY - area.top) / area.height) * box.height) / (bottom - top);
        // A spot without a height is all of its column.
        const far = ([x, , y]) => Math.hypot((x - place) * (to - from), y === null ? 0 : (y - high) * (bottom - top));
        let near = points[0];
        for (const point of points) if (far(point) < far(near)) near = point;
        const x = from + near[0] * (to - from);
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        line.style.display = "";
        output.value = near[1];
      });
      svg.addEventListener("pointerleave", () => {
        line.style.display = "none";
        output.value = "";
      });
    }
  }

  // The timeline: a part of the run, from `from` to `to` of 0 to 1.
  for (const figure of all(document, "figure.timeline")) {
    const view = figure.querySelector(".view");
    const output = figure.querySelector("output");
    const whole = Number(figure.dataset.nanos);
    const ticks = all(view, ".axis text");
    let slots = null;
    const slotsOf = () => all(view, ".s").map((slot) => ({
      slot,
      start: parseFloat(slot.getAttribute("x")) / 100,
      length: parseFloat(slot.getAttribute("width")) / 100,
      text: slot.querySelector("text"),
      name: slot.querySelector("title").textContent.replace(/( \([^()]*\))?: [^:]*$/, ""),
    }));
    // Names differ at their ends, so a long one loses its middle.
    const cut = (name, most) => {
      const letters = Array.from(name);
      if (letters.length <= most) return name;
      const begin = Math.floor((most - 1) / 2);
      return letters.slice(0, begin).join("") + "…" + letters.slice(letters.length - (most - 1 - begin)).join("");
    };
    const least = Math.min(1, Math.max(20 / Math.max(whole, 1), 1e-6));
    let [from, to] = [0, 1];
    const draw = () => {
      const scale = to - from;
      const pixels = view.clientWidth || 1;
      const letter = parseFloat(getComputedStyle(view).fontSize) * 0.58;
      slots ||= slotsOf();
      for (const part of slots) {
        const at = (part.start - from) / scale;
        const width = part.length / scale;
        const seen = at < 1 && at + width >= 0;
        part.slot.style.display = seen ? "" : "none";
        if (!seen) continue;
        // What begins before the view keeps its text within it.
        const left = Math.max(at, -0.001);
        part.slot.setAttribute("x", left * 100 + "%");
        part.slot.setAttribute("width", Math.max(0, Math.min(at + width, 1.001) - left) * 100 + "%");
        const isNamed = !part.slot.classList.contains("gap") && width * pixels > 36;
        if (isNamed && !part.text) {
          part.text = document.createElementNS(SVG, "text");
          part.text.setAttribute("x", "4");
          part.text.setAttribute("y", "1.25em");
          part.slot.append(part.text);
        }
        if (part.text) part.text.style.display = isNamed ? "" : "none";
        if (isNamed) part.text.textContent = cut(part.name, Math.max(3, Math.floor((Math.min(width, 1) * pixels - 8) / letter)));
      }
      const step = (scale * whole) / (ticks.length - 1);
      ticks.forEach((tick, index) => (tick.textContent = moment(from * whole + step * index, step)));
      figure.dataset.from = from;
      figure.dataset.to = to;
    };
    const show = (first, last) => {
      let width = Math.min(1, Math.max(least, last - first));
      from = Math.min(Math.max(0, first), 1 - width);
      to = from + width;
      draw();
      const step = (to - from) * whole * 0.1;
      output.value = width < 1 ? "Shown: " + moment(from * whole, step) + " to " + moment(to * whole, step) : "";
    };
    const zoom = (factor, at = 0.5) => {
      const center = from + (to - from) * at;
      show(center - (center - from) * factor, center + (to - center) * factor);
    };
    const move = (part) => show(from + (to - from) * part, to + (to - from) * part);
    const acts = { in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.25), right: () => move(0.25), all: () => show(0, 1) };
    for (const button of all(figure, "[data-zoom]")) button.addEventListener("click", acts[button.dataset.zoom]);
    const keys = { "+": "in", "=": "in", "-": "out", "−": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Escape: "all" };
    view.addEventListener("keydown", (event) => {
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
      if (act) {
        event.preventDefault();
        acts[act]();
      }
    });
    view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const area = view.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - area.left) / area.width);
    }, { passive: false });
    let begun = null;
    const picked = document.createElement("div");
    picked.className = "picked";
    const place = (event) => {
      const area = view.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
    };
    view.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      begun = place(event);
      // The view gets what follows, also outside of it.
      view.setPointerCapture(event.pointerId);
    });
    view.addEventListener("pointermove", (event) => {
      const slot = event.target.closest(".s");
      if (slot) output.value = slot.querySelector("title").textContent;
      if (begun === null) return;
      const now = place(event);
      picked.style.left = Math.min(begun, now) * 100 + "%";
      picked.style.width = Math.abs(now - begun) * 100 + "%";
      view.append(picked);
    });
    view.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const [a, b] = [begun, place(event)].sort((a, b) => a - b);
      begun = null;
      picked.remove();
      if (b - a > 0.005) show(from + (to - from) * a, from + (to - from) * b);
    });
    [figure.dataset.from, figure.dataset.to] = [from, to];
    whenSeen(view, draw);
    window.addEventListener("resize", () => slots && draw());
  }

  // The graph. A level is drawn with all of its modules folded. An unfolded one needs more room: the level is stretched from its
  // left side to its right one, and from its top to its bottom, and all that stands beside it moves along.
  const numbers = (text) => text.match(/-?[\d.]+/g).map(Number);
  const levels = new Map();
  const levelOf = (group) => {
    if (levels.has(group)) return levels.get(group);
    const [width, height] = numbers(group.dataset.s);
    const level = { group, width, height, nodes: [], edges: [] };
    for (const child of group.children) {
      if (child.tagName === "g") {
        const [x, y] = numbers(child.getAttribute("transform"));
        const rect = child.querySelector(":scope > rect");
        const w = Number(rect.getAttribute("width"));
        level.nodes.push({ child, rect, x, y, w, h: child.classList.contains("p") ? 10 : 40 });
      } else if (child.tagName === "path") {
        level.edges.push({ path: child, d: child.getAttribute("d"), ends: numbers(child.dataset.e) });
      } else {
        level.edges.at(-1).label = { text: child, at: ["x", "y"].map((name) => Number(child.getAttribute(name))) };
      }
    }
    levels.set(group, level);
    return level;
  };
  // A stretched axis: `wanted` are parts of it with the lengths that they need.
  const stretched = (wanted) => {
    const cuts = [...new Set(wanted.flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b);
    const pieces = cuts.slice(1).map((to, index) => {
      const over = wanted.filter(([a, b]) => a <= cuts[index] && b >= to).map(([a, b, length]) => length / (b - a));
      return [cuts[index], to, Math.max(1, ...over) - 1];
    });
    return (at) => pieces.reduce((sum, [from, to, more]) => sum + Math.max(0, Math.min(at, to) - from) * more, at);
  };
  const HEAD = 28;
  const PAD = 8;
  const arrange = (group) => {
    const level = levelOf(group);
    const open = new Map();
    for (const node of level.nodes) {
      if (!node.child.classList.contains("open")) continue;
      const inner = arrange(node.child.querySelector(":scope > .v"));
      const name = node.child.querySelector(":scope > text").getComputedTextLength();
      open.set(node, [Math.max(node.w, inner.width + 2 * PAD, name + 3 * PAD), inner.height + HEAD + PAD]);
    }
    const across = stretched(Array.from(open, ([node, [w]]) => [node.x, node.x + node.w, w]));
    const down = stretched(Array.from(open, ([node, [, h]]) => [node.y, node.y + node.h, h]));
    const boxes = level.nodes.map((node) => {
      const [w, h] = open.get(node) || [node.w, node.h];
      const middle = (from, length, axis) => (axis(from) + axis(from + length)) / 2;
      const box = { x: middle(node.x, node.w, across) - w / 2, y: middle(node.y, node.h, down) - h / 2, w, h };
      node.child.setAttribute("transform", `translate(${box.x},${box.y})`);
      node.rect.setAttribute("width", w);
      node.rect.style.height = open.has(node) ? h + "px" : "";
      if (node.child.classList.contains("m")) {
        const [name, note] = all(node.child, ":scope > text");
        name.setAttribute("x", open.has(node) ? PAD : node.w / 2);
        note.style.display = open.has(node) ? "none" : "";
        const inside = node.child.querySelector(":scope > .v");
        const left = (w - levelOf(inside).now?.width) / 2;
        if (open.has(node)) inside.setAttribute("transform", `translate(${left},${HEAD})`);
      }
      return box;
    });
    for (const edge of level.edges) {
      const last = edge.d.match(/,/g).length - 1;
      let index = 0;
      const moved = edge.d.replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) => {
        const end = index === 0 ? edge.ends[0] : index === last ? edge.ends[1] : null;
        index += 1;
        if (end === null) return across(Number(x)) + "," + down(Number(y));
        const [node, box] = [level.nodes[end], boxes[end]];
        const place = (at, from, length, start, now) => start + Math.min(1, Math.max(0, (at - from) / length)) * now;
        return place(Number(x), node.x, node.w, box.x, box.w) + "," + place(Number(y), node.y, node.h, box.y, box.h);
      });
      edge.path.setAttribute("d", moved);
      if (edge.label) {
        // A label keeps its distance from its line.
        const aside = edge.label.text.textContent.length * 3 + 10;
        edge.label.text.setAttribute("x", across(edge.label.at[0] - aside) + aside);
        edge.label.text.setAttribute("y", down(edge.label.at[1]));
      }
    }
    level.now = { width: across(level.width), height: down(level.height) };
    return level.now;
  };
  for (const figure of all(document, "figure.graph")) {
    const sheet = figure.querySelector(".sheet");
    const svg = figure.querySelector(".model");
    const root = svg.querySelector(".v");
    const output = figure.querySelector(".about output");
    let scale = 1;
    let chosen = null;
    const resize = () => {
      const { width, height } = levelOf(root).now || levelOf(root);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("width", width * scale);
      svg.setAttribute("height", height * scale);
    };
    const zoom = (to) => {
      const [x, y] = [(sheet.scrollLeft + sheet.clientWidth / 2) / scale, (sheet.scrollTop + sheet.clientHeight / 2) / scale];
      scale = Math.min(3, Math.max(0.01, to));
      resize();
      sheet.scrollTo(x * scale - sheet.clientWidth / 2, y * scale - sheet.clientHeight / 2);
    };
    const wide = () => zoom(Math.min(1, (sheet.clientWidth - 4) / (levelOf(root).now || levelOf(root)).width));
    // All of it is seen, however long it is. The sheet grows with its drawing up to the height of its style.
    const fit = () => {
      const { width, height } = levelOf(root).now || levelOf(root);
      const high = parseFloat(getComputedStyle(sheet).maxHeight) || height;
      zoom(Math.min(1, (sheet.clientWidth - 4) / width, (high - 4) / height));
    };
    const show = (node) => {
      const [box, area] = [node.querySelector(":scope > rect").getBoundingClientRect(), sheet.getBoundingClientRect()];
      const by = (from, to, start, end) => (to - from > end - start ? from - start - 8 : (from + to - start - end) / 2);
      const isSeen = box.left >= area.left && box.right <= area.right && box.top >= area.top && box.bottom <= area.bottom;
      if (!isSeen) sheet.scrollBy(by(box.left, box.right, area.left, area.right), by(box.top, box.bottom, area.top, area.bottom));
    };
    const choose = (node) => {
      if (chosen) chosen.classList.remove("on");
      chosen = node;
      node.classList.add("on");
      node.setAttribute("tabindex", "-1");
      const isModule = node.classList.contains("m");
      node.setAttribute("role", isModule ? "button" : "img");
      if (isModule) node.setAttribute("aria-expanded", node.classList.contains("open"));
      node.focus({ preventScroll: true });
      show(node);
      const lines = node.querySelector(":scope > title").textContent.split("\n");
      output.replaceChildren(...lines.map((line) => Object.assign(document.createElement("span"), { textContent: line })));
    };
    const unfold = (node, isOpen = !node.classList.contains("open")) => {
      node.classList.toggle("open", isOpen);
      arrange(root);
      resize();
    };
    const press = (node) => {
      if (node.classList.contains("m")) unfold(node);
      choose(node);
    };
    svg.addEventListener("click", (event) => {
      const node = event.target.closest(".n");
      if (node) press(node);
    });
    // From node to node: the nearest one in the direction of the key.
    const go = (right, down) => {
      const seen = all(svg, ".n:not(.p)").filter((node) => node !== chosen && node.getClientRects().length);
      const middle = (node) => {
        const box = node.querySelector(":scope > rect").getBoundingClientRect();
        return [box.left + box.width / 2, node.classList.contains("open") ? box.top : box.top + box.height / 2];
      };
      if (!chosen || !chosen.getClientRects().length) return choose(seen[0]);
      const [x, y] = middle(chosen);
      const far = ([a, b]) => {
        const [along, aside] = right ? [(a - x) * right, Math.abs(b - y)] : [(b - y) * down, Math.abs(a - x)];
        return along > 1 ? along + 2 * aside : Infinity;
      };
      const [length, node] = seen.map((node) => [far(middle(node)), node]).reduce((a, b) => (b[0] < a[0] ? b : a), [Infinity]);
      if (length < Infinity) choose(node);
    };
    const keys = {
      ArrowLeft: () => go(-1, 0),
      ArrowRight: () => go(1, 0),
      ArrowUp: () => go(0, -1),
      ArrowDown: () => go(0, 1),
      Enter: () => chosen && press(chosen),
      " ": () => chosen && press(chosen),
      "+": () => zoom(scale * 1.25),
      "-": () => zoom(scale / 1.25),
      "−": () => zoom(scale / 1.25),
      0: fit,
    };
    sheet.addEventListener("keydown", (event) => {
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    sheet.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
    }, { passive: false });
    const acts = {
      in: () => zoom(scale * 1.25),
      out: () => zoom(scale / 1.25),
      fit,
      fold: () => {
        all(svg, ".open").forEach((node) => node.classList.remove("open"));
        arrange(root);
        wide();
      },
    };
    for (const button of all(figure, "[data-graph]")) button.addEventListener("click", acts[button.dataset.graph]);
    for (const radio of all(figure, "input[type=radio]")) radio.addEventListener("change", () => (figure.dataset.by = radio.value));
    for (const button of all(figure, "[data-find]")) {
      const node = svg.querySelector(`[data-most~="${button.dataset.find}"]`);
      if (!node) button.hidden = true;
      button.addEventListener("click", () => {
        for (let at = node.parentElement.closest(".n"); at; at = at.parentElement.closest(".n")) at.classList.add("open");
        figure.dataset.by = button.dataset.find;
        all(figure, "input[type=radio]").forEach((radio) => (radio.checked = radio.value === button.dataset.find));
        arrange(root);
        resize();
        choose(node);
      });
    }
    whenSeen(sheet, () => {
      if (scale === 1 && !chosen && levelOf(root).width > sheet.clientWidth) wide();
    });
  }

  // Commands to copy.
  for (const button of all(document, "[data-copy]")) {
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
  }

  // A printed page shows what is folded.
  window.addEventListener("beforeprint", () => all(document, "details").forEach((details) => (details.open = true)));
})();
