use std::collections::HashMap;

use opscope_onnx::{Graph, OnnxError};
use opscope_tensor::{DType, Tensor, compared_in};
use xxhash_rust::xxh3::xxh3_64;

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
