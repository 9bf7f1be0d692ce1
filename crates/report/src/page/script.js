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
    const texts = new Map(Array.from(body.rows, (row) => [row, row.cells[0].textContent + " " + row.cells[1].textContent]));
    texts.forEach((text, row) => texts.set(row, text.toLowerCase()));
    input.addEventListener("input", () => {
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
      const [from, to] = svg.dataset.plot.split(" ").map(Number);
      const box = svg.viewBox.baseVal;
      const line = document.createElementNS(SVG, "line");
      line.setAttribute("class", "cursor");
      line.setAttribute("y1", 8);
      line.setAttribute("y2", box.height - 40);
      line.style.display = "none";
      svg.append(line);
      svg.addEventListener("pointermove", (event) => {
        const area = svg.getBoundingClientRect();
        const place = (((event.clientX - area.left) / area.width) * box.width - from) / (to - from);
        let near = points[0];
        for (const point of points) if (Math.abs(point[0] - place) < Math.abs(near[0] - place)) near = point;
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
    const slots = all(view, ".s").map((slot) => ({
      slot,
      start: parseFloat(slot.getAttribute("x")) / 100,
      length: parseFloat(slot.getAttribute("width")) / 100,
      title: slot.querySelector("title").textContent,
      text: slot.querySelector("text"),
    }));
    const least = Math.min(1, Math.max(20 / Math.max(whole, 1), 1e-6));
    let [from, to] = [0, 1];
    const draw = () => {
      const scale = to - from;
      const pixels = view.clientWidth || 1;
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
          part.text.textContent = part.title.replace(/( \([^()]*\))?: [^:]*$/, "");
          part.slot.append(part.text);
        }
        if (part.text) part.text.style.display = isNamed ? "" : "none";
      }
      ticks.forEach((tick, index) => (tick.textContent = duration((from + (scale * index) / (ticks.length - 1)) * whole)));
      figure.dataset.from = from;
      figure.dataset.to = to;
    };
    const show = (first, last) => {
      let width = Math.min(1, Math.max(least, last - first));
      from = Math.min(Math.max(0, first), 1 - width);
      to = from + width;
      draw();
      output.value = width < 1 ? "Shown: " + duration(from * whole) + " to " + duration(to * whole) : "";
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
    draw();
    window.addEventListener("resize", draw);
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
