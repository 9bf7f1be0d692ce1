//! Proves by values what optimised plans say about their kernels. It runs the exact plan and the optimised one on the
//! same two random inputs, and finds for every kernel the values of the file that it computes.
//!
//!     prove_attribution MODEL.onnx [INPUT.npy ...] [, MODEL.onnx ...]
//!
//! With `--kernels` first, it prints every kernel with the operators that it stands for (`~` if inferred) and the
//! values that it was found to compute (`*` if in the file's order). It prints a line for each model, and one for each
//! claim that the values contradict; then the exit code is 1. Integers of 8 bits, the numbers that they are dequantised
//! to, and Sigmoids may differ by a step (`ValueSteps`). Without files, inputs are generated, with 1 for every open
//! dimension.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use opscope::Session;
use opscope::model::{Fidelity, Kernel};
use opscope::onnx::{Graph, OperatorId, Producer, ValueId};
use opscope::tensor::{Tensor, npy};
use opscope_job::inputs::{Data, ShapeSpec, concrete_shapes, generate};
use opscope_job::verify::{FoundOutput, ValueSteps, Verify, VerifyOptions, find_values, verify, with_random_numbers};

type Problem = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let shows_kernels = arguments.first().is_some_and(|argument| argument == "--kernels");
    arguments.drain(..usize::from(shows_kernels));
    let mut faults = 0;
    for model in arguments.split(|argument| argument == ",").filter(|model| !model.is_empty()) {
        match prove(&model[0], &model[1..], shows_kernels) {
            Ok(found) => faults += found,
            Err(error) => println!("{}: not proved: {error}", model[0]),
        }
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Proves what the engine's rules say, and what the plan says after its values were compared. Returns the number of
/// wrong claims.
fn prove(model: &str, files: &[String], shows_kernels: bool) -> Result<usize, Problem> {
    let optimised = Session::load(Path::new(model), Fidelity::Optimised, NonZeroUsize::MIN)?;
    let exact = Session::load(Path::new(model), Fidelity::Exact, NonZeroUsize::MIN)?;
    let given = inputs(optimised.graph(), files)?;
    let by_rules = prove_plan(&format!("{model} by rules"), &optimised, &exact, &given, shows_kernels)?;
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let Some((_, Some(verified))) = verify(&optimised, &given, 1, &options) else { return Ok(by_rules) };
    Ok(by_rules + prove_plan(&format!("{model} verified"), &verified, &exact, &given, shows_kernels)?)
}

fn prove_plan(
    name: &str,
    optimised: &Session,
    exact: &Session,
    given: &[Tensor],
    shows_kernels: bool,
) -> Result<usize, Problem> {
    let graph = optimised.graph();
    let runs = [with_random_numbers(given, 1), with_random_numbers(given, 2)];
    let (kernels, outputs) = find_values(optimised, exact, &runs, &ValueSteps::of(graph)?)?;
    if shows_kernels {
        kernels.iter().for_each(|kernel| println!("{}", described(graph, kernel, &outputs)));
    }
    let mut faults = BTreeSet::new();
    let (mut claims, mut unclaimed, mut matched, mut telling) = (0, 0, 0, 0);
    for output in &outputs {
        let kernel = &kernels[output.kernel.index()];
        telling += usize::from(output.distinctive);
        matched += usize::from(!output.values.is_empty());
        let named = &kernel.outputs[output.slot];
        claims += named.len();
        unclaimed += usize::from(named.is_empty() && output.values.iter().any(|found| found.same_order));
        if output.distinctive {
            faults.extend(wrong_values(graph, kernel, output));
            faults.extend(wrong_operators(graph, &kernels, kernel, output));
        }
    }
    let exact = kernels.iter().flat_map(|kernel| &kernel.operators).filter(|at| at.exact).count();
    let inferred = kernels.iter().map(|kernel| kernel.operators.len()).sum::<usize>() - exact;
    println!(
        "{name}: {} kernels, {matched} of {telling} outputs are values of the file, {claims} claimed, {unclaimed} \
         more could be; {exact} attributions exact, {inferred} inferred; {} faults",
        kernels.len(),
        faults.len()
    );
    faults.iter().for_each(|fault| println!("  FAULT {fault}"));
    Ok(faults.len())
}

fn described(graph: &Graph, kernel: &Kernel, outputs: &[FoundOutput]) -> String {
    let operator = |at: &opscope::model::Attribution| {
        format!("{}{}", if at.exact { "" } else { "~" }, graph.operator(at.operator).name)
    };
    let operators: Vec<String> = kernel.operators.iter().map(operator).collect();
    let found = outputs.iter().filter(|output| output.kernel == kernel.id).flat_map(|output| &output.values);
    let value = |found: &opscope_job::verify::FoundValue| {
        format!("{}{}", if found.same_order { "*" } else { "" }, graph.value(found.value).name)
    };
    let found: Vec<String> = found.map(value).collect();
    let named: Vec<&str> = kernel.outputs.iter().flatten().map(|&value| &*graph.value(value).name).collect();
    let shapes: Vec<_> = kernel.output_types.iter().map(|found| &found.shape).collect();
    format!("  {} ({}) {shapes:?}: {operators:?} gives {found:?}, named {named:?}", kernel.name, kernel.op)
}

fn inputs(graph: &Graph, files: &[String]) -> Result<Vec<Tensor>, Problem> {
    if files.is_empty() {
        return Ok(generate(graph, &concrete_shapes(graph, &ShapeSpec::Smallest)?, Data::Random(1))?);
    }
    files.iter().map(|file| Ok(npy::read_file(Path::new(file))?)).collect()
}

/// Returns the values that a kernel claims to compute and does not.
fn wrong_values(graph: &Graph, kernel: &Kernel, output: &FoundOutput) -> Vec<String> {
    let is_found = |value: &ValueId| output.values.iter().any(|found| found.value == *value && found.same_order);
    let wrong = kernel.outputs[output.slot].iter().filter(|value| !is_found(value));
    wrong
        .map(|value| {
            let found: Vec<_> = output.values.iter().map(|found| &graph.value(found.value).name).collect();
            format!("{} ({}) is said to give {}, it gives {found:?}", kernel.name, kernel.op, graph.value(*value).name)
        })
        .collect()
}

/// Returns the value that this one is a reshaped copy of.
fn source(graph: &Graph, value: ValueId) -> Option<ValueId> {
    let Producer::Operator(operator, _) = graph.value(value).producer else { return Some(value) };
    let operator = graph.operator(operator);
    match operator.op_type.as_str() {
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => source(graph, operator.inputs[0]?),
        _ => Some(value),
    }
}

/// Returns a message if an output comes from an operator that its kernel does not stand for, although the kernel's
/// operators are exact.
fn wrong_operators(graph: &Graph, kernels: &[Kernel], kernel: &Kernel, output: &FoundOutput) -> Option<String> {
    let maker = |value: ValueId| match graph.value(value).producer {
        Producer::Operator(operator, _) => Some(operator),
        Producer::Input | Producer::Initializer => None,
    };
    let mut makers: BTreeSet<OperatorId> = output.values.iter().filter_map(|found| maker(found.value)).collect();
    // A part of an operator's output belongs to the operator, too: a recurrence computes its directions one by one, and
    // the file splits them.
    let mut rest: Vec<OperatorId> = makers.iter().copied().collect();
    while let Some(operator) = rest.pop().map(|id| graph.operator(id)) {
        let from: &[_] = match operator.op_type.as_str() {
            "Concat" => &operator.inputs,
            "Gather" | "Slice" | "Split" => &operator.inputs[..1],
            _ => &[],
        };
        rest.extend(from.iter().flatten().filter_map(|&value| maker(value)).filter(|&whole| makers.insert(whole)));
    }
    let says_exactly = kernel.operators.iter().all(|at| at.exact);
    let stands_for_one = kernel.operators.iter().any(|at| makers.contains(&at.operator));
    // A kernel that only reorders elements has the values of the kernel before it.
    let given_before = kernels[..kernel.id.index()]
        .iter()
        .any(|before| before.operators.iter().any(|at| makers.contains(&at.operator)));
    // An operator on quantised numbers begins by dequantising its inputs. The file may also do that in a separate
    // operator.
    let takes = |operator: OperatorId| source(graph, graph.operator(operator).inputs[0]?);
    let dequantises_its_own = kernel.operators.iter().map(|at| at.operator).any(|said| {
        graph.operator(said).op_type.starts_with("QLinear")
            && makers
                .iter()
                .all(|&maker| graph.operator(maker).op_type == "DequantizeLinear" && takes(maker) == takes(said))
    });
    if makers.is_empty() || !says_exactly || stands_for_one || given_before || dequantises_its_own {
        return None;
    }
    let names = |ids: &mut dyn Iterator<Item = OperatorId>| {
        ids.map(|id| graph.operator(id).name.clone()).collect::<Vec<_>>().join(", ")
    };
    let said = names(&mut kernel.operators.iter().map(|at| at.operator));
    Some(format!(
        "{} ({}) is said to be {said}; it gives what {} gives",
        kernel.name,
        kernel.op,
        names(&mut makers.into_iter())
    ))
}
