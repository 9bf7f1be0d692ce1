//! The positions of a level's members, and the course of the edges between them.

use std::collections::HashMap;

use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};

/// A point on a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub x: i32,
    pub y: i32,
}

/// The input of a layout: the sizes of nodes, and edges between them with the widths of their labels. Two levels of the
/// same form have equal sketches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Sketch {
    pub sizes: Vec<(u32, u32)>,
    pub edges: Vec<(usize, usize, u32)>,
}

/// A sketch with positions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    pub width: i32,
    pub height: i32,
    /// The top left corner of each node.
    pub corners: Vec<Point>,
    /// The points of each edge, and the middle of its label.
    pub lines: Vec<(Vec<Point>, Point)>,
}

/// The height of an edge's label.
const LABEL: f64 = 12.0;

/// The layouts of sketches, cached because models repeat their modules.
#[derive(Debug, Default)]
pub(super) struct Layouts(HashMap<Sketch, Layout>);

impl Layouts {
    /// Returns the layout of a sketch.
    pub(super) fn of(&mut self, sketch: Sketch) -> &Layout {
        self.0.entry(sketch).or_insert_with_key(layout)
    }
}

fn layout(sketch: &Sketch) -> Layout {
    let mut graph = Graph::with_options(GraphOptions { directed: true, multigraph: true, compound: false });
    for (node, (width, height)) in sketch.sizes.iter().enumerate() {
        let label = NodeLabel { width: f64::from(*width), height: f64::from(*height), ..NodeLabel::default() };
        graph.set_node(node.to_string(), Some(label));
    }
    for (from, to, width) in &sketch.edges {
        let height = if *width > 0 { LABEL } else { 0.0 };
        let label = EdgeLabel { width: f64::from(*width), height, ..EdgeLabel::default() };
        graph.set_edge(from.to_string(), to.to_string(), Some(label), None);
    }
    let options = LayoutOptions {
        nodesep: 24.0,
        ranksep: 34.0,
        edgesep: 14.0,
        marginx: 8.0,
        marginy: 8.0,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    let mut found = Layout::default();
    for (node, (width, height)) in sketch.sizes.iter().enumerate() {
        let middle =
            graph.node(&node.to_string()).map_or((0.0, 0.0), |node| (node.x.unwrap_or(0.0), node.y.unwrap_or(0.0)));
        let corner = point(middle.0 - f64::from(*width) / 2.0, middle.1 - f64::from(*height) / 2.0);
        found.grow(Point { x: corner.x + *width as i32, y: corner.y + *height as i32 });
        found.corners.push(corner);
    }
    for (from, to, width) in &sketch.edges {
        let edge = graph.edge(&from.to_string(), &to.to_string(), None);
        let points: Vec<Point> =
            edge.map_or_else(Vec::new, |edge| edge.points.iter().map(|at| point(at.x, at.y)).collect());
        let middle = points.get(points.len() / 2).copied().unwrap_or(Point { x: 0, y: 0 });
        let label = edge.and_then(|edge| Some(point(edge.x?, edge.y?))).unwrap_or(middle);
        points.iter().for_each(|point| found.grow(*point));
        found.grow(Point { x: label.x + *width as i32 / 2, y: label.y });
        found.lines.push((straightened(points), label));
    }
    found.width += 8;
    found.height += 8;
    found
}

impl Layout {
    fn grow(&mut self, point: Point) {
        self.width = self.width.max(point.x);
        self.height = self.height.max(point.y);
    }
}

fn point(x: f64, y: f64) -> Point {
    Point { x: x.round() as i32, y: y.round() as i32 }
}

/// Returns points without those that are on the line between their neighbours.
fn straightened(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        while let [.., a, b] = kept.as_slice() {
            let area =
                i64::from(b.x - a.x) * i64::from(point.y - a.y) - i64::from(point.x - a.x) * i64::from(b.y - a.y);
            let length = f64::from(point.x - a.x).hypot(f64::from(point.y - a.y));
            // The area is the length times the distance of the point from the line. A point within a pixel of the line
            // counts as on it.
            if (area.abs() as f64) > length {
                break;
            }
            kept.pop();
        }
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_do_not_overlap_lines_end_at_their_nodes_and_the_same_sketch_has_the_same_places() {
        // A diamond with an edge past it, and an edge back.
        let edges = vec![(0, 1, 48), (0, 2, 0), (1, 3, 0), (2, 3, 60), (0, 3, 24), (3, 1, 0)];
        let sketch = Sketch { sizes: vec![(84, 40), (120, 40), (64, 40), (96, 40)], edges };
        let found = layout(&sketch);
        assert_eq!(found, layout(&sketch));
        let area = |node: usize| {
            let (Point { x, y }, (width, height)) = (found.corners[node], sketch.sizes[node]);
            (x, x + width as i32, y, y + height as i32)
        };
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let (a, b) = (area(a), area(b));
            assert!(a.1 <= b.0 || b.1 <= a.0 || a.3 <= b.2 || b.3 <= a.2, "{a:?} {b:?}");
        }
        for ((from, to, _), (points, _)) in sketch.edges.iter().zip(&found.lines) {
            let touches = |node: usize, point: Option<&Point>| {
                let (left, right, top, bottom) = area(node);
                point.is_some_and(|at| (left - 1..=right + 1).contains(&at.x) && (top - 1..=bottom + 1).contains(&at.y))
            };
            assert!(touches(*from, points.first()) && touches(*to, points.last()), "{from} to {to}: {points:?}");
        }
        assert!((0..4).all(|node| area(node).1 <= found.width && area(node).3 <= found.height));
    }

    #[test]
    fn a_node_below_another_one_is_apart_by_the_label_between_them() {
        let found = layout(&Sketch { sizes: vec![(64, 40), (100, 40)], edges: vec![(0, 1, 0)] });
        // The wider node begins at the margin, 8, and the narrower one is above its middle. They are 34 apart.
        assert_eq!(found.corners, [Point { x: 26, y: 8 }, Point { x: 8, y: 82 }]);
        assert_eq!((found.width, found.height), (116, 130));
        // The line goes from the lower edge of one node to the upper edge of the other.
        let (points, _) = &found.lines[0];
        assert_eq!(points[..], [Point { x: 58, y: 48 }, Point { x: 58, y: 82 }]);
        // A label takes 12 more, and is in the middle of the line.
        let found = layout(&Sketch { sizes: vec![(64, 40), (64, 40)], edges: vec![(0, 1, 24)] });
        assert_eq!(found.corners[1].y - found.corners[0].y, 40 + 34 + 12);
        assert_eq!(found.height, 8 + 40 + 34 + 12 + 40 + 8);
        let (points, label) = &found.lines[0];
        assert_eq!(label.y, 8 + 40 + 17 + 6);
        assert!(points.iter().all(|point| point.x <= label.x), "{points:?} {label:?}");
    }

    #[test]
    fn a_label_that_is_wider_than_all_nodes_is_within_the_drawing() {
        let found = layout(&Sketch { sizes: vec![(64, 40), (64, 40)], edges: vec![(0, 1, 300)] });
        let (_, label) = &found.lines[0];
        assert_eq!(found.width, label.x + 150 + 8);
        // Two nodes beside each other are 24 apart.
        let found = layout(&Sketch { sizes: vec![(64, 40), (84, 40), (64, 40)], edges: vec![(0, 1, 0), (0, 2, 0)] });
        let (left, right) = (found.corners[1].x.min(found.corners[2].x), found.corners[1].x.max(found.corners[2].x));
        let width = if found.corners[1].x == left { 84 } else { 64 };
        assert_eq!((left, right - left), (8, width + 24));
        assert_eq!(layout(&Sketch::default()), Layout { width: 8, height: 8, ..Layout::default() });
    }

    #[test]
    fn points_on_a_line_are_left_out() {
        let at = |x, y| Point { x, y };
        assert_eq!(straightened(vec![at(0, 0), at(0, 5), at(0, 9), at(7, 20)]), [at(0, 0), at(0, 9), at(7, 20)]);
        assert_eq!(straightened(vec![at(3, 3), at(3, 3)]), [at(3, 3)]);
        // A point one pixel beside the line is on it, and one two pixels beside it is not.
        let beside = |y| straightened(vec![at(5, 5), at(15, 5 + y), at(25, 5)]).len();
        assert_eq!([0, 1, -1, 2, -2].map(beside), [2, 2, 2, 3, 3]);
        // The area is 10 x 4 - 1 x 3, above the length of 10.4: the point is 3.5 beside the line.
        assert_eq!(straightened(vec![at(7, 2), at(8, 6), at(17, 5)]).len(), 3);
        let steps = vec![at(1, 1), at(3, 2), at(5, 3), at(7, 4), at(7, 9), at(7, 12)];
        assert_eq!(straightened(steps), [at(1, 1), at(7, 4), at(7, 12)]);
    }
}
