//! The drawing of a model: levels inside each other.

use std::collections::{BTreeMap, HashMap};

use super::chains::divided;
use super::layout::{Layouts, Point, Sketch};
use super::marks::{Colouring, Mark, Marks};
use super::model::{Edge, ModelGraph, Node, NodeKind, without_separator};
use super::tree::{Member, Module, places};
use crate::units::{cut, duration, percent, value};

/// The height of a node, which the style repeats.
const HEIGHT: u32 = 40;
/// The width and the height of a port.
pub(crate) const PORT: u32 = 10;
/// How many letters a node has at most.
const MOST_LETTERS: usize = 28;
/// How many letters the note below has at most.
const MOST_NOTE: usize = 40;
/// How many ports each end of a module has at most. More are merged into one.
const MOST_PORTS: usize = 5;

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub level: Level,
    pub colourings: Vec<Colouring>,
    /// How many operators are drawn.
    pub operators: usize,
    /// How many operators only compute constants, and are not drawn.
    pub constant: usize,
}

/// The inside of a module, or the whole model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Level {
    pub width: i32,
    pub height: i32,
    pub nodes: Vec<Drawn>,
    pub lines: Vec<Line>,
}

/// A node of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// Its top left corner.
    pub corner: Point,
    pub width: u32,
    pub what: DrawnKind,
    /// The text on it.
    pub label: String,
    /// The text below that.
    pub note: String,
    /// The facts about it, one line each.
    pub about: Vec<String>,
    pub mark: Mark,
    /// The colourings in which it is the operator that stands out most.
    pub most: Vec<Colouring>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DrawnKind {
    Operator,
    /// An input or an output of the model.
    End,
    Module(Level),
    /// A point where values enter or leave a module.
    Port,
}

/// A line from a node to another one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub from: usize,
    pub to: usize,
    pub points: Vec<Point>,
    /// The text on it, and the middle of that text.
    pub label: Option<(Point, String)>,
}

impl Picture {
    /// Draws a model with the facts of a run.
    pub(crate) fn of(graph: &ModelGraph, marks: &Marks) -> Self {
        let colourings = marks.colourings();
        let marks = marks.of(graph);
        let most = colourings.iter().filter_map(|colouring| Some((*colouring, most(*colouring, &marks)?))).collect();
        let mut drawing = Drawing { graph, marks, most, layouts: Layouts::default() };
        let edges: Vec<&Edge> = graph.edges.iter().collect();
        let level = drawing.level(&divided(Module::tree(graph), graph), &edges);
        let operators = graph.nodes.iter().filter(|node| node.kind == NodeKind::Operator).count();
        Self { level, colourings, operators, constant: graph.constant }
    }
}

/// Returns the node that stands out most: the slowest, the one with the largest error, or the first with a NaN or an
/// infinity.
fn most(colouring: Colouring, marks: &[Mark]) -> Option<usize> {
    let largest = |of: &dyn Fn(&Mark) -> f64| {
        let sizes = marks.iter().map(of).enumerate().filter(|(_, size)| *size > 0.0);
        sizes.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(place, _)| place)
    };
    match colouring {
        Colouring::Time => largest(&|mark| mark.percent),
        Colouring::Error => largest(&|mark| mark.error.unwrap_or(0.0)),
        Colouring::Finite => marks.iter().position(|mark| mark.nan + mark.inf > 0),
    }
}

struct Drawing<'a> {
    graph: &'a ModelGraph,
    marks: Vec<Mark>,
    most: Vec<(Colouring, usize)>,
    layouts: Layouts,
}

