use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use opscope_onnx::{Graph, Producer, Value, ValueId};

use super::rounding::quantises;
use super::{CompareOptions, Comparison, Row};
use crate::{Io, StoredOrigin};

/// How much noisier a tensor is than the tensors that it was computed from, as signal-to-noise ratios in decibels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqnrDrop {
    /// The lowest ratio of the operator's inputs.
    pub from: f64,
    /// The ratio of its output.
    pub to: f64,
}

impl SqnrDrop {
    /// The drop from which an operator stands out, in decibels: half of the noise after it is its own.
    pub(super) const LARGE: f64 = 3.0;

    /// Returns by how many decibels the ratio fell.
    pub fn decibels(&self) -> f64 {
        self.from - self.to
    }
}

impl Comparison {
    /// Returns the row with the largest drop of the signal-to-noise ratio, or `None` if no ratio fell.
    pub fn largest_drop(&self) -> Option<(&Row, SqnrDrop)> {
        let drops = self.rows.iter().filter_map(|row| Some((row, row.drop?)));
        drops.filter(|(_, drop)| drop.decibels() > 0.0).max_by(|x, y| x.1.decibels().total_cmp(&y.1.decibels()))
    }

    /// Returns the first row with noise, and its ratio in decibels, in a comparison with a quantised model. The tensors
    /// that it was computed from are exact, so it has no drop.
    pub fn first_noise(&self) -> Option<(&Row, f64)> {
        let noisy = |row| Some((row, ratio(row).filter(|ratio| ratio.is_finite())?));
        self.rows.iter().filter(|_| self.is_quantised).find_map(noisy)
    }

    /// Sets the drops of a comparison with a quantised model, whose rows are in the order of the graph. Moves the
    /// tensors that only one side has because of the quantisation to a list of their own.
    pub(super) fn set_drops(&mut self, options: &CompareOptions) {
        let drops: Vec<Option<SqnrDrop>> = match options.graph.as_deref() {
            Some(graph) => {
                let ratios = Ratios::of(&self.rows, graph);
                self.rows.iter().map(|row| ratios.drop(row)).collect()
            }
            // Without the graph, the best guess is that a tensor was computed from the preceding one.
            None => {
                let befores = [None].into_iter().chain(self.rows.iter().map(Some));
                let drop = |(before, row): (Option<&Row>, &Row)| {
                    let before = before.filter(|before| before.place.run == row.place.run)?;
                    SqnrDrop { from: ratio(before)?, to: ratio(row)? }.if_finite()
                };
                befores.zip(&self.rows).map(drop).collect()
            }
        };
        self.rows.iter_mut().zip(drops).for_each(|(row, drop)| row.drop = drop);
        let is_of_quantiser = |place: &StoredOrigin| place.op_type.as_deref().is_some_and(quantises);
        // An initializer of the original may be a value that the quantised model computes.
        let is_computed = |value: &Value| matches!(value.producer, Producer::Operator(..));
        let has = |graph: &Option<Arc<Graph>>, place: &StoredOrigin| {
            graph
                .as_ref()
                .zip(place.value.as_ref())
                .map(|(graph, name)| graph.value_named(name).is_some_and(is_computed))
        };
        let only = self
            .only_in_tensors
            .extract_if(.., |place| is_of_quantiser(place) || has(&options.reference_graph, place) == Some(false));
        self.quantised_only.extend(only);
        let only = self.only_in_reference.extract_if(.., |place| {
            // For two dumps, at most one graph is known.
            let other = if options.reference_graph.is_some() { has(&options.graph, place) } else { None };
            is_of_quantiser(place) || other == Some(false)
        });
        self.quantised_only.extend(only);
    }
}

impl SqnrDrop {
    fn if_finite(self) -> Option<Self> {
        (self.from.is_finite() && self.to.is_finite()).then_some(self)
    }
}

/// Returns the signal-to-noise ratio of a row.
fn ratio(row: &Row) -> Option<f64> {
    row.difference().filter(|difference| difference.mismatches() == 0)?.sqnr
}

/// The signal-to-noise ratios of the values of a graph, by run.
struct Ratios<'c> {
    graph: &'c Graph,
    ids: HashMap<&'c str, ValueId>,
    /// The least of all iterations.
    of: HashMap<(Option<u64>, ValueId), f64>,
}

