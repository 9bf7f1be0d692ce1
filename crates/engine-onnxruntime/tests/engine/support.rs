use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use opscope_engine_onnxruntime::{Library, OnnxRuntimeEngine, OnnxRuntimeOptions};
use opscope_model::testing::skipped;
use opscope_model::{
    Action, Dispatch, Engine, Fidelity, Interest, Iteration, KernelSet, LoadOptions, Model, Plan, RunId, RunObserver,
};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor, TensorView, npy};

/// Returns the engine, or `None` if there is no library; then the test is skipped.
pub fn engine() -> Option<OnnxRuntimeEngine> {
    match Library::find(None) {
        Ok(library) => Some(OnnxRuntimeEngine::new(library, OnnxRuntimeOptions::default()).unwrap()),
        Err(error) => {
            skipped(error.to_string().lines().next().unwrap_or_default());
            None
        }
    }
}

pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

pub fn graph(path: &Path) -> Arc<Graph> {
    Arc::new(Graph::load(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

pub fn load(engine: &dyn Engine, path: &Path, fidelity: Fidelity) -> Arc<dyn Model> {
    engine
        .load(graph(path), &LoadOptions::new(fidelity, NonZeroUsize::MIN))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The arrays beside a model: those of its inputs or of its outputs, in the order of the graph. `None` for strings.
pub fn beside(path: &Path, kind: &str, graph: &Graph) -> Vec<Option<Tensor>> {
    let values = if kind == "input" { &graph.inputs } else { &graph.outputs };
    let start = format!("{}.{kind}.", path.file_stem().unwrap().to_string_lossy());
    let file = |name: &str| {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        // The name in the file's name may be cut.
        let named = |path: &PathBuf| {
            let file = path.file_stem().unwrap().to_string_lossy().into_owned();
            path.extension().is_some_and(|end| end == "npy")
                && file
                    .strip_prefix(&start)
                    .is_some_and(|rest| rest == plain || (rest.len() > 60 && plain.starts_with(rest)))
        };
        std::fs::read_dir(path.parent().unwrap()).unwrap().flatten().map(|entry| entry.path()).find(named)
    };
    // If names cannot be file names, their numbers are used.
    let numbered = |slot: usize| path.with_file_name(format!("{start}{slot}.npy"));
    let path_of = |(slot, &value)| file(&graph.value(value).name).unwrap_or_else(|| numbered(slot));
    values.iter().enumerate().map(|value| npy::read_file(&path_of(value)).ok()).collect()
}

pub fn outputs(plan: &dyn Plan, inputs: &[Tensor], observer: &dyn RunObserver) -> Vec<Option<Tensor>> {
    let resident = plan.upload(inputs).unwrap();
    let outputs = plan.run(RunId(0), &*resident, observer).unwrap();
    (0..outputs.len()).map(|slot| outputs.view(slot).to_tensor().ok()).collect()
}

pub fn close(found: &Tensor, expected: &Tensor) {
    assert_eq!((found.dtype(), found.shape()), (expected.dtype(), expected.shape()));
    if found.dtype() != DType::F32 {
        assert_eq!(found.bytes(), expected.bytes());
        return;
    }
    let numbers =
        |tensor: &Tensor| tensor.bytes().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect::<Vec<_>>();
    let (found, expected) = (numbers(found), numbers(expected));
    let largest = expected.iter().filter(|number| number.is_finite()).fold(0f32, |most, number| most.max(number.abs()));
    for (x, y) in found.iter().zip(&expected) {
        assert!(
            x == y || (x - y).abs() <= 1e-3 * y.abs() + 5e-5 * largest || (x.is_nan() && y.is_nan()),
            "{x} against {y}"
        );
    }
}

/// What a recorder has seen: `before` or `after`, the operator's name, the iterations, and the shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub before: bool,
    pub operator: String,
    pub path: Vec<(String, u32)>,
    pub tensors: Vec<Option<Tensor>>,
}

/// Records everything.
#[derive(Default)]
pub struct Recorder(pub Mutex<Vec<Seen>>);

impl Recorder {
    fn note(&self, before: bool, dispatch: &Dispatch<'_>, tensors: &[TensorView<'_>]) {
        let named = |iteration: &Iteration| (dispatch.graph.operator(iteration.operator).name.clone(), iteration.index);
        self.0.lock().unwrap().push(Seen {
            before,
            operator: dispatch.operator().name.clone(),
            path: dispatch.path.iter().map(named).collect(),
            tensors: tensors.iter().map(|view| view.to_tensor().ok()).collect(),
        });
    }
}

impl RunObserver for Recorder {
    fn interest(&self) -> Interest {
        Interest { before: KernelSet::All, after: KernelSet::All, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.note(true, dispatch, inputs);
        Action::Continue
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.note(false, dispatch, outputs);
        Action::Continue
    }
}

/// The answer of a closure before or after a kernel.
pub type Answer<'a> = Box<dyn Fn(&Dispatch<'_>, &[TensorView<'_>]) -> Action + Sync + 'a>;

/// An observer that answers with closures.
pub struct Answering<'a> {
    pub before: Answer<'a>,
    pub after: Answer<'a>,
    pub interest: Interest,
}

impl Default for Answering<'_> {
    fn default() -> Self {
        Self {
            before: Box::new(|_, _| Action::Continue),
            after: Box::new(|_, _| Action::Continue),
            interest: Interest { before: KernelSet::All, after: KernelSet::All, ..Interest::default() },
        }
    }
}

impl RunObserver for Answering<'_> {
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        (self.before)(dispatch, inputs)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        (self.after)(dispatch, outputs)
    }
}

pub fn inner(name: &str) -> PathBuf {
    models().join("inner_graphs").join(format!("{name}.onnx"))
}

pub fn floats(tensor: &Tensor) -> Vec<f32> {
    assert_eq!(tensor.dtype(), DType::F32);
    tensor.bytes().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

pub fn tensor(shape: &[usize], numbers: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), numbers).unwrap()
}
