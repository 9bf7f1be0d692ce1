//! The values of a run of the whole model, which become the inputs of its parts.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope::Session;
use opscope_model::{Action, Dispatch, Fidelity, Interest, KernelSet, LoadOptions, RunId, RunObserver};
use opscope_onnx::proto::{DimensionProto, ValueInfoProto, dimension};
use opscope_onnx::{Dim, Graph, OnnxError, Producer, TensorInfo, ValueId, ValueTypes};
use opscope_sys::Mutex;
use opscope_tensor::{DType, Tensor, TensorView};

/// The values of the main graph, by their names.
pub struct Values {
    graph: Option<Arc<Graph>>,
    inputs: Vec<Tensor>,
    known: HashMap<String, Tensor>,
    /// What the model is run with again for the values that were not kept.
    session: Option<Session>,
    /// Values that another run did not show.
    missing: HashSet<String>,
    types: Option<ValueTypes>,
}

/// The most bytes of values that are kept from one run. Others are computed again when a part needs them.
const MOST_KEPT: usize = 1 << 30;

/// The most elements of a value that is made up.
const MOST_MADE_UP: usize = 1 << 24;

impl Values {
    /// Runs a model once, exactly, and keeps its values. If the run fails, those before are kept. Without a session, or
    /// where nothing was computed, values are made up.
    pub fn capture(graph: Option<Arc<Graph>>, inputs: &[(String, Tensor)], session: Option<Session>) -> Self {
        let known: HashMap<String, Tensor> = inputs.iter().cloned().collect();
        let inputs: Vec<Tensor> = match &graph {
            Some(graph) => {
                graph.inputs.iter().filter_map(|&input| known.get(&graph.value(input).name)).cloned().collect()
            }
            None => Vec::new(),
        };
        let mut values = Self { graph, inputs, known, session, missing: HashSet::new(), types: None };
        values.run(None);
        values
    }

    /// Makes sure that these values are known, as far as the model computes them.
    pub fn need<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let wanted: HashSet<&str> =
            names.filter(|name| !self.known.contains_key(*name) && !self.missing.contains(*name)).collect();
        if wanted.is_empty() {
            return;
        }
        self.run(Some(&wanted));
        let missing = wanted.into_iter().filter(|name| !self.known.contains_key(*name)).map(str::to_owned);
        self.missing.extend(missing);
    }

    /// Returns a value. It is made up if the model does not compute it before it fails, and `None` if not even its type
    /// is known. For a model that is not valid, it is of the declared type.
    pub fn get(&mut self, name: &str, declared: Option<&ValueInfoProto>) -> Option<Tensor> {
        if let Some(known) = self.known.get(name) {
            return Some(known.clone());
        }
        let made_up = match self.graph {
            Some(_) => self.made_up(name)?,
            None => of_type(declared)?,
        };
        self.known.insert(name.to_owned(), made_up.clone());
        Some(made_up)
    }

    /// Returns the element type of a value, if it is known.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        let known = self.known.get(name).map(Tensor::dtype);
        known.or_else(|| self.graph.as_ref()?.value_named(name)?.dtype)
    }

    fn run(&mut self, wanted: Option<&HashSet<&str>>) {
        let (Some(session), Some(graph)) = (&self.session, &self.graph) else { return };
        let Ok(plan) = session.model().plan(&self.inputs) else { return };
        let is_wanted = |id: ValueId| {
            let name = graph.value(id).name.as_str();
            wanted.is_none_or(|wanted| wanted.contains(name)) && !self.known.contains_key(name)
        };
        let kept = Kept { values: Vec::new(), bytes: 0, most: if wanted.is_some() { usize::MAX } else { MOST_KEPT } };
        let kept = Mutex::new(kept);
        // Data that cannot be copied is computed by no part, either.
        let _ = plan.constants(&mut |id, tensor| {
            if id.index() < graph.values.len() && is_wanted(id) {
                kept.lock().keep(id, &tensor);
            }
            Ok(())
        });
        let observer = Capture { graph, kept, is_wanted: &is_wanted };
        if let Ok(resident) = plan.upload(&self.inputs) {
            let _ = plan.run(RunId(0), &*resident, &observer);
        }
        let found = observer.kept.into_inner().values;
        self.known.extend(found.into_iter().map(|(id, tensor)| (graph.value(id).name.clone(), tensor)));
    }

    /// Returns a tensor of the type that follows from those before it.
    fn made_up(&mut self, name: &str) -> Option<Tensor> {
        let graph = Arc::clone(self.graph.as_ref()?);
        let value = graph.value_named(name)?;
        let types = self.types.get_or_insert_with(|| {
            let known = self.known.iter().filter_map(|(name, tensor)| {
                let info = TensorInfo { dtype: Some(tensor.dtype()), shape: tensor.shape().to_vec() };
                Some((graph.value_named(name)?.id, info))
            });
            ValueTypes::infer(&graph, known)
        });
        let inferred = types.get(value.id);
        let declared = || {
            let size = |dim: &Dim| match dim {
                Dim::Fixed(size) => *size,
                Dim::Symbol(_) => 1,
            };
            Some(value.shape.as_ref()?.iter().map(size).collect::<Vec<_>>())
        };
        let shape = inferred.map(|info| info.shape.clone()).or_else(declared)?;
        let dtype = inferred.and_then(|info| info.dtype).or(value.dtype)?;
        made_up(dtype, shape)
    }
}

