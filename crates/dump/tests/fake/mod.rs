//! An engine of a few lines: a chain of operators, each of which adds one.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Attribution, DeviceTensors, Dispatch, EngineError, Fidelity, Instrument, Kernel, KernelId, KernelInput,
    Model, NoLiveValues, Plan, RunId, RunInfo, RunMemory, RunObserver, TensorType,
};
use opscope_onnx::{Graph, Operator, OperatorId, Producer, Source, Value, ValueId};
use opscope_tensor::{DType, Tensor, TensorView};

/// A chain `x -> first -> second -> ...`, whose operators have these names; behind each is the value `<index>`. The last
/// operator is one that was computed at load.
pub struct Chain {
    pub graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
    shape: Vec<usize>,
    /// The kernel that fails.
    pub fails_at: Option<usize>,
}

impl Chain {
    pub fn new(names: &[&str], shape: &[usize]) -> Self {
        let ids = 0..names.len() as u32;
        let operator = |index: u32| Operator {
            id: OperatorId::new(index),
            name: names[index as usize].into(),
            op_type: if index + 1 == names.len() as u32 { "Constant".into() } else { "AddOne".into() },
            domain: String::new(),
            inputs: if index + 1 == names.len() as u32 { vec![] } else { vec![Some(ValueId::new(index))] },
            outputs: vec![Some(ValueId::new(index + 1))],
            captures: vec![],
            attributes: BTreeMap::new(),
            position: index as usize,
        };
        let value = |index: u32| Value {
            id: ValueId::new(index),
            name: if index == 0 { "x".into() } else { format!("value {index}") },
            producer: match index {
                0 => Producer::Input,
                _ => Producer::Operator(OperatorId::new(index - 1), 0),
            },
            consumers: vec![],
            dtype: Some(DType::F32),
            shape: None,
        };
        let graph = Graph {
            source: Source {
                path: PathBuf::from("chain.onnx"),
                bytes: Default::default(),
                xxh3: names.len() as u64,
                producer: String::new(),
            },
            name: "chain".into(),
            operators: ids.clone().map(operator).collect(),
            values: (0..=names.len() as u32).map(value).collect(),
            inputs: vec![ValueId::new(0)],
            outputs: vec![ValueId::new(names.len() as u32 - 1)],
            opsets: BTreeMap::new(),
        };
        let tensor = TensorType { dtype: Some(DType::F32), shape: shape.to_vec() };
        let kernel = |index: u32| Kernel {
            id: KernelId::new(index),
            name: format!("kernel {index}"),
            op: "add".into(),
            operators: vec![Attribution { operator: OperatorId::new(index), exact: true }],
            inputs: vec![KernelInput { value: Some(ValueId::new(index)), constant: false }],
            outputs: vec![vec![ValueId::new(index + 1)]],
            input_types: vec![tensor.clone()],
            holds: vec![None],
            output_types: vec![tensor.clone()],
        };
        let kernels = (0..names.len() as u32 - 1).map(kernel).collect();
        Self { graph: Arc::new(graph), kernels, shape: shape.to_vec(), fails_at: None }
    }

    /// Runs under an instrument, from an input of zeros.
    pub fn run_with(&self, instrument: &dyn Instrument, run: u64) -> Result<(), EngineError> {
        let (graph, kernels) = (&self.graph, &self.kernels);
        let info = RunInfo { id: RunId(run), graph, kernels, fidelity: Fidelity::Exact };
        let observer = instrument.observe(&info);
        let inputs = self.upload(&[]).expect("the chain makes its own input");
        let outcome = self.run(RunId(run), &*inputs, &*observer);
        outcome.map(drop)
    }
}

impl Model for Chain {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn fidelity(&self) -> Fidelity {
        Fidelity::Exact
    }

    fn plan(&self, _inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        Err(EngineError::Load { node: None, reason: "the chain is its own plan".to_owned() })
    }
}

impl Plan for Chain {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        (Ticks::default(), Ticks::default())
    }

    fn notes(&self) -> &[String] {
        &[]
    }

    fn memory(&self) -> RunMemory {
        RunMemory::default()
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> std::io::Result<()>) -> std::io::Result<()> {
        let constant = Tensor::from_f32(vec![2], &[0.5, f32::NAN]).unwrap();
        visit(ValueId::new(self.graph.operators.len() as u32), constant.view())
    }

    fn upload(&self, _inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let elements = self.shape.iter().product();
        Ok(Box::new(One(Tensor::from_f32(self.shape.clone(), &vec![0.0; elements]).unwrap())))
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let start = Ticks::now();
        let outcome = self.execute(run, inputs, observer);
        observer.finished(match &outcome {
            Ok(_) => Ok((start, Ticks::now())),
            Err(error) => Err(error),
        });
        outcome
    }
}

impl Chain {
    fn execute(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let interest = observer.interest();
        let mut values: Vec<f32> = vec![0.0; inputs.view(0).elements()];
        for kernel in self.kernels.iter() {
            let dispatch = Dispatch { run, kernel, graph: &self.graph, inputs: &[], live: &NoLiveValues };
            let tensor = Tensor::from_f32(self.shape.clone(), &values).unwrap();
            if interest.before.contains(kernel.id) {
                stop(observer.before(&dispatch, &[tensor.view()]))?;
            }
            if self.fails_at == Some(kernel.id.index()) {
                let node = Some(self.graph.operator(kernel.operator()).name.clone());
                return Err(EngineError::Run { node, reason: "it was made to fail".into() });
            }
            values.iter_mut().for_each(|value| *value += 1.0);
            let tensor = Tensor::from_f32(self.shape.clone(), &values).unwrap();
            if interest.after.contains(kernel.id) {
                stop(observer.after(&dispatch, &[tensor.view()]))?;
            }
        }
        Ok(Box::new(One(Tensor::from_f32(self.shape.clone(), &values).unwrap())))
    }
}

fn stop(action: Action) -> Result<(), EngineError> {
    match action {
        Action::Stop(reason) => Err(EngineError::Stopped(reason)),
        _ => Ok(()),
    }
}

struct One(Tensor);

impl DeviceTensors for One {
    fn len(&self) -> usize {
        1
    }

    fn view(&self, _index: usize) -> TensorView<'_> {
        self.0.view()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