impl Drawing<'_> {
    /// Draws the inside of a module. `edges` are those with an end in it.
    fn level(&mut self, module: &Module, edges: &[&Edge]) -> Level {
        let places = places(&module.members);
        let mut nodes: Vec<Drawn> = Vec::with_capacity(module.members.len());
        for (index, member) in module.members.iter().enumerate() {
            nodes.push(match member {
                Member::Node(place) => self.node(*place),
                Member::Module(inner) => {
                    let is_inside =
                        |edge: &&&Edge| [edge.from, edge.to].iter().any(|place| places.get(place) == Some(&index));
                    let edges: Vec<&Edge> = edges.iter().filter(is_inside).copied().collect();
                    self.module(inner, &edges)
                }
            });
        }
        let mut lines = joined(edges, &places, &mut nodes);
        let sketch = Sketch {
            sizes: nodes.iter().map(Drawn::size).collect(),
            edges: lines.iter().map(|line| (line.from, line.to, line.label_width())).collect(),
        };
        let layout = self.layouts.of(sketch);
        for (node, corner) in nodes.iter_mut().zip(&layout.corners) {
            node.corner = *corner;
        }
        for (line, (points, place)) in lines.iter_mut().zip(&layout.lines) {
            line.points.clone_from(points);
            if let Some((at, _)) = &mut line.label {
                *at = *place;
            }
        }
        Level { width: layout.width, height: layout.height, nodes, lines }
    }

    fn node(&self, place: usize) -> Drawn {
        let (node, mark) = (&self.graph.nodes[place], &self.marks[place]);
        let what = if node.kind == NodeKind::Operator { DrawnKind::Operator } else { DrawnKind::End };
        let note = match node.kind {
            NodeKind::Operator => note(mark).unwrap_or_default(),
            NodeKind::Input if mark.nan + mark.inf > 0 => note(mark).unwrap_or_default(),
            NodeKind::Input => node.gives.concat(),
            NodeKind::Output => node.takes.concat(),
        };
        let most = self.most.iter().filter(|(_, most)| *most == place).map(|(colouring, _)| *colouring).collect();
        Drawn { most, mark: mark.clone(), ..Drawn::new(what, node.label(), note, about(node, mark)) }
    }

    fn module(&mut self, module: &Module, edges: &[&Edge]) -> Drawn {
        let level = self.level(module, edges);
        let mut mark = Mark::default();
        module.each_node(&mut |place| mark.add(&self.marks[place]));
        let operators = format!("{} operators", module.nodes());
        let note = note(&mark).unwrap_or_else(|| operators.clone());
        let name = without_separator(&module.name);
        let mut lines = vec![name.to_owned(), operators];
        lines.extend(facts(&mark));
        Drawn { mark, ..Drawn::new(DrawnKind::Module(level), name, note, lines) }
    }
}

impl Drawn {
    fn new(what: DrawnKind, label: &str, note: String, about: Vec<String>) -> Self {
        let label = cut(label, MOST_LETTERS);
        let note = cut(&note, MOST_NOTE);
        let width = (letters(&label, 7.6).max(letters(&note, 6.4)) + 22.0).max(64.0);
        // Levels whose names differ in only a letter or two get the same layout.
        let width = (width / 12.0).ceil() as u32 * 12;
        Self { corner: Point { x: 0, y: 0 }, width, what, label, note, about, mark: Mark::default(), most: Vec::new() }
    }

    fn size(&self) -> (u32, u32) {
        if self.what == DrawnKind::Port { (PORT, PORT) } else { (self.width, HEIGHT) }
    }
}

/// Returns the approximate width of a text whose usual letters have this width: capitals and letters as wide as `m` are
/// wider; Chinese, Japanese and Korean characters and pictures are twice as wide.
fn letters(text: &str, usual: f64) -> f64 {
    let width = |letter: char| match letter {
        'A'..='Z' | 'm' | 'w' | '%' | '@' => 1.3,
        letter if u32::from(letter) >= 0x1100 => 2.0,
        _ => 1.0,
    };
    text.chars().map(width).sum::<f64>() * usual
}

impl Line {
    fn label_width(&self) -> u32 {
        self.label.as_ref().map_or(0, |(_, label)| (label.chars().count() as u32 * 6).next_multiple_of(12))
    }
}

