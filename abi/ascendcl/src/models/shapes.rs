//! Shapes that the user fixes, as with `--input_shape` of the vendor's converter.
//!
//! Programs that were written for converted models query the size of an input before they allocate memory for it. If a
//! file leaves a dimension free, there is no such size, so the user sets it:
//! `OPSCOPE_ACL_INPUT_SHAPE='image:1,3,224,224;mask:1,128'`. A dimension with -1 stays free, so that gears can fix it.

use std::collections::BTreeMap;

use opscope::onnx::{Dim, Graph};

use super::port::Port;
use crate::border::{Failure, codes};

const VARIABLE: &str = "OPSCOPE_ACL_INPUT_SHAPE";

/// Sets the shapes that the user gives for a graph's inputs, and fixes all dimensions with the same names. Inputs that
/// the graph does not have are ignored, because they may belong to other models.
pub(super) fn fix(graph: &mut Graph) -> Result<(), Failure> {
    let Some(given) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let given = given.to_string_lossy();
    let shapes = parse(&given).ok_or_else(|| wrong(&given, "it is written as 'image:1,3,224,224;mask:1,128'"))?;
    let ports = Port::of(graph, &graph.inputs);
    let inputs =
        ports.iter().zip(&graph.inputs).filter_map(|(port, &id)| Some((port, id, shapes.get(port.name.as_str())?)));
    let inputs: Vec<_> = inputs.collect();
    for (port, _, shape) in &inputs {
        if !port.takes_in_part(shape) {
            return Err(wrong(&given, &format!("input '{}' has the shape {}", port.name, port.shape())));
        }
    }
    let mut sizes = BTreeMap::new();
    for (dim, &size) in inputs.iter().flat_map(|(port, _, shape)| port.dims.iter().flatten().zip(shape.iter())) {
        if let (Dim::Symbol(name), Some(size)) = (dim, size)
            && !name.is_empty()
        {
            sizes.entry(name.as_str()).or_insert(size);
        }
    }
    for value in &mut graph.values {
        for dim in value.shape.iter_mut().flatten() {
            if let Dim::Symbol(name) = dim
                && let Some(&size) = sizes.get(name.as_str())
            {
                *dim = Dim::Fixed(size);
            }
        }
    }
    for (_, id, shape) in inputs {
        let declared = graph.values[id.index()].shape.take().unwrap_or_default().into_iter().map(Some);
        let declared = declared.chain(std::iter::repeat(None));
        let open = |dim: Option<Dim>| dim.unwrap_or(Dim::Symbol(String::new()));
        let dims = shape.iter().zip(declared).map(|(&size, dim)| size.map_or_else(|| open(dim), Dim::Fixed));
        graph.values[id.index()].shape = Some(dims.collect());
    }
    Ok(())
}

/// The sizes of inputs by name; `None` for a dimension that stays free.
type Shapes<'a> = BTreeMap<&'a str, Vec<Option<usize>>>;

fn parse(given: &str) -> Option<Shapes<'_>> {
    let entries = given.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let (name, dims) = entry.rsplit_once(':')?;
            // A scalar has no dimensions.
            let dims = dims.split(',').filter(|_| !dims.trim().is_empty());
            Some((name, dims.map(|dim| size(dim.trim())).collect::<Option<_>>()?))
        })
        .collect()
}

fn size(text: &str) -> Option<Option<usize>> {
    if text == "-1" { Some(None) } else { text.parse().ok().map(Some) }
}

fn wrong(given: &str, reason: &str) -> Failure {
    Failure::wrong_value_of(codes::GE_SHAPE_INVALID, VARIABLE, format_args!("'{given}'"), reason)
}
