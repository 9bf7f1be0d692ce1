//! The inputs and outputs of a model, and the shapes that the user fixes for them, as with `--input_shape` of the vendor's
//! converter.
//!
//! Programs that were written for converted models query the size of an input before they allocate memory for it. If a
//! file leaves a dimension free, there is no such size, so the user sets it:
//! `OPSCOPE_ACL_INPUT_SHAPE='image:1,3,224,224;mask:1,128'`. A dimension with -1 stays free, so that gears can fix it.

use std::collections::BTreeMap;

use opscope::onnx::{Dim, Graph, ValueId};
use opscope::tensor::DType;

use crate::border::{Failure, codes};

/// An input or output of a model, as the file declares it.
#[derive(Debug, Clone)]
pub struct Port {
    pub name: String,
    pub dtype: Option<DType>,
    /// The dimensions; `None` if the file does not say them.
    pub dims: Option<Vec<Dim>>,
}

impl Port {
    /// Returns the ports for these values of a graph.
    pub fn of(graph: &Graph, values: &[ValueId]) -> Vec<Self> {
        let port = |&id: &ValueId| {
            let value = graph.value(id);
            Self { name: value.name.clone(), dtype: value.dtype, dims: value.shape.clone() }
        };
        values.iter().map(port).collect()
    }

    /// Returns whether the declared shape has these sizes, or leaves them free.
    pub fn takes(&self, sizes: &[usize]) -> bool {
        self.takes_in_part(&sizes.iter().map(|&size| Some(size)).collect::<Vec<_>>())
    }

    /// Returns whether the declared shape has these sizes, or leaves them free. Where a size is `None`, the dimension
    /// must be free.
    pub fn takes_in_part(&self, sizes: &[Option<usize>]) -> bool {
        let takes = |(dim, size): (&Dim, &Option<usize>)| match dim {
            Dim::Symbol(_) => true,
            Dim::Fixed(fixed) => *size == Some(*fixed),
        };
        self.dims.as_ref().is_none_or(|dims| dims.len() == sizes.len() && dims.iter().zip(sizes).all(takes))
    }

    /// Returns the declared shape for messages: `[batch, 1, 8, 8]`.
    pub fn shape(&self) -> String {
        let Some(dims) = &self.dims else { return "any shape".to_owned() };
        format!("[{}]", dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    /// Returns the axes of the free dimensions.
    pub fn free_axes(&self) -> Vec<usize> {
        let dims = self.dims.iter().flatten().enumerate();
        dims.filter(|(_, dim)| matches!(dim, Dim::Symbol(_))).map(|(axis, _)| axis).collect()
    }

    /// Returns the shape; `None` if a dimension is free.
    pub fn fixed(&self) -> Option<Vec<usize>> {
        self.fixed_with(&BTreeMap::new())
    }

    /// Returns the shape with these sizes for the free dimensions that have a name; `None` if any other dimension is
    /// free.
    pub fn fixed_with(&self, sizes: &BTreeMap<&str, usize>) -> Option<Vec<usize>> {
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Symbol(name) => sizes.get(name.as_str()).copied(),
        };
        self.dims.as_ref()?.iter().map(size).collect()
    }

    /// Returns the size of the tensor in bytes; `None` if a dimension is free, or the type has no representation in
    /// bytes.
    pub fn bytes(&self) -> Option<usize> {
        bytes_of(self.dtype?, &self.fixed()?)
    }

    /// Returns the size in bytes of a tensor with the shape `largest`, which is the shape in the gear where the tensor
    /// is largest. Without such a shape, returns the size of the declared shape.
    pub fn largest_bytes(&self, largest: Option<&[usize]>) -> Option<usize> {
        largest.map_or_else(|| self.bytes(), |shape| bytes_of(self.dtype?, shape))
    }
}

/// Returns the size of a tensor in bytes; `None` if its type has no representation in bytes.
pub fn bytes_of(dtype: DType, shape: &[usize]) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size))?;
    dtype.bytes_of(elements)
}

/// Returns the sizes of the free dimensions that have a name, as the shapes of some ports set them.
pub fn bound_sizes<'a>(ports: impl Iterator<Item = (&'a Port, &'a [usize])>) -> BTreeMap<&'a str, usize> {
    let mut sizes = BTreeMap::new();
    for (port, shape) in ports {
        for (dim, &size) in port.dims.iter().flatten().zip(shape) {
            match dim {
                Dim::Symbol(name) if !name.is_empty() => drop(sizes.entry(name.as_str()).or_insert(size)),
                _ => {}
            }
        }
    }
    sizes
}

const VARIABLE: &str = "OPSCOPE_ACL_INPUT_SHAPE";

/// Sets the shapes that the user gives for a graph's inputs, and fixes all dimensions with the same names. Inputs that
/// the graph does not have are ignored, because they may belong to other models.
pub(super) fn fix_shapes(graph: &mut Graph) -> Result<(), Failure> {
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
