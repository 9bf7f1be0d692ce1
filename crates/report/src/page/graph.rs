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

    /// Returns the text that says what its scale measures.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::facts::RunFacts;

    fn written(with: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        with(&mut html);
        html.finish()
    }

    fn picture(colourings: &[Colouring]) -> Picture {
        let level = Level { width: 300, height: 200, ..Level::default() };
        Picture { level, colourings: colourings.to_vec(), operators: 1_234, constant: 0 }
    }

    fn drawn(what: DrawnKind, note: &str) -> Drawn {
        Drawn {
            corner: Point { x: 8, y: 90 },
            width: 73,
            what,
            label: "Conv".to_owned(),
            note: note.to_owned(),
            about: vec!["/a".to_owned(), "Conv".to_owned()],
            mark: Default::default(),
            most: Vec::new(),
        }
    }

    #[test]
    fn a_line_runs_through_the_middles_between_its_points() {
        let points = [(0, 0), (10, 20), (30, 60), (40, 100)].map(|(x, y)| Point { x, y });
        assert_eq!(curve(&points), "M0,0Q10,20 20,40Q30,60 40,100");
        assert_eq!(curve(&points[..3]), "M0,0Q10,20 30,60");
        assert_eq!(curve(&points[..2]), "M0,0L10,20");
        assert_eq!([curve(&points[..1]), curve(&[])], ["", ""]);
        let label = Some((Point { x: 5, y: 7 }, "1×3".to_owned()));
        let line = Line { from: 2, to: 3, points: points[..2].to_vec(), label };
        let expected = "<path d=\"M0,0L10,20\" data-e=\"2 3\"></path><text x=\"5\" y=\"7\">1×3</text>";
        assert_eq!(written(|html| edge(html, &line)), expected);
    }

    #[test]
    fn a_node_has_its_texts_in_its_middle_and_its_name_alone_lower() {
        let of = |what, note: &str| written(|html| node(html, &drawn(what, note), &[]));
        let begin = "<g class=\"n\" transform=\"translate(8,90)\"><title>/a\nConv</title><rect width=\"73\"></rect>";
        let alone = format!("{begin}<text x=\"36\" y=\"24\">Conv</text></g>");
        assert_eq!(of(DrawnKind::Operator, ""), alone);
        let both = "<text x=\"36\" y=\"17\">Conv</text><text class=\"k\" x=\"36\" y=\"32\">1 ns</text></g>";
        assert!(of(DrawnKind::Operator, "1 ns").ends_with(both));
        assert!(of(DrawnKind::Port, "").ends_with("<rect width=\"10\"></rect></g>"));
        let inner = Level { width: 50, height: 60, ..Level::default() };
        assert!(of(DrawnKind::Module(inner), "").ends_with("<g class=\"v\" data-s=\"50 60\"></g></g>"));
        let most = Drawn { most: vec![Colouring::Time, Colouring::Finite], ..drawn(DrawnKind::Operator, "") };
        assert!(written(|html| node(html, &most, &[])).contains(" data-most=\"time finite\">"));
    }

    #[test]
    fn classes_are_what_a_node_is_and_its_steps_from_the_first_on() {
        let of = |what, percent, error, is_end| {
            let mut node = drawn(what, "");
            (node.mark.percent, node.mark.error, node.mark.is_end, node.mark.inf) = (percent, error, is_end, 1);
            class(&node, &[Colouring::Time, Colouring::Error, Colouring::Finite])
        };
        assert_eq!(of(DrawnKind::Operator, 0.0, Some(0.0), false), "n f1");
        assert_eq!(of(DrawnKind::Operator, 3.0, Some(1e-5), false), "n t3 e2 f1");
        assert_eq!(of(DrawnKind::Operator, 0.1, None, false), "n t1 eu f1");
        assert_eq!([of(DrawnKind::End, 0.0, None, true), of(DrawnKind::Port, 0.0, None, false)], ["n i f1", "n p f1"]);
        assert_eq!(of(DrawnKind::Module(Level::default()), 30.0, None, false), "n m t5 eu f1");
    }

    #[test]
    fn colours_can_be_chosen_where_there_are_two_and_the_first_one_is() {
        let run = RunFacts::default();
        let place = RunOnPage { run: &run, prefix: "r1".to_owned(), directory: Path::new(".") };
        let of = |colourings: &[Colouring]| written(|html| controls(html, &place, &picture(colourings)));
        let two = of(&[Colouring::Time, Colouring::Finite]);
        let radio = "<input type=\"radio\" name=\"r1-graph-by\" value=";
        assert!(two.contains(&format!("{radio}\"time\" checked=\"\">time")), "{two}");
        assert!(two.contains(&format!("{radio}\"finite\">NaN and infinity")), "{two}");
        assert_eq!(two.matches("data-find").count(), 2);
        let one = of(&[Colouring::Error]);
        assert!(!one.contains("radio") && one.contains("data-find=\"error\">Largest difference</button>"), "{one}");
        assert!(of(&[]).contains("data-graph=\"fit\""));
    }

    #[test]
    fn a_scale_says_where_its_steps_begin() {
        let time = ["below 0.1 %", "to 0.5 %", "to 2 %", "to 10 %", "to 30 %", "from 30 %"];
        assert_eq!(Colouring::Time.steps(), time);
        let error = ["below 1e-6", "to 1e-5", "to 1e-4", "to 1e-3", "to 1e-2", "from 1e-2"];
        assert_eq!(Colouring::Error.steps(), error);
        let html = written(|html| legend(html, Colouring::Error));
        assert!(html.contains("class=\"key e5\"") && html.contains("not compared"), "{html}");
        assert!(!written(|html| legend(html, Colouring::Finite)).contains("not compared"));
        let mut text = picture(&[]);
        assert_eq!(about(&text), "1\u{202f}234 operators, folded by module.");
        text.constant = 5;
        assert!(about(&text).ends_with(" 5 that compute only constants are not drawn."));
    }
}
