//! The shapes of a model's inputs, before there is data of these shapes.

use std::collections::BTreeMap;
use std::fmt;

use opscope_onnx::{Dim, Graph, Value};

use super::InputError;

/// How the shapes of dynamic inputs are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ShapeSpec {
    /// Every dimension that the file leaves open is 1.
    #[default]
    Smallest,
    /// The size of the first dimension of every input that leaves it open. All other open dimensions are 1.
    Batch(usize),
    /// The same as [`Batch`](Self::Batch) if the file leaves the first dimension of any input open, and otherwise as
    /// [`Smallest`](Self::Smallest).
    OpenBatch(usize),
    /// The sizes of the last two dimensions of every input of rank 4 that leaves them open. All other open dimensions
    /// are 1.
    HeightWidth(usize, usize),
    /// These shapes, by the inputs' names. Other inputs are as with [`Smallest`](Self::Smallest), but a named dimension
    /// has the same size everywhere.
    Fixed(Vec<NamedShape>),
}

impl ShapeSpec {
    /// Returns the command-line option that gives a graph's inputs these shapes, such as
    /// `--dym-shape=data:1,600;info:1,600`. Returns `None` if they have them without an option.
    pub fn word(&self, graph: &Graph) -> Option<String> {
        let is_open = |value: &Value| matches!(value.shape.as_deref(), Some([Dim::Symbol(_), ..]));
        let has_batch = || graph.inputs.iter().any(|&input| is_open(graph.value(input)));
        let shape = |shape: &NamedShape| {
            let dims: Vec<String> = shape.dims.iter().map(ToString::to_string).collect();
            format!("{}:{}", shape.name, dims.join(","))
        };
        Some(match self {
            Self::Smallest => return None,
            Self::OpenBatch(_) if !has_batch() => return None,
            Self::Batch(batch) | Self::OpenBatch(batch) => format!("--dym-batch={batch}"),
            Self::HeightWidth(height, width) => format!("--dym-hw={height},{width}"),
            Self::Fixed(shapes) => {
                format!("--dym-shape={}", shapes.iter().map(shape).collect::<Vec<_>>().join(";"))
            }
        })
    }
}

/// An input and its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedShape {
    /// The input's name.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<usize>,
}

impl fmt::Display for ShapeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Smallest => f.write_str("the smallest shapes"),
            Self::Batch(batch) | Self::OpenBatch(batch) => write!(f, "a batch of {batch}"),
            Self::HeightWidth(height, width) => write!(f, "height {height} and width {width}"),
            Self::Fixed(shapes) => {
                let shape = |shape: &NamedShape| format!("{} {:?}", shape.name, shape.dims);
                f.write_str(&shapes.iter().map(shape).collect::<Vec<_>>().join("; "))
            }
        }
    }
}

/// Returns the shape of every input.
///
/// # Errors
/// Returns an error if a name is not an input, a shape contradicts the file, or the file does not say an input's
/// rank.
pub fn concrete_shapes(graph: &Graph, spec: &ShapeSpec) -> Result<Vec<Vec<usize>>, InputError> {
    let given: &[NamedShape] = match spec {
        ShapeSpec::Fixed(shapes) => shapes,
        _ => &[],
    };
    let mut symbols: BTreeMap<&str, usize> = BTreeMap::new();
    for shape in given {
        let input = graph.inputs.iter().map(|&input| graph.value(input)).find(|input| input.name == shape.name);
        let input =
            input.ok_or_else(|| InputError::UnknownInput { name: shape.name.clone(), inputs: describe(graph) })?;
        bind(input, &shape.dims, &mut symbols)?;
    }
    if let Some((input, found)) = fixed_otherwise(graph, spec) {
        let expected = input.shape.as_deref().map(join).unwrap_or_default();
        return Err(InputError::Shape { name: input.name.clone(), expected, found });
    }
    graph
        .inputs
        .iter()
        .map(|&input| {
            let input = graph.value(input);
            if let Some(shape) = given.iter().find(|shape| shape.name == input.name) {
                return Ok(shape.dims.clone());
            }
            let dims = input.shape.as_ref().ok_or_else(|| InputError::UnknownShape { name: input.name.clone() })?;
            let rank = dims.len();
            let open = |axis: usize| match *spec {
                ShapeSpec::Batch(batch) | ShapeSpec::OpenBatch(batch) if axis == 0 => batch,
                ShapeSpec::HeightWidth(height, _) if rank == 4 && axis == 2 => height,
                ShapeSpec::HeightWidth(_, width) if rank == 4 && axis == 3 => width,
                _ => 1,
            };
            let number = |(axis, dim): (usize, &Dim)| match dim {
                Dim::Fixed(number) => *number,
                Dim::Symbol(name) => symbols.get(name.as_str()).copied().unwrap_or_else(|| open(axis)),
            };
            Ok(dims.iter().enumerate().map(number).collect())
        })
        .collect()
}

