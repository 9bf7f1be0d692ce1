//! Tensors: two dumps, a model and a dump, or two models.

use std::path::Path;
use std::sync::Arc;

use opscope::SessionError;
use opscope::dump::{
    CompareOptions, Comparison, Mapping, ModuleMap, Noise, StoredDump, StoredOrigin, Tolerances, Verdict,
    differing_initializers,
};
use opscope::engine::{EngineName, EngineSpec};
use opscope::model::{EngineError, Fidelity};
use opscope::onnx::Graph;
use opscope::tensor::{DType, Tolerance};
use opscope::text::counted;
use opscope_job::compare::times::By;
use opscope_job::compare::{CompareError, Reference, RunSpec, compare_runs, program_inputs};
use opscope_job::inputs::{Data, InputError, InputFiles, Inputs, ShapeSpec, concrete_shapes, generate};

use opscope_job::reduce::Fails;

use super::{CompareArguments, Sides, is_same, ranks, write_new};
use crate::consumers;
use crate::engines::with_hint;
use crate::exit::{Exit, Failure};
use crate::inspect::signature;
use crate::isolate::Invocation;
use crate::options::{Environment, given_files, shape_set};
use crate::reduce::offer;
use crate::terminal::{Messages, print, print_json, table_width};

/// Compares the tensors.
pub(super) fn run(arguments: &CompareArguments, sides: Sides<'_>, invocation: &Invocation) -> Result<Exit, Failure> {
    refuse_thresholds(arguments, sides)?;
    let isolation = invocation.isolate(arguments.isolate, sides.compared)?;
    isolation.note("comparing", false);
    let messages = Messages { quiet: arguments.quiet, debug: false };
    if let Some(pairs) = ranks::pairs(sides, &arguments.shards)? {
        if arguments.json || arguments.csv.is_some() {
            return Err(Failure::wrong_use(
                "--json and --csv are for one comparison; give the dumps of one rank, or --shards",
            ));
        }
        return ranks::run(&pairs, |pair| {
            let sides = Sides { compared: &pair.compared, baseline: &pair.baseline, ..sides };
            finish(arguments, compare(arguments, sides, messages)?, messages)
        });
    }
    let exit = finish(arguments, compare(arguments, sides, messages)?, messages)?;
    if exit == Exit::Different
        && !arguments.json
        && let Some(offer) = smaller_model(arguments, sides)?
    {
        messages.note(offer);
    }
    Ok(exit)
}

/// Returns the command that finds the smallest model, if one model was run in two ways that differ.
fn smaller_model(arguments: &CompareArguments, sides: Sides<'_>) -> Result<Option<String>, Failure> {
    if !is_model(sides.compared) || !is_same(sides.compared, sides.baseline) {
        return Ok(None);
    }
    let [ours, theirs] = engines(arguments)?.map(|engine| engine.name);
    let fails = match (arguments.fidelity, arguments.reference_fidelity) {
        (Fidelity::Exact, Fidelity::Exact) if ours != theirs => Fails::EnginesDiffer,
        (Fidelity::Optimised, Fidelity::Exact) | (Fidelity::Exact, Fidelity::Optimised) if ours == theirs => {
            Fails::PlanDiffers
        }
        _ => return Ok(None),
    };
    let engine = match fails {
        Fails::EnginesDiffer => EngineName::OnnxRuntime,
        _ => ours,
    };
    let mut options = input_words(arguments);
    options.extend(
        arguments.engine.words(engine).into_iter().filter(|word| ours == theirs || !word.starts_with("--engine=")),
    );
    Ok(Some(offer(sides.compared, &options, &fails)))
}

/// Prints a comparison, and returns what it means.
fn finish(arguments: &CompareArguments, comparison: Comparison, messages: Messages) -> Result<Exit, Failure> {
    let warn_of_problems = || comparison.problems.iter().for_each(|problem| messages.warning(problem));
    if comparison.rows.is_empty() {
        warn_of_problems();
        return Err(nothing_in_common(&comparison));
    }
    if let Some(path) = &arguments.csv {
        write_new(path, &comparison.csv())?;
    }
    if arguments.json {
        print_json(comparison.json())?;
        warn_of_problems();
    } else {
        print(comparison.text_within(arguments.order, arguments.rows, table_width()).trim_end())?;
    }
    Ok(match comparison.verdict() {
        Verdict::Same => Exit::Done,
        Verdict::Unknown => Exit::Incomplete,
        Verdict::Different => Exit::Different,
    })
}

