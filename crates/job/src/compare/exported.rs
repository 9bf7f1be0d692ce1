//! A model that was exported from a program, compared with a dump of that program.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use opscope_dump::StoredDump;
use opscope_onnx::{Dim, Graph, OnnxError, Value};
use opscope_tensor::{DType, Digest, Tensor};

/// Why a program's dump does not give the inputs of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramInputError {
    /// Nothing in the dump fits.
    #[error(
        "{dump:?} has nothing that fits the input '{input}' of the model; dump the program with --level op and without \
         --statistics, or give the inputs with --input"
    )]
    Nothing {
        /// The dump.
        dump: PathBuf,
        /// The model's input.
        input: String,
    },
    /// More tensors fit than the model has inputs.
    #[error("several tensors of {dump:?} fit the input '{input}' of the model: {found}; give the inputs with --input")]
    Several {
        /// The dump.
        dump: PathBuf,
        /// The model's input.
        input: String,
        /// The tensors.
        found: String,
    },
    /// A tensor cannot be read.
    #[error("the input '{name}' in the dump cannot be read: {source}")]
    Io {
        /// Its name in the dump.
        name: String,
        /// Why.
        source: io::Error,
    },
}

/// Returns the inputs of a model, taken from what the program was given in the first step of a dump. They are matched
/// by type and shape; those of the same type and shape are matched in their order.
///
/// # Errors
/// Returns an error if no tensor fits an input, if too many do, or if one cannot be read.
pub fn program_inputs(graph: &Graph, dump: &StoredDump) -> Result<Vec<Tensor>, ProgramInputError> {
    let given = dump.program_inputs();
    let values: Vec<&Value> = graph.inputs.iter().map(|&input| graph.value(input)).collect();
    let mut taken = vec![false; given.len()];
    let mut tensors = Vec::with_capacity(values.len());
    for value in &values {
        let fitting: Vec<usize> =
            (0..given.len()).filter(|&index| fits(value, given[index].dtype, &given[index].shape)).collect();
        let alike = values.iter().filter(|other| (other.dtype, &other.shape) == (value.dtype, &value.shape)).count();
        let (dump, input) = (dump.path.clone(), value.name.clone());
        if fitting.len() > alike {
            let found: Vec<&str> = fitting.iter().map(|&index| given[index].name.as_str()).collect();
            return Err(ProgramInputError::Several { dump, input, found: found.join(", ") });
        }
        let Some(index) = fitting.into_iter().find(|&index| !taken[index]) else {
            return Err(ProgramInputError::Nothing { dump, input });
        };
        taken[index] = true;
        let tensor = given[index].read();
        tensors.push(tensor.map_err(|source| ProgramInputError::Io { name: given[index].name.clone(), source })?);
    }
    Ok(tensors)
}

/// Returns whether a tensor of a program can be this input of a model.
fn fits(value: &Value, given_dtype: DType, given_shape: &[usize]) -> bool {
    let is_of_type = value.dtype.is_none_or(|dtype| dtype == given_dtype);
    let is_of_shape = value.shape.as_ref().is_none_or(|shape| {
        let is_fitting = |(dim, &size): (&Dim, &usize)| match dim {
            Dim::Fixed(fixed) => *fixed == size,
            _ => true,
        };
        shape.len() == given_shape.len() && shape.iter().zip(given_shape).all(is_fitting)
    });
    is_of_type && is_of_shape
}

/// Returns the names of the initializers that have the name of a parameter of the program, its type and shape, and other
/// data.
pub(super) fn stale_initializers(graph: &Graph, dump: &StoredDump) -> Result<Vec<String>, OnnxError> {
    let step = dump.first_step();
    let runs = dump.manifest.iter().flat_map(|manifest| manifest.given());
    let entries = runs.filter(|(run, _)| Some(*run) == step).flat_map(|(_, entries)| entries);
    let parameters: HashMap<&str, _> = entries.map(|entry| (entry.name.as_str(), entry)).collect();
    let mut stale = Vec::new();
    graph.initializers::<OnnxError>(
        |_| true,
        |value, tensor: &Tensor| {
            let name = &graph.value(value).name;
            if let Some(entry) = parameters.get(name.as_str()) {
                let is_alike = entry.dtype == tensor.dtype() && entry.shape == tensor.shape();
                if is_alike && entry.xxh3 != Digest::of(tensor.bytes()) {
                    stale.push(name.clone());
                }
            }
            Ok(())
        },
    )?;
    Ok(stale)
}

#[cfg(test)]
mod tests;