/// Returns the lines of a level. Adds a port where a value enters or leaves.
fn joined(edges: &[&Edge], places: &HashMap<usize, usize>, nodes: &mut Vec<Drawn>) -> Vec<Line> {
    let inside = |place: usize| places.get(&place).copied();
    let outer = |is_out: bool| {
        let crossing = edges.iter().filter(|edge| match is_out {
            true => inside(edge.from).is_some() && inside(edge.to).is_none(),
            false => inside(edge.from).is_none() && inside(edge.to).is_some(),
        });
        let mut values: Vec<usize> = crossing.map(|edge| edge.value).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    // The port of each value that enters, and of each that leaves.
    let mut ports = [HashMap::new(), HashMap::new()];
    for (ports, is_out) in ports.iter_mut().zip([false, true]) {
        let values = outer(is_out);
        let together = values.len() > MOST_PORTS;
        for (index, value) in values.iter().enumerate() {
            if index == 0 || !together {
                let what = match (is_out, together) {
                    (_, true) => {
                        format!("{} values that {} the module", values.len(), if is_out { "leave" } else { "enter" })
                    }
                    (true, false) => "a value that leaves the module".to_owned(),
                    (false, false) => "a value that enters the module".to_owned(),
                };
                nodes.push(Drawn { width: PORT, ..Drawn::new(DrawnKind::Port, "", String::new(), vec![what]) });
            }
            ports.insert(*value, nodes.len() - 1);
        }
    }
    let mut shapes: BTreeMap<(usize, usize), BTreeMap<usize, &str>> = BTreeMap::new();
    for edge in edges {
        let ends = match (inside(edge.from), inside(edge.to)) {
            (Some(from), Some(to)) if from != to => Some((from, to)),
            (None, Some(to)) => ports[0].get(&edge.value).map(|port| (*port, to)),
            (Some(from), None) => ports[1].get(&edge.value).map(|port| (from, *port)),
            _ => None,
        };
        if let Some(ends) = ends {
            shapes.entry(ends).or_default().insert(edge.value, &edge.shape);
        }
    }
    let line = |((from, to), shapes): ((usize, usize), BTreeMap<usize, &str>)| {
        let label = match (shapes.len(), shapes.into_values().next()) {
            (1, Some(shape)) => cut(shape, MOST_LETTERS),
            (values, _) => format!("{values} values"),
        };
        let label = (!label.is_empty()).then_some((Point { x: 0, y: 0 }, label));
        Line { from, to, points: Vec::new(), label }
    };
    shapes.into_iter().map(line).collect()
}

/// Returns the text below the label of a node.
fn note(mark: &Mark) -> Option<String> {
    if let Some(nanos) = mark.nanos {
        return Some(format!("{} · {}", duration(nanos), percent(mark.percent)));
    }
    match (mark.nan, mark.inf) {
        (0, 0) => {}
        (0, inf) => return Some(format!("{inf} infinite")),
        (nan, _) => return Some(format!("{nan} NaN")),
    }
    if let Some(error) = mark.error {
        return Some(match error.is_finite() {
            true => format!("differs by {}", value(error)),
            false => "differs, without a size".to_owned(),
        });
    }
    if let Some((low, high)) = mark.range {
        return Some(format!("{} to {}", value(low), value(high)));
    }
    mark.fused_into.as_ref().map(|_| "fused".to_owned())
}

/// Returns the facts about an operator, an input or an output.
fn about(node: &Node, mark: &Mark) -> Vec<String> {
    let mut lines = vec![node.name.clone()];
    lines.push(match node.modules.is_empty() {
        true => node.op_type.clone(),
        false => format!("{} in {}", node.op_type, node.path()),
    });
    lines.extend(node.source.clone());
    lines.extend(facts(mark));
    let known = |shapes: &[String]| -> Option<String> {
        (!shapes.is_empty() && shapes.iter().all(|shape| !shape.is_empty())).then(|| shapes.join(", "))
    };
    lines.extend(known(&node.takes).map(|shapes| format!("takes {shapes}")));
    lines.extend(known(&node.gives).map(|shapes| format!("gives {shapes}")));
    lines
}

/// Returns the facts of a run about a node, one line each.
fn facts(mark: &Mark) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(nanos) = mark.nanos {
        lines.push(format!("{}, {} of a run's time", duration(nanos), percent(mark.percent)));
    }
    if let Some(other) = &mark.fused_into {
        lines.push(format!("its time counts for {other}"));
    }
    if let Some(error) = mark.error {
        lines.push(match error.is_finite() {
            true => format!("differs by at most {} of the largest element", value(error)),
            false => "differs without a size: by NaN, infinity, shape or statistics".to_owned(),
        });
    }
    if mark.nan + mark.inf > 0 {
        lines.push(format!("{} NaN, {} infinite", mark.nan, mark.inf));
    }
    if let Some((low, high)) = mark.range {
        lines.push(format!("values from {} to {}", value(low), value(high)));
    }
    lines
}

#[cfg(test)]
mod tests;