/// Refuses a limit for times where tensors are compared.
fn refuse_thresholds(arguments: &CompareArguments, sides: Sides<'_>) -> Result<(), Failure> {
    if arguments.by != By::Operator {
        return Err(Failure::wrong_use(format!(
            "--by {} is for times, and {} is neither a recording nor a summary",
            arguments.by.name(),
            sides.compared.display()
        )));
    }
    match arguments.fail_above.first() {
        Some(threshold) => Err(Failure::wrong_use(format!(
            "--fail-above {threshold} is for times, and {} is neither a recording nor a summary",
            sides.compared.display()
        ))),
        None => Ok(()),
    }
}

fn compare(arguments: &CompareArguments, sides: Sides<'_>, messages: Messages) -> Result<Comparison, Failure> {
    let sides = model_first(sides)?;
    let graph = arguments.model.as_deref().map(Graph::load).transpose().map_err(Failure::wrong_use)?.map(Arc::new);
    let mapping = arguments.mapping.as_deref().map(Mapping::read).transpose().map_err(Failure::wrong_use)?;
    let options = CompareOptions {
        tolerances: tolerances(arguments.tolerances.iter().filter(|text| !text.starts_with(NOISE)))?,
        noise: noise(&arguments.tolerances)?,
        first_samples: arguments.first_samples,
        mapping: mapping.unwrap_or_default(),
        modules: modules(arguments),
        match_by: arguments.match_by,
        graph,
        initializers: initializers(sides, messages)?,
        least_sqnr: arguments.least_sqnr,
        ..CompareOptions::default()
    };
    let open = |path: &Path| ranks::open(path, &arguments.shards);
    refuse_engines_of_dumps(arguments, sides)?;
    let reference_is_model = is_model(sides.baseline);
    match is_model(sides.compared) {
        false => {
            let (tensors, reference) = (open(sides.compared)?, open(sides.baseline)?);
            refuse_unused_maps(&options.modules, &tensors)?;
            Ok(Comparison::of(&tensors, &reference, &options))
        }
        true => {
            consumers::attach(messages);
            let budget = arguments.load_budget.unwrap_or_default();
            let [engine, reference_engine] = engines(arguments)?;
            let run = RunSpec {
                model: sides.compared.to_owned(),
                graph: None,
                engine,
                fidelity: arguments.fidelity,
                threads: arguments.engine_threads,
                budget,
            };
            let reference = if reference_is_model {
                Reference::Run(RunSpec {
                    model: sides.baseline.to_owned(),
                    graph: None,
                    engine: reference_engine,
                    fidelity: arguments.reference_fidelity,
                    threads: arguments.reference_threads,
                    budget,
                })
            } else {
                Reference::Dump(Arc::new(open(sides.baseline)?))
            };
            let (inputs, graph) = match &reference {
                Reference::Dump(dump) if dump.is_program() && arguments.input.is_empty() => {
                    let graph = Graph::load(sides.compared).map_err(Failure::wrong_use)?;
                    let tensors = program_inputs(&graph, dump).map_err(Failure::wrong_use)?;
                    (Inputs::Same(tensors), graph)
                }
                _ => inputs(arguments, sides, messages)?,
            };
            compare_runs(&run, &reference, &inputs, &graph, options).map_err(|error| failure(error, arguments, sides))
        }
    }
}

fn modules(arguments: &CompareArguments) -> ModuleMap {
    let mut modules = ModuleMap::default();
    arguments.map.iter().for_each(|rule| modules.push(rule.clone()));
    modules
}

/// Refuses a map that matches no module of what is compared.
fn refuse_unused_maps(modules: &ModuleMap, tensors: &StoredDump) -> Result<(), Failure> {
    match modules.unused(tensors).first() {
        Some(rule) => Err(Failure::wrong_use(format!(
            "--map '{rule}' matches no module of {}; a pattern is for the whole path of a module, or its beginning up to a dot",
            tensors.path.display()
        ))),
        None => Ok(()),
    }
}

