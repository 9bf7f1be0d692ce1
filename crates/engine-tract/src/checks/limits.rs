//! Refuses values that would not fit into memory, before they are allocated.
//!
//! A failed allocation ends the process, and tract computes everything that depends on no input while it loads: a file
//! of a hundred bytes can request terabytes. So the rules of every operator compute the shape of its output first.

use std::collections::HashMap;

use opscope_model::GeneratedOutputs;
use opscope_text::shown_size;
use tract_onnx::ops::logic::If;
use tract_onnx::pb::{GraphProto, NodeProto};
use tract_onnx::prelude::{DatumType, InferenceFact, InferenceModel, TVec, TypedModel};
use tract_onnx::tract_core::internal::{OutletId, TractResult};
use tract_onnx::tract_hir::infer::Factoid;
use tract_onnx::tract_hir::ops::scan::InferenceScan;

use super::attributes;
use crate::budget::guard::Refused;
use crate::budget::{self, Budget};
use crate::rewrite::branches;

/// How large values may be, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The limit for a single value.
    of_machine: u64,
    /// The limit for the sum of all values that are computed at load because they depend on no input. It is also the
    /// limit for the sum of all values that a run generates from numbers.
    at_load: u64,
    /// The factor of the load budget.
    factor: u32,
}

/// The sizes of what a node takes and computes, in bytes.
#[derive(Default)]
struct Sizes {
    inputs: u64,
    outputs: u64,
    /// Whether all inputs are known, so that the outputs are computed at load.
    is_known: bool,
}

/// Outputs of known inputs are computed here up to this many bytes, because later operators may use them as sizes.
const LARGEST_COMPUTED: u64 = 1 << 16;

impl Memory {
    /// Returns the limits: the machine's memory for one value, and the load budget for values that are computed at
    /// load.
    pub(crate) fn of(budget: Budget) -> Self {
        Self { of_machine: opscope_sys::memory::limit(), at_load: budget.memory(), factor: budget.factor() }
    }

    /// Checks every value of a model before any of it is computed. Also records the types, shapes and small values that
    /// it finds.
    ///
    /// `graph` is what the model was parsed from.
    pub(crate) fn check_untyped(self, model: &mut InferenceModel, graph: Option<&GraphProto>) -> TractResult<()> {
        let protos = graph.map_or(&[][..], |graph| &graph.node);
        let by_name: HashMap<&str, &NodeProto> = protos.iter().map(|node| (&*node.name, node)).collect();
        let mut computed_at_load = 0u64;
        let mut made = GeneratedOutputs::within(self.at_load, self.factor);
        for node in model.eval_order()? {
            let name = model.node(node).name.clone();
            budget::at(Some(&name))?;
            let proto = by_name.get(&*name).copied();
            self.check_bodies(model, node, proto)?;
            let sizes = self.check_node(model, node, proto)?;
            let at_load = if sizes.is_known { sizes.outputs } else { 0 };
            computed_at_load = computed_at_load.saturating_add(at_load);
            if computed_at_load > self.at_load {
                let reason = format!(
                    "values that depend on no input would take {} of memory up to here, and loading may take {}",
                    shown_size(computed_at_load),
                    shown_size(self.at_load)
                );
                return Err(Refused { node: name, reason }.into());
            }
            if let Some(proto) = proto.filter(|_| !sizes.is_known) {
                made.add(&proto.op_type, sizes.inputs, sizes.outputs)
                    .map_err(|error| Refused { node: name, reason: error.to_string() })?;
            }
        }
        budget::at(None)
    }

    /// Checks every value of a model with known shapes.
    pub(crate) fn check_typed(self, model: &TypedModel) -> TractResult<()> {
        for node in model.nodes() {
            for output in &node.outputs {
                if let Some(shape) = output.fact.shape.as_concrete() {
                    let dims = shape.iter().map(|&dim| dim as i128);
                    self.check_size(&node.name, output.fact.datum_type, &dims.collect::<Vec<_>>())?;
                }
            }
        }
        Ok(())
    }

    /// Checks a node's outputs, records what its rules say, and computes the outputs if all inputs are known. Returns
    /// the bytes that the node takes and computes.
    fn check_node(self, model: &mut InferenceModel, node: usize, proto: Option<&NodeProto>) -> TractResult<Sizes> {
        let observed = model.node(node).op.observe_outlets(model, model.node(node))?;
        let observed: TVec<InferenceFact> =
            observed.iter().map(|outlet| model.outlet_fact(*outlet).cloned()).collect::<TractResult<_>>()?;
        let (inputs, outputs) = model.node_facts(node)?;
        let inputs: TVec<InferenceFact> = inputs.into_iter().cloned().collect();
        let outputs: TVec<InferenceFact> = outputs.into_iter().cloned().collect();

        if let Some(proto) = proto {
            attributes::check(proto, &inputs)?;
        }
        check_numbers(model, node, &inputs)?;
        // A node whose rules reject it is left to tract, which then reports why.
        let op = &mut model.node_mut(node).op;
        let Ok(mut inferred) =
            op.infer_facts(inputs.iter().collect(), outputs.iter().collect(), observed.iter().collect())
        else {
            return Ok(Sizes::default());
        };
        let name = model.node(node).name.clone();
        let mut bytes = 0u64;
        for output in &inferred.1 {
            bytes = bytes.saturating_add(self.check_fact(&name, output)?);
        }
        let taken = inferred
            .0
            .iter()
            .try_fold(0u64, |all, input| Some(all.saturating_add(self.check_fact(&name, input).ok()?)));
        let is_known = !inputs.is_empty() && inferred.0.iter().all(|input| input.value.is_concrete());
        // Only small values can be the sizes of others.
        if is_known && bytes <= LARGEST_COMPUTED {
            let op = &mut model.node_mut(node).op;
            if let Ok(computed) = op.infer(inputs.iter().collect(), outputs.iter().collect(), observed.iter().collect())
            {
                inferred = computed;
            }
        }
        let sources = model.node(node).inputs.clone();
        let targets = (0..outputs.len()).map(|slot| OutletId::new(node, slot));
        for (outlet, fact) in sources.into_iter().zip(&inferred.0).chain(targets.zip(&inferred.1)) {
            if let Ok(unified) = model.outlet_fact(outlet)?.unify(fact) {
                model.set_outlet_fact(outlet, unified)?;
            }
        }
        Ok(Sizes { inputs: taken.unwrap_or(u64::MAX), outputs: bytes, is_known })
    }

