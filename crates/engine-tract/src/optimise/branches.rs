//! An `If` whose branches are rewritten and planned only once. tract plans the chosen branch again in every run,
//! without rewriting it.

use std::fmt;
use std::sync::Arc;

use opscope_sys::Mutex;
use tract_onnx::prelude::{TValue, TVec, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, Op, StaticName, TractResult, TypedNode, TypedOp, TypedSimplePlan, TypedSimpleState,
};
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::{as_op, op_as_typed_op};

/// The operator that replaces tract's.
#[derive(Debug, Clone)]
pub(super) struct Branches {
    then: Branch,
    otherwise: Branch,
    outputs: TVec<TypedFact>,
}

#[derive(Clone)]
struct Branch {
    /// Which of the operator's inputs the branch uses.
    inputs: Vec<usize>,
    plan: Arc<TypedSimplePlan>,
    /// A run takes a state and returns it, so that concurrent runs never wait.
    states: Arc<Mutex<Vec<TypedSimpleState>>>,
}

impl Branches {
    /// Rewrites and plans the branches of a node.
    pub(super) fn of(
        node: &TypedNode,
        branches: &IfThenElse,
        rewrite: impl Fn(TypedModel) -> TractResult<TypedModel>,
    ) -> TractResult<Self> {
        let branch = |body: &TypedModel, inputs: &[usize]| -> TractResult<Branch> {
            let plan = TypedSimplePlan::new(rewrite(body.clone())?)?;
            Ok(Branch { inputs: inputs.to_vec(), plan, states: Arc::default() })
        };
        Ok(Self {
            then: branch(&branches.then_body, &branches.then_input_mapping)?,
            otherwise: branch(&branches.else_body, &branches.else_input_mapping)?,
            outputs: node.outputs.iter().map(|output| output.fact.without_value()).collect(),
        })
    }
}

impl Branch {
    fn run(&self, inputs: &[TValue]) -> TractResult<TVec<TValue>> {
        let idle = self.states.lock().pop();
        let mut state = idle.map_or_else(|| self.plan.spawn(), Ok)?;
        let outputs = state.run(self.inputs.iter().map(|&slot| inputs[slot].clone()).collect())?;
        self.states.lock().push(state);
        Ok(outputs)
    }
}

impl fmt::Debug for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Branch({} operators)", self.plan.model().nodes().len())
    }
}

impl PartialEq for Branches {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Branches {}

impl Op for Branches {
    fn name(&self) -> StaticName {
        "IfThenElse".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Branches {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let taken = if inputs[0].cast_to_scalar::<bool>()? { &self.then } else { &self.otherwise };
        taken.run(&inputs)
    }

    fn eval_out_of_plan(&self, _: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        Ok(None)
    }
}

impl TypedOp for Branches {
    fn output_facts(&self, _: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(self.outputs.clone())
    }

    as_op!();
}
