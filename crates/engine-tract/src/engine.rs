use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Capabilities, Engine, EngineError, Fidelity, LoadBudget, LoadOptions, Model, Plan, PlanForm, check_inputs,
    resized_inputs,
};
use opscope_onnx::Graph;
use opscope_sys::Mutex;
use opscope_tensor::{DType, Tensor};
use tract_linalg::{Func, MmmDispatch, cache};
use tract_onnx::{Onnx, pb};

use crate::budget::Budget;
use crate::budget::guard;
use crate::checks::support;
use crate::operators;
use crate::optimise::Form;
use crate::plan::TractPlan;
use crate::plan::preparation::{Baked, Source, prepare};
use crate::rewrite::rewritten;

/// The engine tract.
#[derive(Debug, Clone, Copy, Default)]
pub struct TractEngine;

/// The version of tract that this crate is built with, which the workspace pins.
const VERSION: &str = "0.23.9";

impl Engine for TractEngine {
    fn name(&self) -> &str {
        "tract"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn capabilities(&self, _fidelity: Fidelity) -> Capabilities {
        Capabilities { stop: true, intermediates: true, times: true, names: true, memory: true, skip: true }
    }

    fn forms(&self) -> Vec<PlanForm> {
        Form::ALL.iter().map(|form| form.name()).collect()
    }

    fn prepare(&self) {
        // The data that lives as long as the process: the tables of operators, of this crate and of tract, and what tract
        // finds out about the processor.
        for fidelity in [Fidelity::Optimised, Fidelity::Exact] {
            operators::framework(fidelity);
        }
        MmmDispatch::native();
        // Any function works here, because all are in the same table.
        let _ = Func::Exp.ew_f32();
        cache::cache_info();
        cache::last_level_cache();
        #[cfg(target_arch = "x86_64")]
        tract_linalg::x86_64::fma_width::avx512_fma_units();
        let _ = guard::catch(|| ());
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        let form = options.form.as_ref().map_or(Ok(Form::Full), Form::named)?;
        let framework =
            operators::framework(options.fidelity).with_ignore_value_info(true).with_ignore_output_shapes(true);
        let framework = Arc::new(framework);
        let proto = {
            let (graph, framework) = (Arc::clone(&graph), Arc::clone(&framework));
            let budget = Budget::of(&graph, &[], options.budget);
            budget.check_operators(graph.operators.len())?;
            budget.spend(&Arc::clone(&graph), move || {
                let proto = guard::load(&graph, || rewritten(&graph, &framework))?;
                support::check(&graph, &framework, &proto)?;
                Ok(proto)
            })?
        };
        Ok(Arc::new(TractModel::new(graph, framework, proto, options, form)))
    }
}

/// A graph that tract has read. Plans are made once shapes are known.
pub(crate) struct TractModel {
    source: Source,
    fidelity: Fidelity,
    threads: NonZeroUsize,
    budget: LoadBudget,
    plans: Mutex<Plans>,
}

/// The plans and refusals so far.
#[derive(Default)]
struct Plans {
    /// The plans, the oldest first. Only a few are kept, because a plan holds packed weights.
    made: VecDeque<(PlanKey, Arc<TractPlan>)>,
    /// The shapes for which the values of inputs must be known in advance, each with the engine's error when they were
    /// not.
    refused: HashMap<Vec<Vec<usize>>, EngineError>,
}

/// How many plans are kept.
const MOST_PLANS: usize = 16;

/// What a plan was made for: the shapes, and the values of inputs that must be known in advance.
#[derive(PartialEq, Eq)]
struct PlanKey {
    shapes: Vec<Vec<usize>>,
    baked: Vec<(usize, Vec<u8>)>,
}

/// An input of integers or booleans with at most this many elements may be a shape, axes, indices or a condition that
/// tract must know in advance.
const LARGEST_BAKED_INPUT: usize = 64;

impl TractModel {
    pub(crate) fn new(
        graph: Arc<Graph>,
        framework: Arc<Onnx>,
        proto: pb::ModelProto,
        options: &LoadOptions,
        form: Form,
    ) -> Self {
        let LoadOptions { fidelity, threads, budget, .. } = *options;
        let form = (fidelity == Fidelity::Optimised).then_some(form);
        let source = Source { graph, framework, proto: Arc::new(proto), form, known: Arc::new(options.known.clone()) };
        Self { source, fidelity, threads, budget, plans: Mutex::default() }
    }

    /// Returns the inputs whose values may have to be known in advance: small ones of integers or booleans.
    fn bakeable(&self, inputs: &[Tensor]) -> Baked {
        let is_small = |tensor: &Tensor| {
            matches!(tensor.dtype(), DType::I64 | DType::I32 | DType::Bool) && tensor.elements() <= LARGEST_BAKED_INPUT
        };
        inputs.iter().cloned().enumerate().filter(|(_, tensor)| is_small(tensor)).collect()
    }

    fn make(&self, inputs: &[Tensor], baked: &Baked) -> Result<Arc<TractPlan>, EngineError> {
        let baked_slots = baked.iter().map(|(slot, tensor)| (*slot, tensor.bytes().to_vec())).collect();
        let shapes = inputs.iter().map(|input| input.shape().to_vec()).collect();
        let key = PlanKey { shapes, baked: baked_slots };
        let mut plans = self.plans.lock();
        if let Some((_, plan)) = plans.made.iter().find(|(made, _)| *made == key) {
            return Ok(Arc::clone(plan));
        }
        if let Some(error) = plans.refused.get(&key.shapes).filter(|_| baked.is_empty()) {
            return Err(error.clone());
        }
        let start = Ticks::now();
        let graph = &self.source.graph;
        let budget = Budget::of(graph, inputs, self.budget);
        let made = {
            let (source, fidelity, threads) = (self.source.clone(), self.fidelity, self.threads);
            let (inputs, baked) = (inputs.to_vec(), baked.clone());
            budget.spend(graph, move || {
                let mut prepared = prepare(&source, &inputs, &baked, budget)?;
                prepared.notes.extend(resized_inputs(&source.graph, &inputs).map(|(_, note)| note));
                TractPlan::new(source.graph, fidelity, threads, prepared, &inputs, &baked, start)
            })
        };
        match made {
            Ok(plan) => {
                let plan = Arc::new(plan);
                if plans.made.len() == MOST_PLANS {
                    plans.made.pop_front();
                }
                plans.made.push_back((key, Arc::clone(&plan)));
                Ok(plan)
            }
            Err(error) => {
                if baked.is_empty() && plans.refused.len() < MOST_PLANS {
                    plans.refused.insert(key.shapes, error.clone());
                }
                Err(error)
            }
        }
    }
}

impl Model for TractModel {
    fn graph(&self) -> &Arc<Graph> {
        &self.source.graph
    }

    fn fidelity(&self) -> Fidelity {
        self.fidelity
    }

    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        check_inputs(&self.source.graph, inputs)?;
        let first = match self.make(inputs, &Vec::new()) {
            Ok(plan) => return Ok(plan),
            Err(error @ EngineError::OverBudget { .. }) => return Err(error),
            Err(error) => error,
        };
        let first = match resized_inputs(&self.source.graph, inputs).next() {
            Some((refusal, _)) => refusal,
            None => first,
        };
        let baked = self.bakeable(inputs);
        if baked.is_empty() {
            return Err(first);
        }
        // The first error is about the graph as it is in the file. The second one would mention a constant that the
        // file does not have.
        self.make(inputs, &baked).map(|plan| plan as Arc<dyn Plan>).map_err(|_| first)
    }
}
