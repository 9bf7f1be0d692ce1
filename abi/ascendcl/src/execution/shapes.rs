use std::sync::Arc;

use crate::border::{Failure, codes};
use crate::models::{Model, Port, bound_sizes};
use crate::tensors::TensorDesc;

/// Returns the shape of every input. It comes from the file, from the gear that was chosen for the dataset, or from the
/// dataset's description of the input.
pub fn shapes(
    model: &Model,
    gear: Option<usize>,
    descs: &[Option<Arc<TensorDesc>>],
) -> Result<Vec<Vec<usize>>, Failure> {
    let set = |(port, desc): (&Port, &Option<Arc<TensorDesc>>)| desc.as_deref().map(|desc| set(port, desc)).transpose();
    let set: Vec<Option<Vec<usize>>> = model.inputs.iter().zip(descs).map(set).collect::<Result<_, _>>()?;
    if let Some(gears) = &model.gears {
        let gear = gear.and_then(|gear| gears.all.get(gear)).ok_or_else(|| {
            let text = format!("no gear was chosen for this dataset; the model has {}", gears.all.len());
            Failure::new(codes::GE_DYNAMIC_BATCH_SIZE_INVALID, "EH0001", text)
        })?;
        for ((port, set), shape) in model.inputs.iter().zip(&set).zip(&gear.inputs) {
            if set.as_ref().is_some_and(|set| set != shape) {
                return Err(wrong_shape(&port.name, &format!("the gear has {shape:?}")));
            }
        }
        return Ok(gear.inputs.clone());
    }
    // All dimensions with the same name have the same size.
    let given = model.inputs.iter().zip(&set).filter_map(|(port, set)| Some((port, set.as_deref()?)));
    let bound = bound_sizes(given);
    let shape = |(port, set): (&Port, &Option<Vec<usize>>)| {
        let shape = set.clone().or_else(|| port.fixed_with(&bound));
        shape.ok_or_else(|| wrong_shape(&port.name, "it has free dimensions, which aclmdlSetDatasetTensorDesc sets"))
    };
    model.inputs.iter().zip(&set).map(shape).collect()
}

/// Returns the shape that a dataset sets for an input. Checks it, because an engine that ignores a dimension would
/// accept any size.
fn set(port: &Port, desc: &TensorDesc) -> Result<Vec<usize>, Failure> {
    let sizes: Option<Vec<usize>> = desc.dims().iter().map(|&size| usize::try_from(size).ok()).collect();
    let sizes = sizes.ok_or_else(|| wrong_shape(&port.name, "the shape of a run has no free dimensions"))?;
    if !port.takes(&sizes) {
        return Err(wrong_shape(&port.name, &format!("the model takes {}, not {sizes:?}", port.shape())));
    }
    Ok(sizes)
}

pub fn wrong_shape(name: &str, reason: &str) -> Failure {
    Failure::new(codes::GE_SHAPE_INVALID, "E13025", format!("the shape of input '{name}' is wrong: {reason}"))
}
