use std::collections::BTreeMap;

use opscope::onnx::{Dim, Graph, ValueId};
use opscope::tensor::DType;

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
