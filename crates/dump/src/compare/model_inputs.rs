//! What both sides of a comparison are given: the inputs of their runs, and initializers that differ.

use std::collections::HashMap;

use opscope_onnx::{Graph, OnnxError};
use opscope_tensor::{DType, Tensor, compared_in};
use xxhash_rust::xxh3::xxh3_64;

use super::{CompareOptions, MatchBy, Row, Verdict};
use crate::{InputEntry, StoredDump};

/// The inputs of the runs of one side, by the number of the run, as far as they are known.
pub(super) type InputsByRun<'d> = HashMap<u64, &'d [InputEntry]>;

/// The inputs of the runs of both sides.
pub(super) struct ModelInputs<'d> {
    pub tensors: InputsByRun<'d>,
    pub reference: InputsByRun<'d>,
}

impl StoredDump {
    pub(super) fn given(&self) -> InputsByRun<'_> {
        self.manifest.iter().flat_map(|manifest| manifest.given()).collect()
    }
}

impl ModelInputs<'_> {
    /// Returns whether an input of the model was the same in the two runs that a row compares. Hashes of data of
    /// different types cannot be compared.
    pub fn verdict(&self, row: &Row, name: &str, options: &CompareOptions) -> Verdict {
        if options.same_inputs {
            return Verdict::Same;
        }
        match self.pair(row, name, options) {
            Some((ours, theirs)) if ours.dtype == theirs.dtype => {
                let is_same = (&ours.shape, &ours.xxh3) == (&theirs.shape, &theirs.xxh3);
                if is_same { Verdict::Same } else { Verdict::Different }
            }
            _ => Verdict::Unknown,
        }
    }

    /// Returns the names of the model's inputs that differed in runs that were compared.
    pub fn differing(&self, rows: &[Row], options: &CompareOptions) -> Vec<String> {
        let mut runs: Vec<&Row> = rows.iter().collect();
        runs.sort_by_key(|row| (row.place.run, row.reference.run));
        if let Some(first) = runs.first().filter(|row| row.place.phase.is_some()).map(|row| row.place.run) {
            // Inputs of later steps of a program, such as parameters, come from earlier steps.
            runs.retain(|row| row.place.run == first);
        }
        runs.dedup_by_key(|row| (row.place.run, row.reference.run));
        let mut names: Vec<String> = Vec::new();
        for row in runs {
            let inputs = row.place.run.and_then(|run| self.tensors.get(&run)).copied().unwrap_or_default();
            for InputEntry { name, .. } in inputs {
                if self.verdict(row, name, options) == Verdict::Different && !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// Returns the input with this name in each of the two runs.
    fn pair(&self, row: &Row, name: &str, options: &CompareOptions) -> Option<(&InputEntry, &InputEntry)> {
        let (tensors, reference) = (self.tensors.get(&row.place.run?)?, self.reference.get(&row.reference.run?)?);
        let slot = tensors.iter().position(|input| input.name == name)?;
        let named = |name: &str| reference.iter().find(|input| input.name == name);
        let other = match (options.mapping.of(name), options.match_by) {
            (Some(mapped), _) => named(mapped),
            (None, MatchBy::Name) if options.modules.is_empty() => named(name),
            (None, MatchBy::Name) => named(&options.modules.name(name)),
            (None, MatchBy::Position) => reference.get(slot),
        };
        Some((&tensors[slot], other?))
    }
}

/// Returns the names of the initializers that both models have but that differ, in the order of the first model.
/// Numbers of two floating-point types are compared in the coarser type.
///
/// # Errors
/// Returns an error if a model's data cannot be read.
pub fn differing_initializers(tensors: &Graph, reference: &Graph) -> Result<Vec<String>, OnnxError> {
    let expected: HashMap<String, Content> =
        contents(reference, tensors, |theirs, ours| compared_in(ours, theirs))?.collect();
    let found = contents(tensors, reference, compared_in)?;
    let differs = |(name, content): (String, Content)| {
        expected.get(&name).is_some_and(|expected| *expected != content).then_some(name)
    };
    Ok(found.filter_map(differs).collect())
}

/// Type, shape and hash.
type Content = (DType, Vec<usize>, u64);

/// Returns the contents of a model's initializers, converted to the type that `common` returns for the types of both
/// models.
fn contents(
    graph: &Graph,
    other: &Graph,
    common: impl Fn(DType, DType) -> DType,
) -> Result<impl Iterator<Item = (String, Content)>, OnnxError> {
    let mut found = Vec::new();
    let types: HashMap<&str, Option<DType>> = other.values.iter().map(|value| (&*value.name, value.dtype)).collect();
    graph.initializers::<OnnxError>(
        |_| true,
        |value, tensor: &Tensor| {
            let name = &graph.value(value).name;
            let common = types.get(&**name).copied().flatten().map(|other| common(tensor.dtype(), other));
            let cast = common.and_then(|common| tensor.cast(common));
            let tensor = cast.as_ref().unwrap_or(tensor);
            found.push((name.clone(), (tensor.dtype(), tensor.shape().to_vec(), xxh3_64(tensor.bytes()))));
            Ok(())
        },
    )?;
    Ok(found.into_iter())
}
