//! The section with the drawing of the model: its graph, folded by module.

use std::fmt::Write;

use super::RunOnPage;
use super::html::Html;
use crate::ReportError;
use crate::graph::{Colouring, Drawn, DrawnKind, Level, Line, PORT, Picture, Point};
use crate::units::{count, trimmed};

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    match &place.run.picture {
        Some(Ok(picture)) => figure(html, place, picture),
        Some(Err(reason)) => html.element("p", &[("class", "description")], reason),
        None => {}
    }
    Ok(())
}

fn figure(html: &mut Html, place: &RunOnPage<'_>, picture: &Picture) {
    let hint = format!("{}-graph-hint", place.prefix);
    html.element("p", &[("class", "description")], about(picture));
    let first = picture.colourings.first().map_or("", |colouring| colouring.id());
    html.within("figure", &[("class", "graph"), ("data-by", first)], |html| {
        controls(html, place, picture);
        html.within("div", &[("class", "plane")], |html| {
            let sheet = [
                ("class", "sheet"),
                ("tabindex", "0"),
                ("role", "group"),
                ("aria-label", "The model's graph"),
                ("aria-describedby", &*hint),
            ];
            html.within("div", &sheet, |html| drawing(html, place, picture));
            html.raw("<div class=\"about\"><output aria-live=\"polite\">Press a node to see what it is.</output></div>");
        });
        for colouring in &picture.colourings {
            legend(html, *colouring);
        }
        html.within("p", &[("class", "hint"), ("id", &hint)], |html| {
            html.text("Press a module to unfold or fold it. With the keyboard: the arrow keys go from node to node, Enter unfolds and folds, + and − zoom.");
        });
    });
}

fn about(picture: &Picture) -> String {
    let mut text = format!("{} operators, folded by module.", count(picture.operators as u64));
    if picture.constant > 0 {
        let constant = count(picture.constant as u64);
        let _ = write!(text, " {constant} that compute only constants are not drawn.");
    }
    text
}

fn controls(html: &mut Html, place: &RunOnPage<'_>, picture: &Picture) {
    html.within("div", &[("class", "controls")], |html| {
        if picture.colourings.len() > 1 {
            let name = format!("{}-graph-by", place.prefix);
            html.within("span", &[("class", "choice"), ("role", "radiogroup"), ("aria-label", "Colour by")], |html| {
                html.text("Colour by");
                for (index, colouring) in picture.colourings.iter().enumerate() {
                    html.within("label", &[], |html| {
                        let radio = [("type", "radio"), ("name", &*name), ("value", colouring.id())];
                        let checked = [radio.as_slice(), &[("checked", "")]].concat();
                        html.void("input", if index == 0 { &checked } else { &radio });
                        html.text(colouring.title());
                    });
                }
            });
        }
        for colouring in &picture.colourings {
            let find = [("type", "button"), ("data-find", colouring.id())];
            html.element("button", &find, colouring.find());
        }
        html.raw("<button type=\"button\" data-graph=\"fold\">Fold all</button><button type=\"button\" data-graph=\"in\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-graph=\"out\" aria-label=\"Zoom out\">−</button><button type=\"button\" data-graph=\"fit\">Fit</button>");
    });
}

fn drawing(html: &mut Html, place: &RunOnPage<'_>, picture: &Picture) {
    let (width, height) = (picture.level.width.to_string(), picture.level.height.to_string());
    let view = format!("0 0 {width} {height}");
    let arrow = format!("{}-arrow", place.prefix);
    let end = format!("url(#{arrow})");
    html.within("svg", &[("class", "model"), ("width", &width), ("height", &height), ("viewBox", &view)], |html| {
        let marker = [
            ("id", &*arrow),
            ("viewBox", "0 0 8 8"),
            ("refX", "7"),
            ("refY", "4"),
            ("markerWidth", "7"),
            ("markerHeight", "7"),
            ("orient", "auto"),
        ];
        html.within("marker", &marker, |html| html.raw("<path d=\"M0,1L8,4L0,7Z\"/>"));
        html.within("g", &[("marker-end", &end)], |html| level(html, &picture.level, &picture.colourings));
    });
}

/// Writes a level. The attributes are short, and sizes that all nodes share are in the style, since there are thousands
/// of nodes.
fn level(html: &mut Html, level: &Level, colourings: &[Colouring]) {
    let size = format!("{} {}", level.width, level.height);
    html.within("g", &[("class", "v"), ("data-s", &size)], |html| {
        for line in &level.lines {
            edge(html, line);
        }
        for node in &level.nodes {
            self::node(html, node, colourings);
        }
    });
}

fn edge(html: &mut Html, line: &Line) {
    let ends = format!("{} {}", line.from, line.to);
    html.within("path", &[("d", &curve(&line.points)), ("data-e", &ends)], |_| {});
    if let Some((at, label)) = &line.label {
        html.element("text", &[("x", &at.x.to_string()), ("y", &at.y.to_string())], label);
    }
}

