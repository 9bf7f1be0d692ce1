use std::collections::HashMap;
use std::path::PathBuf;

use opscope_onnx::Graph;

use super::render::severity;
use super::{Comparison, Row, diverge};
use crate::StoredOrigin;

/// Comparisons of one model with several sets of inputs, as one. Of each tensor, the worst row is kept, with the set that
/// it comes from; a run of a row is the number of its set.
#[derive(Debug, Default)]
pub struct InputSets {
    comparison: Option<Comparison>,
    sets: Vec<Vec<PathBuf>>,
    /// The rows by their places.
    rows: HashMap<StoredOrigin, usize>,
}

impl InputSets {
    /// Adds the comparison with one more set of inputs, which are in these files. `one_reference` says whether all sets are
    /// compared with the same dump: then a tensor of it is unused if no set used it.
    pub fn add(&mut self, files: Vec<PathBuf>, comparison: Comparison, one_reference: bool) {
        self.sets.push(files);
        let Some(all) = &mut self.comparison else {
            self.rows = comparison.rows.iter().enumerate().map(|(index, row)| (key(&row.place), index)).collect();
            self.comparison = Some(comparison);
            return;
        };
        let is_quantised = all.is_quantised;
        let badness = |row: &Row| (row.verdict(), severity(row, is_quantised));
        for row in comparison.rows {
            match self.rows.get(&key(&row.place)) {
                Some(&index) if badness(&row) > badness(&all.rows[index]) => all.rows[index] = row,
                Some(_) => {}
                None => {
                    self.rows.insert(key(&row.place), all.rows.len());
                    all.rows.push(row);
                }
            }
        }
        let add = |all: &mut Vec<StoredOrigin>, more: Vec<StoredOrigin>| {
            let new: Vec<_> =
                more.into_iter().filter(|place| !all.iter().any(|known| key(known) == key(place))).collect();
            all.extend(new);
        };
        add(&mut all.only_in_tensors, comparison.only_in_tensors);
        match one_reference {
            true => all.only_in_reference.retain(|place| comparison.only_in_reference.contains(place)),
            false => add(&mut all.only_in_reference, comparison.only_in_reference),
        }
        add(&mut all.fused, comparison.fused);
        add(&mut all.quantised_only, comparison.quantised_only);
        let add = |all: &mut Vec<String>, more: Vec<String>| {
            let new: Vec<_> = more.into_iter().filter(|text| !all.contains(text)).collect();
            all.extend(new);
        };
        add(&mut all.inputs, comparison.inputs);
        add(&mut all.problems, comparison.problems);
        add(&mut all.notes, comparison.notes);
        all.divergence = match (all.divergence.take(), comparison.divergence) {
            (Some(one), Some(other)) => {
                let is_first = (&other.moment, other.row) < (&one.moment, one.row);
                Some(if is_first { other } else { one })
            }
            (one, other) => one.or(other),
        };
    }

    /// Returns the comparison over all sets, or `None` if there was none. `graph` is the model that was compared.
    pub fn finish(self, graph: Option<&Graph>) -> Option<Comparison> {
        let mut all = self.comparison?;
        all.input_sets = self.sets;
        diverge::sort(&mut all.rows, graph);
        let places: HashMap<StoredOrigin, usize> =
            all.rows.iter().enumerate().map(|(index, row)| (key(&row.place), index)).collect();
        let place = |row: &Row| places.get(&key(&row.place)).copied();
        if let Some(divergence) = &mut all.divergence {
            divergence.row = place(&divergence.tensor).unwrap_or(divergence.row);
            for input in &mut divergence.inputs {
                input.row = input.compared.as_ref().and_then(place);
            }
        }
        Some(all)
    }
}

/// Returns a place without its run.
fn key(place: &StoredOrigin) -> StoredOrigin {
    StoredOrigin { run: None, ..place.clone() }
}