fn failure(error: CompareError, arguments: &CompareArguments, sides: Sides<'_>) -> Failure {
    let words = input_words(arguments);
    match &error {
        CompareError::Engine {
            source: EngineError::InputCount { .. } | EngineError::InputShape { .. } | EngineError::InputType { .. },
            ..
        } if let Some(differing) = differing_inputs(sides) => Failure::wrong_use(differing),
        CompareError::Session { source: SessionError::Library(error), .. } => Failure::engine(error),
        CompareError::Session { run, source: SessionError::Engine(refused) } => {
            with_hint(Failure::wrong_use(&error), Some(refused), &run.engine, &run.model, &words)
        }
        CompareError::Session { .. }
        | CompareError::Engine { source: EngineError::Capability(_) | EngineError::Index { .. }, .. }
        | CompareError::Input(_)
        | CompareError::OneSet { .. } => Failure::wrong_use(error),
        CompareError::Engine { run, source } => {
            with_hint(Failure::failed(&error), Some(source), &run.engine, &run.model, &words)
        }
        _ => Failure::failed(error),
    }
}

/// Puts the model first if a dump of a program and a model are compared: the model was exported from the program and
/// may be wrong, so the dump is the reference.
fn model_first(sides: Sides<'_>) -> Result<Sides<'_>, Failure> {
    if is_model(sides.compared) || !is_model(sides.baseline) {
        return Ok(sides);
    }
    let of_ranks = !StoredDump::ranks(sides.compared).is_empty();
    if of_ranks || StoredDump::open(sides.compared).map_err(Failure::wrong_use)?.is_program() {
        return Ok(Sides { compared: sides.baseline, baseline: sides.compared, ..sides });
    }
    Err(Failure::wrong_use(
        "the first is a dump and the second a model; give the model first: what is compared, then the reference",
    ))
}

/// Describes how the inputs of two models differ; `None` if they agree.
fn differing_inputs(sides: Sides<'_>) -> Option<String> {
    let [ours, theirs] = [sides.compared, sides.baseline].map(|path| {
        let graph = Graph::load(path).ok().filter(|_| is_model(path))?;
        Some(signature(&graph))
    });
    let ((ours, theirs), (compared, baseline)) =
        (ours.zip(theirs)?, (sides.compared.display(), sides.baseline.display()));
    (ours != theirs).then(|| {
        format!(
            "the inputs of the two models differ: {compared} takes {ours}, and {baseline} takes {theirs}; compare models that \
             take the same, or set open dimensions with --dym-shape"
        )
    })
}

/// Returns the initializers in which two models differ. A note names them before anything runs.
fn initializers(sides: Sides<'_>, messages: Messages) -> Result<Vec<String>, Failure> {
    const NAMED: usize = 5;
    let (ours, theirs) = (sides.compared, sides.baseline);
    if !is_model(ours) || !is_model(theirs) || ours == theirs {
        return Ok(Vec::new());
    }
    let load = |path: &Path| Graph::load(path).map_err(Failure::wrong_use);
    let names = differing_initializers(&load(ours)?, &load(theirs)?).map_err(Failure::wrong_use)?;
    if !names.is_empty() {
        let named: Vec<String> = names.iter().take(NAMED).map(|name| format!("{name:?}")).collect();
        let more = if names.len() > NAMED { ", ..." } else { "" };
        let count = if names.len() == 1 {
            "1 initializer differs".into()
        } else {
            format!("{} initializers differ", names.len())
        };
        messages.note(format!("{count}: {}{more}", named.join(", ")));
    }
    Ok(names)
}

fn nothing_in_common(comparison: &Comparison) -> Failure {
    let side = |name: &str, places: &[StoredOrigin]| match places.first() {
        Some(first) => format!("{name} has {}, the first is '{}'", counted(places.len(), "tensor"), first.label()),
        None => format!("{name} has none"),
    };
    let tensors = side(&comparison.tensors, &comparison.only_in_tensors);
    let reference = side(&comparison.reference, &comparison.only_in_reference);
    Failure::wrong_use(format!(
        "there is no tensor that both sides have: {tensors}; {reference}; --match position or --mapping says which belong \
         together"
    ))
}

fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "onnx")
}

/// Refuses the choice of an engine for a side that is not run.
fn refuse_engines_of_dumps(arguments: &CompareArguments, sides: Sides<'_>) -> Result<(), Failure> {
    let sides = [
        ("--reference-engine", sides.baseline, arguments.reference_engine.is_some()),
        ("--engine", sides.compared, arguments.engine.engine.is_some()),
    ];
    match sides.into_iter().find(|(_, path, given)| *given && !is_model(path)) {
        Some((option, path, _)) => {
            Err(Failure::wrong_use(format!("{option} is for a model, and {} is a dump", path.display())))
        }
        None => Ok(()),
    }
}