fn node(html: &mut Html, node: &Drawn, colourings: &[Colouring]) {
    let at = format!("translate({},{})", node.corner.x, node.corner.y);
    let middle = (node.width / 2).to_string();
    let class = class(node, colourings);
    let most: Vec<&str> = node.most.iter().map(|colouring| colouring.id()).collect();
    let most = most.join(" ");
    let attributes = [("class", &*class), ("transform", &*at), ("data-most", &*most)];
    let attributes = if most.is_empty() { &attributes[..2] } else { &attributes };
    html.within("g", attributes, |html| {
        html.within("title", &[], |html| {
            for (index, line) in node.about.iter().enumerate() {
                html.raw(if index == 0 { "" } else { "\n" });
                html.text(line);
            }
        });
        let width = if node.what == DrawnKind::Port { PORT } else { node.width };
        html.within("rect", &[("width", &width.to_string())], |_| {});
        if node.what == DrawnKind::Port {
            return;
        }
        let (first, second) = if node.note.is_empty() { ("24", "") } else { ("17", "32") };
        html.element("text", &[("x", &middle), ("y", first)], &node.label);
        if !node.note.is_empty() {
            html.element("text", &[("class", "k"), ("x", &middle), ("y", second)], &node.note);
        }
        if let DrawnKind::Module(inner) = &node.what {
            level(html, inner, colourings);
        }
    });
}

/// Returns the classes of a node: its kind, and its step in each colouring.
fn class(node: &Drawn, colourings: &[Colouring]) -> String {
    let mut class = String::from(match node.what {
        DrawnKind::Operator => "n",
        DrawnKind::End => "n i",
        DrawnKind::Module(_) => "n m",
        DrawnKind::Port => "n p",
    });
    for colouring in colourings {
        if *colouring == Colouring::Error
            && node.mark.error.is_none()
            && !node.mark.is_end
            && node.what != DrawnKind::Port
        {
            class.push_str(" eu");
        }
        let step = node.mark.step(*colouring);
        if step > 0 {
            let _ = write!(class, " {}{step}", colouring.letter());
        }
    }
    class
}

/// Returns a smooth line through the midpoints between points, from the first point to the last one.
fn curve(points: &[Point]) -> String {
    let [first, between @ .., last] = points else { return String::new() };
    let mut text = format!("M{},{}", first.x, first.y);
    for (index, point) in between.iter().enumerate() {
        let next = between.get(index + 1);
        let end = next.map_or(*last, |next| Point { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 });
        let _ = write!(text, "Q{},{} {},{}", point.x, point.y, end.x, end.y);
    }
    if between.is_empty() {
        let _ = write!(text, "L{},{}", last.x, last.y);
    }
    text
}

/// Writes the scale of a colouring.
fn legend(html: &mut Html, colouring: Colouring) {
    html.within("ul", &[("class", "legend"), ("data-of", colouring.id()), ("aria-label", "Colours")], |html| {
        html.element("li", &[("class", "of")], colouring.of());
        for (step, text) in colouring.steps().iter().enumerate() {
            html.within("li", &[], |html| {
                let class = format!("key {}{step}", colouring.letter());
                html.within("svg", &[("class", &class), ("aria-hidden", "true")], |html| {
                    html.raw("<rect width=\"100%\" height=\"100%\"/>");
                });
                html.text(text);
            });
        }
        if colouring == Colouring::Error {
            html.within("li", &[], |html| {
                html.raw("<svg class=\"key eu\" aria-hidden=\"true\"><rect width=\"100%\" height=\"100%\"/></svg>");
                html.text("not compared");
            });
        }
    });
}

impl Colouring {
    /// Returns its name in the page's markup.
    fn id(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Error => "error",
            Self::Finite => "finite",
        }
    }

    /// Returns the prefix of the classes of its steps.
    fn letter(self) -> &'static str {
        match self {
            Self::Time => "t",
            Self::Error => "e",
            Self::Finite => "f",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Error => "largest difference",
            Self::Finite => "NaN and infinity",
        }
    }

    /// Returns the text of the button that shows the node which stands out most.
    fn find(self) -> &'static str {
        match self {
            Self::Time => "Slowest operator",
            Self::Error => "Largest difference",
            Self::Finite => "First NaN or infinity",
        }
    }

    /// Returns what its scale measures.
    fn of(self) -> &'static str {
        match self {
            Self::Time => "Share of a run's time:",
            Self::Error => "Largest difference, of the largest element:",
            Self::Finite => "Elements:",
        }
    }

    /// Returns the texts of the steps of its scale.
    fn steps(self) -> Vec<String> {
        if self == Self::Finite {
            return ["all finite", "infinite", "NaN"].map(str::to_owned).to_vec();
        }
        let text = |limit: f64| match self {
            Self::Time => format!("{} %", trimmed(limit)),
            _ => format!("{limit:e}"),
        };
        let limits = self.limits();
        let first = format!("below {}", text(limits[0]));
        let ranges = limits.windows(2).map(|pair| format!("to {}", text(pair[1])));
        let last = format!("from {}", text(limits[limits.len() - 1]));
        std::iter::once(first).chain(ranges).chain([last]).collect()
    }
}
