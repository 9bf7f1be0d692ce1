//! Wraps a plan whose values are hidden, so that the outputs of the model can be observed.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Attribution, DeviceTensors, Dispatch, EngineError, Kernel, KernelId, NoLiveValues, NoObserver, Plan, RunId,
    RunMemory, RunObserver,
};
use opscope_onnx::{Graph, OperatorId, Producer, ValueId};
use opscope_tensor::{Tensor, TensorView};

/// A plan whose kernels are the operators that compute outputs of the model. They are observed when the run is over.
pub(super) struct OutputsOnly {
    plan: Arc<dyn Plan>,
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
    /// For each kernel, the outputs of the model that it gives, by slot.
    slots: Vec<Vec<usize>>,
}

impl OutputsOnly {
    pub fn of(plan: Arc<dyn Plan>, graph: &Arc<Graph>) -> Self {
        let mut outputs: BTreeMap<OperatorId, Vec<usize>> = BTreeMap::new();
        for (slot, &output) in graph.outputs.iter().enumerate() {
            if let Producer::Operator(operator, _) = graph.value(output).producer {
                outputs.entry(operator).or_default().push(slot);
            }
        }
        let kernel = |(index, (&operator, slots)): (usize, (&OperatorId, &Vec<usize>))| {
            let value = |&slot: &usize| graph.outputs[slot];
            Kernel {
                id: KernelId::new(index as u32),
                name: graph.operator(operator).name.clone(),
                op: graph.operator(operator).op_type.clone(),
                operators: vec![Attribution { operator, exact: true }],
                inputs: Vec::new(),
                outputs: slots.iter().map(|slot| vec![value(slot)]).collect(),
                holds: vec![None; slots.len()],
                input_types: Vec::new(),
                output_types: Vec::new(),
            }
        };
        let kernels = outputs.iter().enumerate().map(kernel).collect();
        Self { plan, graph: Arc::clone(graph), kernels, slots: outputs.into_values().collect() }
    }

    fn observe(&self, run: RunId, outputs: &dyn DeviceTensors, observer: &dyn RunObserver) -> Result<(), EngineError> {
        let wanted = observer.interest().after;
        for (kernel, slots) in self.kernels.iter().zip(&self.slots) {
            let views: Vec<TensorView<'_>> = slots.iter().map(|&slot| outputs.view(slot)).collect();
            let dispatch = Dispatch { run, kernel, graph: &self.graph, path: &[], inputs: &[], live: &NoLiveValues };
            if wanted.contains(kernel.id)
                && let Action::Stop(reason) = observer.after(&dispatch, &views)
            {
                return Err(EngineError::Stopped(reason));
            }
        }
        Ok(())
    }
}

impl Plan for OutputsOnly {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        self.plan.made()
    }

    fn notes(&self) -> &[String] {
        self.plan.notes()
    }

    fn memory(&self) -> RunMemory {
        self.plan.memory()
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        self.plan.constants(visit)
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        self.plan.upload(inputs)
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let start = Ticks::now();
        let outputs = self.plan.run(run, inputs, &NoObserver).and_then(|outputs| {
            let end = Ticks::now();
            self.observe(run, &*outputs, observer).map(|()| (outputs, end))
        });
        observer.finished(outputs.as_ref().map(|(_, end)| (start, *end)));
        outputs.map(|(outputs, _)| outputs)
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::{FakePlan, GraphBuilder, floats, kernels};
    use opscope_model::{Fidelity, Interest, KernelSet};
    use opscope_sys::Mutex;

    use super::*;

    /// Notes the values that it is shown of the kernels that it wants, and stops the run at one.
    struct Noting {
        wanted: KernelSet,
        stop_at: &'static str,
        seen: Mutex<Vec<(String, Vec<f32>)>>,
    }

    impl RunObserver for Noting {
        fn interest(&self) -> Interest {
            Interest { after: self.wanted.clone(), ..Interest::default() }
        }

        fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
            let values = outputs.iter().flat_map(|output| floats(&output.to_tensor().unwrap())).collect();
            self.seen.lock().push((dispatch.kernel.name.clone(), values));
            match dispatch.kernel.name == self.stop_at {
                true => Action::Stop("it is enough".to_owned()),
                false => Action::Continue,
            }
        }
    }

    #[test]
    fn observers_see_the_outputs_of_the_model_by_their_operators_and_can_stop_the_run() {
        let graph = GraphBuilder::new("two").input("x", &[2]).operator("first", "AddOne", &["x"], &["a"]);
        let graph = Arc::new(graph.operator("last", "Neg", &["a"], &["y"]).output("y").output("a").build());
        let kernels = kernels(&graph, &[&["first"], &["last"]]);
        let plan = FakePlan::new(&graph, kernels, Fidelity::Optimised, |kernel, inputs| {
            let of = |x: f32| if kernel.op == "Neg" { -x } else { x + 1.0 };
            let elements: Vec<f32> = floats(&inputs[0]).into_iter().map(of).collect();
            Ok(vec![Tensor::from_f32(vec![2], &elements).unwrap()])
        });
        let outputs = OutputsOnly::of(Arc::new(plan), &graph);
        let inputs = outputs.upload(&[Tensor::from_f32(vec![2], &[1.0, 5.0]).unwrap()]).unwrap();
        let run = |wanted: KernelSet, stop_at: &'static str| {
            let observer = Noting { wanted, stop_at, seen: Mutex::default() };
            let stopped = match outputs.run(RunId(3), &*inputs, &observer) {
                Ok(_) => None,
                Err(EngineError::Stopped(reason)) => Some(reason),
                Err(error) => panic!("{error}"),
            };
            (observer.seen.into_inner(), stopped)
        };
        let [first, last] =
            [("first", [2.0, 6.0]), ("last", [-2.0, -6.0])].map(|(name, values)| (name.to_owned(), values.to_vec()));
        assert_eq!(run(KernelSet::All, ""), (vec![first.clone(), last.clone()], None));
        let only_last = KernelSet::Mask([false, true].into_iter().collect());
        assert_eq!(run(only_last, ""), (vec![last], None));
        assert_eq!(run(KernelSet::All, "first"), (vec![first], Some("it is enough".to_owned())));
    }
}
