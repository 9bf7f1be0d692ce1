//! The facts of a run about the nodes of its model.

use std::collections::HashMap;

use super::model::{ModelGraph, Node, NodeKind};

/// The facts by which a drawing can be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colouring {
    /// The share of a run's time.
    Time,
    /// The largest difference from another dump.
    Error,
    /// NaN and infinite elements.
    Finite,
}

/// What is known about a node, or about all nodes of a module together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Mark {
    /// For an operator, the median of the runs in which it was executed; for a module, its share of a run that takes
    /// the median time.
    pub nanos: Option<f64>,
    /// Its share of a run that takes the median time, in nanoseconds: less than the median if not every run executes
    /// it.
    pub(super) part: f64,
    /// The same in percent.
    pub percent: f64,
    /// The operator that its time counts for.
    pub fused_into: Option<String>,
    /// The NaN elements of its outputs.
    pub nan: u64,
    /// The infinite elements of its outputs.
    pub inf: u64,
    /// The smallest and the largest element of its outputs; `None` if that is unknown.
    pub range: Option<(f64, f64)>,
    /// The largest difference from the reference, relative to the reference's largest element. It is infinite if the
    /// difference has no magnitude, as with a NaN on one side only; `None` if it was not compared.
    pub error: Option<f64>,
    /// Whether it belongs to an input or an output of the model.
    pub is_end: bool,
}

/// The facts of a run about operators, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Marks {
    /// The median, its share of the median run, and that in percent.
    times: HashMap<String, ((f64, f64), f64)>,
    /// Operators whose time counts for another one.
    fused: HashMap<String, String>,
    /// The facts about their outputs.
    values: HashMap<String, Mark>,
    /// The facts about their inputs, including those of the model.
    inputs: HashMap<String, Mark>,
    /// The largest difference from the reference, relative to its largest element.
    errors: HashMap<String, f64>,
}

impl Marks {
    /// Creates the facts, with the differences of operators from the reference.
    pub(crate) fn new(errors: HashMap<String, f64>) -> Self {
        Self { errors, ..Self::default() }
    }

    /// Adds the time of an operator and of those that are fused with it: the median, and its share of the median run.
    pub(crate) fn add_times(&mut self, operator: &str, nanos: (f64, f64), percent: f64, fused: &[String]) {
        self.times.insert(operator.to_owned(), (nanos, percent));
        for other in fused {
            self.fused.insert(other.clone(), operator.to_owned());
        }
    }

    /// Adds facts about one of an operator's outputs.
    pub(crate) fn add_values(&mut self, operator: &str, nan: u64, inf: u64, range: Option<(f64, f64)>) {
        let values = Mark { nan, inf, range, ..Mark::default() };
        self.values.entry(operator.to_owned()).or_default().add(&values);
    }

    /// Adds facts about one of an operator's inputs, which several operators may share.
    pub(crate) fn add_input(&mut self, value: &str, nan: u64, inf: u64, range: Option<(f64, f64)>) {
        self.inputs.entry(value.to_owned()).or_insert(Mark { nan, inf, range, ..Mark::default() });
    }

    /// Returns the facts about each node of a graph.
    pub(super) fn of(&self, graph: &ModelGraph) -> Vec<Mark> {
        graph.nodes.iter().map(|node| self.of_node(node)).collect()
    }

    fn of_node(&self, node: &Node) -> Mark {
        if node.kind != NodeKind::Operator {
            let input = self.inputs.get(&node.name).filter(|_| node.kind == NodeKind::Input);
            return Mark { is_end: true, ..input.cloned().unwrap_or_default() };
        }
        let (nanos, part, percent) = self
            .times
            .get(&node.name)
            .map_or((None, 0.0, 0.0), |((nanos, part), percent)| (Some(*nanos), *part, *percent));
        let fused_into = self.fused.get(&node.name).filter(|_| nanos.is_none()).cloned();
        let values = self.values.get(&node.name).cloned().unwrap_or_default();
        Mark { nanos, part, percent, fused_into, error: self.errors.get(&node.name).copied(), ..values }
    }

    /// Returns the colourings that have data, the first one first.
    pub(crate) fn colourings(&self) -> Vec<Colouring> {
        let all = [
            (Colouring::Time, self.times.is_empty()),
            (Colouring::Error, self.errors.is_empty()),
            (Colouring::Finite, self.values.is_empty()),
        ];
        all.into_iter().filter(|(_, is_empty)| !is_empty).map(|(colouring, _)| colouring).collect()
    }
}

impl Mark {
    /// Adds what is known about another node of the same module.
    pub(super) fn add(&mut self, other: &Self) {
        self.part += other.part;
        if self.nanos.is_some() || other.nanos.is_some() {
            self.nanos = Some(self.part);
        }
        self.percent += other.percent;
        self.nan = self.nan.saturating_add(other.nan);
        self.inf = self.inf.saturating_add(other.inf);
        self.range = joined(self.range, other.range);
        self.error = match (self.error, other.error) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }

    /// Returns the step in the scale of a colouring, from 0.
    pub(crate) fn step(&self, colouring: Colouring) -> usize {
        let above = |limits: &[f64], value: f64| limits.iter().take_while(|limit| value >= **limit).count();
        match colouring {
            Colouring::Time => above(Colouring::Time.limits(), self.percent),
            Colouring::Error => self.error.map_or(0, |error| above(Colouring::Error.limits(), error)),
            Colouring::Finite if self.nan > 0 => 2,
            Colouring::Finite => usize::from(self.inf > 0),
        }
    }
}