/// Returns the engines of the two models. Options of ONNX Runtime apply to each model that it runs.
fn engines(arguments: &CompareArguments) -> Result<[EngineSpec; 2], Failure> {
    let environment: Environment = std::env::vars_os().collect();
    let first = arguments.engine.name(&environment).map_err(Failure::wrong_use)?;
    let second = arguments.reference_engine.unwrap_or(first);
    let specs = arguments.engine.specs([first, second]).map_err(Failure::wrong_use)?;
    Ok(specs)
}

/// Returns the options that would give another command these inputs.
fn input_words(arguments: &CompareArguments) -> Vec<String> {
    let mut words = match &arguments.input[..] {
        [] => vec!["--pure-data-type=random".to_owned(), format!("--seed={}", arguments.seed)],
        lists => lists.iter().map(|list| format!("--input={}", list.display())).collect(),
    };
    words.extend(arguments.dym_shape.as_ref().map(|shapes| format!("--dym-shape={shapes}")));
    words
}

/// Returns the inputs of both runs, and the model that they were found for. Files may also have the types of the second
/// model, because each model receives the inputs in its own types.
fn inputs(arguments: &CompareArguments, sides: Sides<'_>, messages: Messages) -> Result<(Inputs, Graph), Failure> {
    let shapes = match &arguments.dym_shape {
        None => ShapeSpec::Smallest,
        Some(text) => ShapeSpec::Fixed(shape_set("--dym-shape", text).map_err(Failure::wrong_use)?),
    };
    let given = given_files(&arguments.input).map_err(Failure::wrong_use)?;
    let find = |graph: Graph| -> Result<(Inputs, Graph), InputError> {
        let inputs = if arguments.input.is_empty() {
            Inputs::Same(generate(&graph, &concrete_shapes(&graph, &shapes)?, Data::Random(arguments.seed))?)
        } else {
            Inputs::Files(InputFiles::find(&graph, &given, &shapes, true)?)
        };
        messages.fed(&inputs, &graph);
        Ok((inputs, graph))
    };
    let load = |path: &Path| Graph::load(path).map_err(Failure::wrong_use);
    let found = match find(load(sides.compared)?) {
        Err(InputError::Type { .. }) if is_model(sides.baseline) => find(load(sides.baseline)?),
        found => found,
    };
    found.map_err(Failure::wrong_use)
}

/// The prefix of a tolerance that names a dump.
const NOISE: &str = "noise:";

/// Reads `noise:DUMP` or `noise:DUMP,FACTOR`.
fn noise(given: &[String]) -> Result<Option<Noise>, Failure> {
    let Some(text) = given.iter().find_map(|text| text.strip_prefix(NOISE)) else { return Ok(None) };
    let factor = text.rsplit_once(',').and_then(|(path, factor)| Some((path, factor.parse::<f64>().ok()?)));
    let (path, factor) = factor.unwrap_or((text, Noise::FACTOR));
    let wider = StoredDump::open(Path::new(path)).map_err(Failure::wrong_use)?;
    match factor.is_finite() && factor > 0.0 && wider.is_program() {
        true => Ok(Some(Noise { wider: Arc::new(wider), factor })),
        false => Err(Failure::wrong_use(format!(
            "--tolerance '{NOISE}{text}' is wrong; give the dump of a PyTorch program that ran in a wider type, and a factor above 0"
        ))),
    }
}

/// Reads `REL`, `REL,OF_MAX`, `TYPE=REL`, `TYPE=REL,OF_MAX`.
fn tolerances<'t>(given: impl Iterator<Item = &'t String>) -> Result<Tolerances, Failure> {
    let mut tolerances = Tolerances::default();
    for text in given {
        let wrong =
            || Failure::wrong_use(format!("--tolerance '{text}' is wrong; write 0.001, or float16=0.01, or 1e-3,1e-4"));
        let (dtype, numbers) = match text.split_once('=') {
            Some((dtype, numbers)) => (Some(dtype.parse::<DType>().map_err(|()| wrong())?), numbers),
            None => (None, text.as_str()),
        };
        let number = |text: &str| {
            text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(wrong)
        };
        let (relative, of_max) = match numbers.split_once(',') {
            Some((relative, of_max)) => (number(relative)?, number(of_max)?),
            None => (number(numbers)?, number(numbers)? / 20.0),
        };
        let tolerance = Tolerance { absolute: 0.0, relative, of_max };
        match dtype {
            Some(dtype) => tolerances.of.push((dtype, tolerance)),
            None => tolerances.all = Some(tolerance),
        }
    }
    Ok(tolerances)
}