impl<'c> Ratios<'c> {
    fn of(rows: &[Row], graph: &'c Graph) -> Self {
        let ids: HashMap<&str, ValueId> = graph.all_values().map(|value| (value.name.as_str(), value.id)).collect();
        let mut of = HashMap::new();
        for row in rows {
            let id = row.place.value.as_deref().and_then(|name| ids.get(name));
            if let Some((id, ratio)) = id.zip(ratio(row)) {
                let least = of.entry((row.place.run, *id)).or_insert(ratio);
                *least = ratio.min(*least);
            }
        }
        Self { graph, ids, of }
    }

    fn drop(&self, row: &Row) -> Option<SqnrDrop> {
        let value = *self.ids.get(row.place.value.as_deref()?)?;
        let mut seen = HashSet::new();
        let from = self.before(row.place.run, value, &mut seen)?;
        (row.place.io != Some(Io::Input)).then_some(SqnrDrop { from, to: ratio(row)? })?.if_finite()
    }

    /// Returns the lowest ratio of the values that a value was computed from: the nearest ones that were compared.
    fn before(&self, run: Option<u64>, value: ValueId, seen: &mut HashSet<ValueId>) -> Option<f64> {
        let mut waiting = vec![value];
        let mut least: Option<f64> = None;
        while let Some(value) = waiting.pop() {
            let Producer::Operator(operator, _) = self.graph.value(value).producer else { continue };
            let operator = self.graph.operator(operator);
            for &input in operator.inputs.iter().flatten().chain(&operator.captures) {
                match self.of.get(&(run, input)) {
                    Some(&ratio) => least = Some(least.map_or(ratio, |least| least.min(ratio))),
                    None if seen.insert(input) => waiting.push(input),
                    None => {}
                }
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use opscope_tensor::{DType, DifferenceAccumulator};

    use super::*;
    use crate::{MatchedBy, Order, Outcome};

    /// Returns the row of a tensor with a signal-to-noise ratio of about this many decibels.
    fn row(value: &str, sqnr: f64) -> Row {
        let place = StoredOrigin { value: Some(value.to_owned()), ..StoredOrigin::default() };
        let noise = if sqnr.is_finite() { 10f64.powf(-sqnr / 20.0) } else { 0.0 };
        let (found, expected) = (1.0 + noise, 1.0f64);
        let mut accumulator = DifferenceAccumulator::new(DType::F64, DType::F64, 1, 0.0).expect("floats");
        accumulator.update(&found.to_le_bytes(), &expected.to_le_bytes());
        Row {
            reference: place.clone(),
            place,
            matched_by: MatchedBy::Value,
            dtypes: (Some(DType::F64), Some(DType::F64)),
            shapes: (vec![1], vec![1]),
            outcome: Outcome::Compared { difference: accumulator.finish(), within: true },
            drop: None,
        }
    }

    fn text(ratios: &[f64]) -> String {
        let rows = ratios.iter().enumerate().map(|(index, ratio)| row(&format!("v{index}"), *ratio)).collect();
        let mut comparison = Comparison::of(&Default::default(), &Default::default(), &CompareOptions::default());
        comparison.rows = rows;
        comparison.is_quantised = true;
        comparison.set_drops(&CompareOptions::default());
        comparison.text(Order::Graph, 100)
    }

    #[test]
    fn the_first_noise_is_named_and_no_drop_that_is_as_large_as_others() {
        let drop = text(&[f64::INFINITY, 40.0, 30.0, 29.0]);
        assert!(
            drop.contains("the first noise is at v1: 40.0 dB\nthe largest drop is at v2: 40.0 to 30.0 dB\n"),
            "{drop}"
        );
        let row = |value: &str| {
            let line = drop.lines().find(|line| line.trim_start().starts_with(value)).expect("a row");
            line.split_whitespace().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" ")
        };
        assert!(row("v0").ends_with("exact -") && row("v1").ends_with("40.0 dB -"), "{drop}");
        assert_eq!((row("v2"), row("v3")), ("30.0 dB 10.0 dB".to_owned(), "29.0 dB 1.0 dB".to_owned()), "{drop}");
        let none = text(&[f64::INFINITY, 12.0, 11.0, 9.5]);
        assert!(none.contains("the first noise is at v1: 12.0 dB\nno operator stands out: no drop is 3 dB"), "{none}");
        let large = text(&[f64::INFINITY, 40.0, 36.99]);
        assert!(large.contains("the largest drop is at v2: 40.0 to 37.0 dB\n"), "{large}");
        let small = text(&[f64::INFINITY, 40.0, 37.01]);
        assert!(small.contains("no operator stands out"), "{small}");
        let level = text(&[f64::INFINITY, 40.0, 40.0]);
        assert!(
            level.contains("the first noise") && !level.contains("stands out") && !level.contains("drop is"),
            "{level}"
        );
        let exact = text(&[f64::INFINITY; 3]);
        assert!(!exact.contains("noise") && !exact.contains("drop is"), "{exact}");
    }

    #[test]
    fn a_drop_is_from_the_nearest_values_that_were_compared_and_from_the_worst_of_them() {
        let graph = opscope_model::testing::GraphBuilder::new("chain")
            .input("x", &[1])
            .operator("first", "Neg", &["x"], &["a"])
            .operator("other", "Neg", &["x"], &["b"])
            .operator("join", "Add", &["a", "b"], &["unseen"])
            .operator("twice", "Neg", &["unseen"], &["unseen too"])
            .operator("last", "Neg", &["unseen too"], &["c"])
            .build();
        let options = CompareOptions { graph: Some(Arc::new(graph)), ..CompareOptions::default() };
        let mut comparison = Comparison::of(&Default::default(), &Default::default(), &options);
        comparison.rows = vec![row("a", 40.0), row("b", 35.0), row("c", 30.0)];
        comparison.is_quantised = true;
        comparison.set_drops(&options);
        let drops: Vec<_> = comparison.rows.iter().map(|row| row.drop).collect();
        assert_eq!(drops[..2], [None, None]);
        let drop = drops[2].expect("two operators that were not compared are passed over");
        assert!((drop.from - 35.0).abs() < 1e-6 && (drop.to - 30.0).abs() < 1e-6, "{drop:?}");
        assert_eq!(comparison.largest_drop().map(|(row, _)| row.place.label()), Some("c".to_owned()));
    }

    #[test]
    fn what_only_one_side_has_because_of_the_quantisation_is_set_apart() {
        let graph = |value: &str| {
            let graph = opscope_model::testing::GraphBuilder::new("one").input("x", &[1]).initializer("w", &[1]);
            Some(Arc::new(graph.operator("op", "Neg", &["x"], &[value]).build()))
        };
        let place = |value: &str, op_type: &str| StoredOrigin {
            value: Some(value.to_owned()),
            op_type: Some(op_type.to_owned()),
            ..StoredOrigin::default()
        };
        // Returns the values that only one side has, of either side, and then those that were moved.
        let set_apart = |graph: Option<Arc<Graph>>, reference_graph: Option<Arc<Graph>>| {
            let options = CompareOptions { graph, reference_graph, ..CompareOptions::default() };
            let mut comparison = Comparison::of(&Default::default(), &Default::default(), &options);
            comparison.only_in_tensors = vec![place("mine", "Conv"), place("codes", "QuantizeLinear")];
            comparison.only_in_reference = vec![place("theirs", "Conv"), place("back", "DequantizeLinear")];
            comparison.is_quantised = true;
            comparison.set_drops(&options);
            let values = |places: &[StoredOrigin]| -> String {
                places.iter().filter_map(|place| place.value.as_deref()).collect::<Vec<_>>().join(" ")
            };
            [&comparison.only_in_tensors, &comparison.only_in_reference, &comparison.quantised_only]
                .map(|one| values(one))
        };
        // Without graphs, only the types of the operators are known.
        assert_eq!(set_apart(None, None), ["mine", "theirs", "codes back"]);
        // Both graphs are known, and say which values each side computes.
        assert_eq!(set_apart(graph("theirs"), graph("mine")), ["mine", "theirs", "codes back"]);
        assert_eq!(set_apart(graph("y"), graph("y")), ["", "", "mine codes theirs back"]);
        assert_eq!(set_apart(graph("y"), None), ["mine", "theirs", "codes back"]);
    }
}