fn joined(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

impl Colouring {
    /// Returns the lower limits of the steps of its scale.
    pub(crate) fn limits(self) -> &'static [f64] {
        match self {
            Self::Time => &[0.1, 0.5, 2.0, 10.0, 30.0],
            Self::Error => &[1e-6, 1e-5, 1e-4, 1e-3, 1e-2],
            Self::Finite => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_scale_begin_at_their_limits() {
        let time = |percent| Mark { percent, ..Mark::default() }.step(Colouring::Time);
        assert_eq!([0.0, 0.099, 0.1, 0.499, 0.5, 1.999, 2.0].map(time), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!([9.999, 10.0, 29.999, 30.0, 100.0].map(time), [3, 4, 4, 5, 5]);
        let error = |error| Mark { error: Some(error), ..Mark::default() }.step(Colouring::Error);
        assert_eq!([0.0, 9.9e-7, 1e-6, 9.9e-6, 1e-5, 1e-4].map(error), [0, 0, 1, 1, 2, 3]);
        assert_eq!([9.9e-4, 1e-3, 9.9e-3, 1e-2, f64::INFINITY].map(error), [3, 4, 4, 5, 5]);
        assert_eq!(Mark::default().step(Colouring::Error), 0);
        let finite = |nan, inf| Mark { nan, inf, ..Mark::default() }.step(Colouring::Finite);
        assert_eq!([finite(0, 0), finite(0, 3), finite(1, 0), finite(1, 3)], [0, 1, 2, 2]);
    }

    #[test]
    fn a_module_has_the_sums_the_extremes_and_the_largest_error_of_its_nodes() {
        let node = |nanos, part, percent, nan, inf, range, error| Mark {
            nanos,
            part,
            percent,
            nan,
            inf,
            range,
            error,
            ..Mark::default()
        };
        let mut module = Mark::default();
        module.add(&node(Some(40.0), 10.0, 5.0, 1, 20, Some((-2.0, 3.0)), Some(0.5)));
        module.add(&node(None, 0.0, 0.0, 0, 0, None, None));
        module.add(&node(Some(7.0), 7.0, 3.5, 4, 300, Some((-1.0, 8.0)), Some(0.25)));
        // 40 ns in a quarter of the runs, and 7 ns in each run.
        assert_eq!(module, node(Some(17.0), 17.0, 8.5, 5, 320, Some((-2.0, 8.0)), Some(0.5)));
        let mut empty = Mark::default();
        empty.add(&Mark::default());
        assert_eq!(empty, Mark::default());
    }

    #[test]
    fn a_node_has_what_was_said_of_its_name() {
        let mut marks = Marks::new(HashMap::from([("/b".to_owned(), 0.5)]));
        marks.add_times("/a", (40.0, 10.0), 5.0, &["/b".to_owned(), "/c".to_owned()]);
        marks.add_times("/c", (8.0, 7.0), 3.0, &[]);
        marks.add_values("/a", 1, 2, Some((-1.0, 1.0)));
        marks.add_values("/a", 10, 20, Some((-3.0, 0.5)));
        marks.add_input("x", 5, 6, Some((0.0, 9.0)));
        let of = |name: &str, kind| {
            let node = Node {
                name: name.to_owned(),
                op_type: "Add".to_owned(),
                kind,
                modules: Vec::new(),
                source: None,
                takes: Vec::new(),
                gives: Vec::new(),
                values: Vec::new(),
            };
            marks.of_node(&node)
        };
        let values = Mark { nan: 11, inf: 22, range: Some((-3.0, 1.0)), ..Mark::default() };
        let expected = Mark { nanos: Some(40.0), part: 10.0, percent: 5.0, ..values };
        assert_eq!(of("/a", NodeKind::Operator), expected);
        let expected = Mark { fused_into: Some("/a".to_owned()), error: Some(0.5), ..Mark::default() };
        assert_eq!(of("/b", NodeKind::Operator), expected);
        // An operator with a time of its own counts for itself.
        let expected = Mark { nanos: Some(8.0), part: 7.0, percent: 3.0, ..Mark::default() };
        assert_eq!(of("/c", NodeKind::Operator), expected);
        let expected = Mark { nan: 5, inf: 6, range: Some((0.0, 9.0)), is_end: true, ..Mark::default() };
        assert_eq!(of("x", NodeKind::Input), expected);
        assert_eq!(of("x", NodeKind::Output), Mark { is_end: true, ..Mark::default() });
        assert_eq!(marks.colourings(), [Colouring::Time, Colouring::Error, Colouring::Finite]);
        assert!(Marks::default().colourings().is_empty());
    }

    #[test]
    fn an_input_that_several_operators_take_is_what_the_first_one_says() {
        let mut marks = Marks::default();
        marks.add_input("x", 1, 2, Some((-3.0, 4.0)));
        marks.add_input("x", 9, 9, None);
        marks.add_input("y", 0, 0, None);
        assert_eq!(marks.inputs["x"], Mark { nan: 1, inf: 2, range: Some((-3.0, 4.0)), ..Mark::default() });
        assert_eq!(marks.inputs["y"], Mark::default());
    }
}