    /// Checks the graphs inside a node, with what is known about the values around it.
    fn check_bodies(self, model: &mut InferenceModel, node: usize, proto: Option<&NodeProto>) -> TractResult<()> {
        let outer = model.node(node).inputs.iter().map(|&outlet| {
            let name = model.outlet_label(outlet).unwrap_or(&model.node(outlet.node).name).to_owned();
            Ok((name, model.outlet_fact(outlet)?.clone()))
        });
        let outer = outer.collect::<TractResult<Vec<_>>>()?;
        let taken = branches::decided_at(model, node);
        let graph = |name: &str| proto?.attribute.iter().find(|attribute| attribute.name == name)?.g.as_ref();
        if let Some(branches) = model.node_mut(node).op_as_mut::<If>() {
            let bodies = [(true, "then_branch", &branches.then_body), (false, "else_branch", &branches.else_body)];
            for (is_then, name, body) in bodies {
                if taken.is_some_and(|taken| taken != is_then) {
                    continue;
                }
                let mut known = body.clone();
                for outlet in known.input_outlets()?.to_vec() {
                    let name = &known.node(outlet.node).name;
                    if let Some((_, fact)) = outer.iter().find(|(outer, _)| outer == name) {
                        known.set_outlet_fact(outlet, fact.clone())?;
                    }
                }
                self.check_untyped(&mut known, graph(name))?;
            }
        }
        if let Some(scan) = model.node_mut(node).op_as_mut::<InferenceScan>() {
            self.check_untyped(&mut scan.body.clone(), graph("body"))?;
        }
        Ok(())
    }

    /// Returns the size of an output in bytes; 0 while its shape is unknown.
    fn check_fact(self, node: &str, fact: &InferenceFact) -> TractResult<u64> {
        let dims = fact.shape.dims().map(|dim| dim.concretize()?.to_i64().ok().map(i128::from));
        match dims.collect::<Option<Vec<i128>>>() {
            Some(dims) if !fact.shape.is_open() => {
                self.check_size(node, fact.datum_type.concretize().unwrap_or(DatumType::F32), &dims)
            }
            _ => Ok(0),
        }
    }

    fn check_size(self, node: &str, dtype: DatumType, dims: &[i128]) -> TractResult<u64> {
        let elements = dims.iter().try_fold(1u128, |all, &dim| all.checked_mul(u128::try_from(dim).ok()?));
        let bytes = elements.and_then(|elements| elements.checked_mul(dtype.size_of() as u128));
        match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
            Some(bytes) if bytes <= self.of_machine => Ok(bytes),
            Some(bytes) => {
                let reason = format!(
                    "its output of shape {dims:?} would take {}, and there are {} of memory",
                    shown_size(bytes),
                    shown_size(self.of_machine)
                );
                Err(Refused { node: node.to_owned(), reason }.into())
            }
            None => {
                let reason = format!("its output would have the impossible shape {dims:?}");
                Err(Refused { node: node.to_owned(), reason }.into())
            }
        }
    }
}

/// The operators of tract that use the values of an input as sizes.
const SIZED_BY_INPUT: &[&str] = &["ConstantOfShape", "MultiBroadcastTo", "Pad", "Range", "Reshape", "Resize", "Tile"];

/// Checks the numbers that are sizes. tract reads sizes as 32-bit numbers and drops the rest, so 2^40 would become 0.
fn check_numbers(model: &InferenceModel, node: usize, inputs: &[InferenceFact]) -> TractResult<()> {
    let node = model.node(node);
    if !SIZED_BY_INPUT.contains(&node.op.name().as_ref()) {
        return Ok(());
    }
    // The first input of an operator that broadcasts, pads, reshapes, resizes or repeats is data.
    let data = usize::from(!matches!(node.op.name().as_ref(), "ConstantOfShape" | "Range"));
    // The value that padding fills in is not a size, and may be infinite.
    let sizes = if node.op.name() == "Pad" { 1..2 } else { data..inputs.len() };
    for value in inputs.iter().take(sizes.end).skip(sizes.start).filter_map(|input| input.value.concretize()) {
        let Ok(numbers) = value.cast_to::<f64>() else { continue };
        let Some(numbers) = numbers.as_plain_ram() else { continue };
        let too_large = numbers.as_slice::<f64>()?.iter().find(|number| number.abs() > f64::from(i32::MAX));
        if let Some(number) = too_large {
            let reason = format!("it is to make a size of {number:e}, which is more than the engine counts");
            return Err(Refused { node: node.name.clone(), reason }.into());
        }
    }
    Ok(())
}