/// Returns the dimensions that the file leaves open and that are 1 only because nothing sets them, such as `batch`, or
/// `image[2]` for one without a name.
pub fn made_up_dimensions(graph: &Graph, spec: &ShapeSpec) -> Vec<String> {
    let given =
        |input: &Value| matches!(spec, ShapeSpec::Fixed(shapes) if shapes.iter().any(|shape| shape.name == input.name));
    let inputs = || graph.inputs.iter().map(|&input| graph.value(input));
    let dims = |input: &Value| input.shape.clone().unwrap_or_default();
    let bound: Vec<Dim> = inputs().filter(|input| given(input)).flat_map(dims).collect();
    let chosen = |axis: usize, rank: usize| match spec {
        ShapeSpec::Batch(_) | ShapeSpec::OpenBatch(_) => axis == 0,
        ShapeSpec::HeightWidth(..) => rank == 4 && axis >= 2,
        ShapeSpec::Smallest | ShapeSpec::Fixed(_) => false,
    };
    let mut open = Vec::new();
    for input in inputs().filter(|input| !given(input)) {
        let dims = dims(input);
        for (axis, dim) in dims.iter().enumerate().filter(|(axis, _)| !chosen(*axis, dims.len())) {
            let name = match dim {
                Dim::Fixed(_) => continue,
                Dim::Symbol(name) if name.is_empty() => format!("{}[{axis}]", input.name),
                named if bound.contains(named) => continue,
                Dim::Symbol(name) => name.clone(),
            };
            if !open.contains(&name) {
                open.push(name);
            }
        }
    }
    open
}

/// Returns an input if the file fixes dimensions so that no input takes the requested batch, or height and width. The
/// input is the first one, and comes with the shape that it would have.
fn fixed_otherwise<'a>(graph: &'a Graph, spec: &ShapeSpec) -> Option<(&'a Value, Vec<usize>)> {
    let wanted: &[(usize, usize)] = match *spec {
        ShapeSpec::Batch(batch) => &[(0, batch)],
        ShapeSpec::HeightWidth(height, width) => &[(2, height), (3, width)],
        ShapeSpec::Smallest | ShapeSpec::OpenBatch(_) | ShapeSpec::Fixed(_) => return None,
    };
    let spatial = matches!(spec, ShapeSpec::HeightWidth(..));
    let inputs = graph.inputs.iter().map(|&input| graph.value(input));
    let candidates: Vec<(&Value, &[Dim])> = inputs
        .filter_map(|input| Some((input, input.shape.as_deref()?)))
        .filter(|(_, dims)| !dims.is_empty() && (!spatial || dims.len() == 4))
        .collect();
    let takes = |dims: &[Dim]| {
        wanted.iter().all(|&(axis, number)| dims[axis] == Dim::Fixed(number) || matches!(dims[axis], Dim::Symbol(_)))
    };
    if candidates.iter().any(|(_, dims)| takes(dims)) {
        return None;
    }
    let (input, dims) = candidates.first()?;
    let number = |(axis, dim): (usize, &Dim)| match (wanted.iter().find(|(at, _)| *at == axis), dim) {
        (Some((_, number)), _) => *number,
        (None, Dim::Fixed(number)) => *number,
        (None, Dim::Symbol(_)) => 1,
    };
    Some((*input, dims.iter().enumerate().map(number).collect()))
}

/// Checks a shape against the file's, and adds the sizes of its named dimensions to `symbols`.
fn bind<'a>(input: &'a Value, dims: &[usize], symbols: &mut BTreeMap<&'a str, usize>) -> Result<(), InputError> {
    let Some(expected) = &input.shape else { return Ok(()) };
    let open = Dim::any_open(expected);
    let fits = expected.len() == dims.len()
        && expected.iter().zip(dims).all(|(expected, &found)| match expected {
            Dim::Fixed(number) => *number == found || open,
            Dim::Symbol(_) => true,
        });
    if fits {
        let named = expected.iter().zip(dims).filter_map(|(expected, &found)| match expected {
            Dim::Symbol(name) if !name.is_empty() => Some((name, found)),
            _ => None,
        });
        for (name, found) in named {
            let first = *symbols.entry(name).or_insert(found);
            if first != found {
                let (dimension, input) = (name.clone(), input.name.clone());
                return Err(InputError::TwoSizes { dimension, input, first, second: found });
            }
        }
        Ok(())
    } else {
        Err(InputError::Shape { name: input.name.clone(), expected: join(expected), found: dims.to_vec() })
    }
}

/// Returns the inputs with their shapes: `data [batch, 3, 224, 224], ids [batch, ?]`.
pub(super) fn describe(graph: &Graph) -> String {
    let inputs = graph.inputs.iter().map(|&input| {
        let input = graph.value(input);
        format!("{} [{}]", input.name, input.shape.as_deref().map(join).unwrap_or_else(|| "...".to_owned()))
    });
    inputs.collect::<Vec<_>>().join(", ")
}

pub(super) fn join(dims: &[Dim]) -> String {
    dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ")
}