/// Returns a tensor of the declared type, or some numbers if there is none. Open dimensions are 1.
fn of_type(declared: Option<&ValueInfoProto>) -> Option<Tensor> {
    let declared = declared.and_then(|declared| declared.r#type.as_ref()?.tensor_type.as_ref());
    let dtype = declared.and_then(|declared| DType::from_onnx(declared.elem_type)).unwrap_or(DType::F32);
    let size = |dimension: &DimensionProto| match dimension.value {
        Some(dimension::Value::Number(size)) => usize::try_from(size).unwrap_or(1),
        _ => 1,
    };
    let shape = declared.and_then(|declared| Some(declared.shape.as_ref()?.dim.iter().map(size).collect()));
    made_up(dtype, shape.unwrap_or_else(|| vec![1]))
}

/// Returns random numbers of a type, or zeros for integers: they may be indices.
fn made_up(dtype: DType, shape: Vec<usize>) -> Option<Tensor> {
    let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim))?;
    if elements > MOST_MADE_UP {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(1);
    if dtype == DType::F32 {
        let numbers: Vec<f32> = (0..elements).map(|_| random.f32()).collect();
        return Tensor::from_f32(shape, &numbers).ok();
    }
    Tensor::new(dtype, shape, vec![0; dtype.bytes_of(elements)?]).ok()
}

struct Kept {
    values: Vec<(ValueId, Tensor)>,
    bytes: usize,
    most: usize,
}

impl Kept {
    fn keep(&mut self, id: ValueId, tensor: &TensorView<'_>) {
        let Some(bytes) = tensor.byte_len().filter(|bytes| self.bytes.saturating_add(*bytes) <= self.most) else {
            return;
        };
        if let Ok(tensor) = tensor.to_tensor() {
            self.bytes += bytes;
            self.values.push((id, tensor));
        }
    }
}

struct Capture<'a> {
    graph: &'a Graph,
    kept: Mutex<Kept>,
    is_wanted: &'a (dyn Fn(ValueId) -> bool + Sync),
}

impl RunObserver for Capture<'_> {
    fn interest(&self) -> Interest {
        Interest { after: KernelSet::All, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        if !dispatch.path.is_empty() {
            return Action::Continue;
        }
        let mut kept = self.kept.lock();
        for (values, tensor) in dispatch.kernel.outputs.iter().zip(outputs) {
            for &value in values.iter().filter(|value| value.index() < self.graph.values.len()) {
                if (self.is_wanted)(value) {
                    kept.keep(value, tensor);
                }
            }
        }
        Action::Continue
    }
}

/// Reads the constants of a graph, by their names: initializers, and the values of `Constant` nodes.
///
/// # Errors
/// Returns an error if data of the model cannot be read.
pub fn constant_nodes(graph: &Graph) -> Result<HashMap<String, Tensor>, OnnxError> {
    let mut found = HashMap::new();
    let is_of_node =
        |id: ValueId| id.index() < graph.values.len() && matches!(graph.value(id).producer, Producer::Operator(..));
    graph.constants::<OnnxError>(is_of_node, |id, tensor| {
        found.insert(graph.value(id).name.clone(), tensor);
        Ok(())
    })?;
    Ok(found)
}

/// Returns the types and shapes of a model's outputs, as far as the embedded engine computes them.
pub fn output_types(graph: &Arc<Graph>, inputs: &[Tensor]) -> Vec<(String, (DType, Vec<usize>))> {
    let options = LoadOptions::new(Fidelity::Exact, NonZeroUsize::MIN);
    let ran = Session::with_graph(Arc::clone(graph), &options).map(|session| session.compute(inputs, &[]));
    let Ok(Ok(outputs)) = ran else { return Vec::new() };
    let type_of = |(slot, &id): (usize, &ValueId)| {
        let view = outputs.view(slot);
        (graph.value(id).name.clone(), (view.dtype(), view.shape().to_vec()))
    };
    graph.outputs.iter().enumerate().map(type_of).collect()
}
