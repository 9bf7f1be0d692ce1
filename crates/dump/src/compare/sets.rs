use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::PathBuf;

use opscope_onnx::Graph;

use super::render::severity;
use super::{Comparison, Row, diverge};
use crate::StoredOrigin;

/// Several comparisons of one model, each with another set of inputs, joined into one. For each tensor, the worst row
/// is kept. The run of a row is the number of its set.
#[derive(Debug, Default)]
pub struct InputSets {
    comparison: Option<Comparison>,
    sets: Vec<Vec<PathBuf>>,
    /// The indices of the rows by the origins of their tensors.
    rows: HashMap<StoredOrigin, usize>,
    known: KnownEntries,
}

/// The entries that the lists of the comparison already have. Origins are without their runs.
#[derive(Debug, Default)]
struct KnownEntries {
    only_in_tensors: HashSet<StoredOrigin>,
    only_in_reference: HashSet<StoredOrigin>,
    fused: HashSet<StoredOrigin>,
    quantised_only: HashSet<StoredOrigin>,
    inputs: HashSet<String>,
    problems: HashSet<String>,
    notes: HashSet<String>,
}

impl InputSets {
    /// Adds the comparison with one more set of inputs, which are in these files. `one_reference` says whether all sets
    /// are compared with the same dump. If so, a tensor of the dump is unused only if no set used it.
    pub fn add(&mut self, files: Vec<PathBuf>, comparison: Comparison, one_reference: bool) {
        self.sets.push(files);
        let Some(all) = &mut self.comparison else {
            self.rows = comparison.rows.iter().enumerate().map(|(index, row)| (key(&row.place), index)).collect();
            self.known = KnownEntries::of(&comparison);
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
        let known = &mut self.known;
        add(&mut all.only_in_tensors, &mut known.only_in_tensors, comparison.only_in_tensors, key);
        match one_reference {
            true => {
                let unused: HashSet<StoredOrigin> = comparison.only_in_reference.into_iter().collect();
                all.only_in_reference.retain(|place| unused.contains(place));
            }
            false => add(&mut all.only_in_reference, &mut known.only_in_reference, comparison.only_in_reference, key),
        }
        add(&mut all.fused, &mut known.fused, comparison.fused, key);
        add(&mut all.quantised_only, &mut known.quantised_only, comparison.quantised_only, key);
        add(&mut all.inputs, &mut known.inputs, comparison.inputs, String::clone);
        add(&mut all.problems, &mut known.problems, comparison.problems, String::clone);
        add(&mut all.notes, &mut known.notes, comparison.notes, String::clone);
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

impl KnownEntries {
    fn of(comparison: &Comparison) -> Self {
        let places = |places: &[StoredOrigin]| places.iter().map(key).collect();
        let texts = |texts: &[String]| texts.iter().cloned().collect();
        Self {
            only_in_tensors: places(&comparison.only_in_tensors),
            only_in_reference: places(&comparison.only_in_reference),
            fused: places(&comparison.fused),
            quantised_only: places(&comparison.quantised_only),
            inputs: texts(&comparison.inputs),
            problems: texts(&comparison.problems),
            notes: texts(&comparison.notes),
        }
    }
}

/// Adds to a list the entries that it does not have yet. Entries with the same `key` are equal.
fn add<T: Eq + Hash>(all: &mut Vec<T>, known: &mut HashSet<T>, more: Vec<T>, key: fn(&T) -> T) {
    all.extend(more.into_iter().filter(|one| known.insert(key(one))));
}

/// Returns an origin without its run.
fn key(place: &StoredOrigin) -> StoredOrigin {
    StoredOrigin { run: None, ..place.clone() }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::CompareOptions;

    #[test]
    fn what_many_sets_have_to_say_is_kept_once_and_in_the_time_that_it_takes_to_read() {
        const SETS: usize = 100;
        const OF_EACH: usize = 1_000;
        let place = |name: String| StoredOrigin { value: Some(name), ..StoredOrigin::default() };
        let empty = Comparison::of(&Default::default(), &Default::default(), &CompareOptions::default());
        let start = Instant::now();
        let mut sets = InputSets::default();
        for set in 0..SETS {
            let mut comparison = empty.clone();
            comparison.problems = (0..OF_EACH).map(|number| format!("problem {number} of set {set:03}")).collect();
            comparison.problems.push("a problem of all".to_owned());
            comparison.only_in_tensors = (0..OF_EACH)
                .map(|number| StoredOrigin { run: Some(set as u64), ..place(format!("v{number}")) })
                .collect();
            comparison.only_in_reference = vec![place("never used".to_owned()), place(format!("not used by {set}"))];
            sets.add(Vec::new(), comparison, true);
        }
        let all = sets.finish(None).expect("some sets");
        assert_eq!(all.problems.len(), SETS * OF_EACH + 1);
        assert_eq!(all.only_in_tensors.len(), OF_EACH, "a place is without its run");
        assert_eq!(all.only_in_reference, [place("never used".to_owned())]);
        // An implementation that compares each with each takes minutes.
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
