use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use opscope::engine::EngineSpec;
use opscope::profile::Format;
use opscope_job::benchmark::{CaptureSpec, Job, OutputFormat, OutputNames, OutputSpec, Repetition, TakenName};
use opscope_job::inputs::{InputSpec, ShapeSpec};
use opscope_job::verify::{Verify, VerifyOptions};

use super::arguments::BenchmarkArguments;
use super::environment::Environment;
use super::refusal::{Notes, Refusal};
use super::request::{Action, BenchmarkRequest, DebugServerSpec, Reporting, Resolved, TextForm};
use super::values::threads;

/// Checks the rules between the options, and returns their combined meaning.
///
/// # Errors
/// Returns an error for the first broken rule.
pub fn resolve(arguments: BenchmarkArguments, environment: &Environment) -> Result<Resolved, Refusal> {
    let mut notes = Notes::default();
    refuse_what_is_not_here(&arguments)?;
    if arguments.batch_size == Some(0) {
        let (what, right) = ("a run of 0 samples measures nothing".to_owned(), "write 1 or more, or leave it out");
        return Err(Refusal::Value { option: "--batch-size", what, right });
    }
    note_what_has_no_effect(&arguments, &mut notes)?;
    let model = model(&arguments)?;
    let [engine, reference] = engines(&arguments, environment)?;
    let mut job = Job {
        repetition: repetition(&arguments)?,
        engine,
        engine_threads: threads("--engine-threads", arguments.engine_threads)?.unwrap_or(NonZeroUsize::MIN),
        inputs: inputs(&arguments)?,
        shapes: shapes(&arguments)?,
        load_budget: arguments.load_budget.unwrap_or_default(),
        batch_size: arguments.batch_size.filter(|_| arguments.is_of_other_tools()),
        output: output(&arguments)?,
        taken: taken(&arguments),
        survives_crash: is(arguments.isolate),
        profile_beside: text_form(&arguments) != TextForm::OtherTools && !is(arguments.json),
        output_batch_axis: arguments.output_batchsize_axis.unwrap_or(0),
        verify: VerifyOptions {
            when: arguments.verify.unwrap_or_default(),
            cache_directory: environment.cache_directory(),
            reference: arguments.reference_engine.map(|_| reference),
            ..VerifyOptions::default()
        },
        ..Job::new(model)
    };
    if let Some(name) = &arguments.output_dirname {
        job.run_name = name.clone();
    }
    let action = action(&arguments, environment, &mut job, &mut notes)?;
    let request = BenchmarkRequest {
        job,
        action,
        batch: arguments.batch_size,
        tools: tools(&arguments)?,
        debug_server: debug_server(&arguments)?,
        reporting: Reporting {
            text: text_form(&arguments),
            rows: arguments.rows.unwrap_or(10),
            json: is(arguments.json),
            quiet: is(arguments.quiet),
            debug: is(arguments.debug),
        },
    };
    Ok(Resolved { request, notes: notes.0 })
}

/// Returns the engine that runs the model, and the one whose outputs are the reference: the same one, unless another is
/// named.
fn engines(arguments: &BenchmarkArguments, environment: &Environment) -> Result<[EngineSpec; 2], Refusal> {
    if arguments.reference_engine.is_some() && arguments.verify == Some(Verify::Off) {
        let reason = "without a comparison there is no reference";
        return Err(Refusal::Excludes { first: "--reference-engine", second: "--verify off", reason });
    }
    let name = arguments.engine.name(environment)?;
    arguments.engine.specs([name, arguments.reference_engine.unwrap_or(name)])
}

fn is(flag: Option<bool>) -> bool {
    flag.unwrap_or(false)
}

/// Returns the shapes of inputs. `--batch-size` sets the batch that the model leaves open, unless an option for shapes
/// does. In other tools' command lines it only scales the throughput.
fn shapes(arguments: &BenchmarkArguments) -> Result<Vec<ShapeSpec>, Refusal> {
    let shapes = arguments.fed.shapes()?;
    let batch = arguments.batch_size.filter(|_| !arguments.is_of_other_tools() && shapes == [ShapeSpec::Smallest]);
    Ok(match batch.and_then(|batch| usize::try_from(batch).ok()) {
        Some(batch) if !arguments.fed.shape_of_each_file() => vec![ShapeSpec::OpenBatch(batch)],
        _ => shapes,
    })
}

/// How long runs are measured if the command line does not say how many.
const MEASURED: Duration = Duration::from_secs(2);

/// How long the model is warmed up in that case.
const WARMED_UP: Duration = Duration::from_millis(200);

fn repetition(arguments: &BenchmarkArguments) -> Result<Repetition, Refusal> {
    let said = Repetition {
        loops: arguments.loops.map_or(1, NonZeroU64::get),
        warmups: arguments.warmup_count.unwrap_or(1),
        warm_up: Duration::ZERO,
        until_stable: arguments.until_stable,
        duration: arguments.duration,
        concurrent: threads("--threads", arguments.threads)?.unwrap_or(NonZeroUsize::MIN),
    };
    let says_how_often = arguments.loops.is_some() || arguments.duration.is_some() || arguments.until_stable.is_some();
    Ok(if says_how_often || arguments.is_of_other_tools() || looks_into_runs(arguments) {
        said
    } else {
        let warm_up = if arguments.warmup_count.is_some() { Duration::ZERO } else { WARMED_UP };
        Repetition { warm_up, duration: Some(MEASURED), ..said }
    })
}

/// Returns whether the runs are meant to be inspected, not timed: then one is enough.
fn looks_into_runs(arguments: &BenchmarkArguments) -> bool {
    is(arguments.dump)
        || arguments.acl_json_path.is_some()
        || arguments.debug_server.is_some()
        || !arguments.tool.is_empty()
}

fn text_form(arguments: &BenchmarkArguments) -> TextForm {
    match (arguments.is_of_other_tools(), is(arguments.details)) {
        (true, _) => TextForm::OtherTools,
        (false, true) => TextForm::Details,
        (false, false) => TextForm::Screen,
    }
}

fn refuse_what_is_not_here(arguments: &BenchmarkArguments) -> Result<(), Refusal> {
    let refuse = |option: String, reason| Err(Refusal::NotHere { option, reason });
    if let Some(backend) = &arguments.backend {
        let reason = "it would start another program; opscope measures with its own engine, so leave the option out";
        return refuse(format!("--backend {backend}"), reason);
    }
    if is(arguments.perf) {
        return refuse("--perf".into(), "it belongs to --backend, which would start another program; leave it out");
    }
    if arguments.aipp_config.is_some() {
        let reason = "it sets up image preprocessing on another vendor's device; \
                      preprocess the inputs and pass them with --input";
        return refuse("--aipp-config".into(), reason);
    }
    Ok(())
}

fn note_what_has_no_effect(arguments: &BenchmarkArguments, notes: &mut Notes) -> Result<(), Refusal> {
    if let Some(devices) = &arguments.device {
        device(devices)?;
        notes.note(format!("--device {devices}"), "there is one device here, the CPU");
    }
    if let Some(mode) = arguments.run_mode.as_ref().filter(|mode| !mode.eq_ignore_ascii_case("array")) {
        let option = format!("--run-mode {}", mode.to_ascii_lowercase());
        notes.note(option, "host and device share one memory here, so all modes run the same way");
    }
    if let Some(sizes) = &arguments.output_size {
        if !sizes.split(',').all(|size| size.trim().parse::<u64>().is_ok()) {
            let what = format!("'{sizes}' is not a list of sizes");
            return Err(Refusal::Value { option: "--output-size", what, right: "write bytes, such as 4096,1024" });
        }
        notes.note("--output-size", "the engine knows the sizes of outputs");
    }
    if arguments.display_all_summary.is_some() {
        notes.note("--display-all-summary", "the copies in and out are always shown among all numbers, with --details");
    }
    if is(arguments.divide_input) {
        notes.note("--divide-input", "there is one device here, which gets all inputs");
    }
    if arguments.profiler_rename.is_some() {
        notes.note("--profiler-rename", "there are no files of msprof to rename");
    }
    if is(arguments.energy_consumption) {
        notes.warning("--energy-consumption", "the energy is not measured, because there is no NPU to ask for it");
    }
    if arguments.npu_id.is_some() {
        notes.note("--npu-id", "there is no NPU here, the model runs on the CPU");
    }
    if is(arguments.pipeline) {
        notes.note("--pipeline", "runs at a time are set by --threads alone");
    }
    Ok(())
}

fn device(devices: &str) -> Result<(), Refusal> {
    let known = |device: &str| device.trim().parse::<u8>().is_ok();
    if !devices.split(',').all(known) {
        let what = format!("'{devices}' is not a device");
        return Err(Refusal::Value {
            option: "--device",
            what,
            right: "write a number from 0 to 255, or leave it out",
        });
    }
    if devices.contains(',') {
        let reason = "there is one device here, the CPU; for several runs at a time use --threads";
        return Err(Refusal::NotHere { option: format!("--device {devices}"), reason });
    }
    Ok(())
}

fn model(arguments: &BenchmarkArguments) -> Result<PathBuf, Refusal> {
    let model = match (&arguments.model_file, &arguments.model) {
        (None, None) => return Err(Refusal::NoModel),
        (Some(positional), Some(option)) => {
            return Err(Refusal::TwoModels { positional: positional.clone(), option: option.clone() });
        }
        (Some(model), None) | (None, Some(model)) => model.clone(),
    };
    if model.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("om")) {
        return Err(Refusal::OmFile(model));
    }
    Ok(model)
}

/// Decides what to do with the job, and sets the capture of its runs.
fn action(
    arguments: &BenchmarkArguments,
    environment: &Environment,
    job: &mut Job,
    notes: &mut Notes,
) -> Result<Action, Refusal> {
    let (profiler, dump) = (is(arguments.profiler), is(arguments.dump));
    if let Some(path) = &arguments.acl_json_path {
        return acl_json(arguments, path, notes);
    }
    if is(arguments.check) {
        return Err(Refusal::Needs { option: "--check", needed: "--acl-json-path, the file to check" });
    }
    if profiler && dump {
        return Err(Refusal::ProfilerAndDump);
    }
    if is(arguments.dump_npy) && !dump {
        return Err(Refusal::Needs { option: "--dump-npy", needed: "--dump or --acl-json-path" });
    }
    if let Some(option) = arguments.dumped.first_given().filter(|_| !dump) {
        return Err(Refusal::Needs { option, needed: "--dump" });
    }
    if let Some(option) = arguments.profiled.first_given().filter(|_| !profiler) {
        return Err(Refusal::Needs { option, needed: "--profiler" });
    }
    let estimate = is(arguments.dumped.dump_estimate);
    let directory = |name: &str| arguments.output.as_ref().map(|output| output.join(name).join(&job.run_name));
    if profiler {
        let needed = "--output, the directory for the recording";
        let directory = directory("profiler").ok_or(Refusal::Needs { option: "--profiler", needed })?;
        job.set_capture(profile(arguments, environment, directory, notes)?);
    } else if dump {
        let needed = "--output, the directory for the dump";
        let directory = directory("dump").or_else(|| estimate.then(PathBuf::new));
        let directory = directory.ok_or(Refusal::Needs { option: "--dump", needed })?;
        note_dump_npy(arguments, notes);
        job.set_capture(arguments.dumped.capture(directory)?);
    }
    Ok(if estimate { Action::EstimateDump } else { Action::Run })
}

fn acl_json(arguments: &BenchmarkArguments, path: &Path, notes: &mut Notes) -> Result<Action, Refusal> {
    let ignored = [("--profiler", is(arguments.profiler)), ("--dump", is(arguments.dump))];
    for (option, _) in ignored.into_iter().filter(|(_, given)| *given) {
        notes.warning(option, "ignored, because --acl-json-path outranks it");
    }
    if !arguments.profiled.profiler_option.is_empty() {
        notes.warning("--profiler-option", "ignored, because the file of --acl-json-path says what is recorded");
    }
    note_dump_npy(arguments, notes);
    let profiler = Box::new(arguments.profiled.memory()?);
    Ok(Action::AclJson { path: path.to_owned(), check_only: is(arguments.check), profiler })
}

fn debug_server(arguments: &BenchmarkArguments) -> Result<Option<DebugServerSpec>, Refusal> {
    let Some(path) = &arguments.debug_server else { return Ok(None) };
    if let Some(second) = without_runs(arguments) {
        let reason = "nothing runs then to which a debugger could attach";
        return Err(Refusal::Excludes { first: "--debug-server", second, reason });
    }
    Ok(Some(DebugServerSpec { path: path.clone() }))
}

fn tools(arguments: &BenchmarkArguments) -> Result<Vec<PathBuf>, Refusal> {
    if let Some(second) = without_runs(arguments).filter(|_| !arguments.tool.is_empty()) {
        let reason = "nothing runs then that a tool could trace";
        return Err(Refusal::Excludes { first: "--tool", second, reason });
    }
    Ok(arguments.tool.clone())
}

/// Returns the first option that makes the command not run the model, if there is one.
fn without_runs(arguments: &BenchmarkArguments) -> Option<&'static str> {
    let options = [("--check", arguments.check), ("--dump-estimate", arguments.dumped.dump_estimate)];
    options.into_iter().find(|(_, given)| is(*given)).map(|(option, _)| option)
}

fn note_dump_npy(arguments: &BenchmarkArguments, notes: &mut Notes) {
    if is(arguments.dump_npy) {
        notes.note("--dump-npy", "a dump is npy files here anyway");
    }
}

fn profile(
    arguments: &BenchmarkArguments,
    environment: &Environment,
    directory: PathBuf,
    notes: &mut Notes,
) -> Result<CaptureSpec, Refusal> {
    let options = Box::new(arguments.profiled.options(notes)?);
    // The original tool runs the model without warm-up here, to keep those runs out of its recording.
    if !arguments.fed.input.is_empty() && arguments.warmup_count != Some(0) {
        notes.note(
            "--profiler with --input",
            "the model is warmed up as always; warm-up runs are marked in the recording, and its account leaves them out",
        );
    }
    let mut exports = Format::ALL.to_vec();
    if let Some(variable) = environment.raw_recording_only() {
        let text =
            "only the raw recording will be written; `opscope export DIR` makes the timeline and the tables of it";
        notes.note(variable, text);
        exports.clear();
    }
    let timeline_runs = arguments.profiled.timeline_runs.unwrap_or_default();
    Ok(CaptureSpec::Profile { directory, options, exports, timeline_runs })
}

fn output(arguments: &BenchmarkArguments) -> Result<Option<OutputSpec>, Refusal> {
    let Some(directory) = arguments.output.clone() else {
        let needs = |option| Err(Refusal::Needs { option, needed: "--output, the directory that it is in" });
        return match &arguments.output_dirname {
            Some(_) => needs("--output-dirname"),
            None if is(arguments.overwrite) => needs("--overwrite"),
            None => Ok(None),
        };
    };
    if let Some(name) = &arguments.output_dirname {
        check_run_name(name)?;
    } else if is(arguments.overwrite) {
        return Err(Refusal::Needs {
            option: "--overwrite",
            needed: "--output-dirname, the name of the run to replace",
        });
    }
    // The other tools' scripts expect their names and their format, whose default is BIN.
    let (format, names) = match arguments.is_of_other_tools() {
        true => (arguments.outfmt.unwrap_or(OutputFormat::Bin), OutputNames::OfInputFiles),
        false => (arguments.outfmt.unwrap_or(OutputFormat::Npy), OutputNames::OfOutputs),
    };
    Ok(Some(OutputSpec { directory, format, names }))
}

/// Returns the inputs. In the other tools' command lines, files follow the order of the inputs, and the last list
/// counts.
fn inputs(arguments: &BenchmarkArguments) -> Result<InputSpec, Refusal> {
    let mut inputs = arguments.fed.inputs()?;
    if let InputSpec::Files { paths, .. } = &mut inputs
        && arguments.is_of_other_tools()
    {
        paths.in_order = true;
        paths.lists.drain(..paths.lists.len() - 1);
    }
    Ok(inputs)
}

/// Returns what happens if the run's name is taken. A name of date and time would be free a second later, so it gets a
/// number.
fn taken(arguments: &BenchmarkArguments) -> TakenName {
    match &arguments.output_dirname {
        _ if is(arguments.overwrite) => TakenName::Replace,
        Some(_) if !arguments.is_of_other_tools() => TakenName::Refuse,
        _ => TakenName::Number,
    }
}

fn check_run_name(name: &Path) -> Result<(), Refusal> {
    let inside = |component: Component<'_>| matches!(component, Component::Normal(_));
    if name.as_os_str().is_empty() || !name.components().all(inside) {
        let what = format!("'{}' would not lie in the directory of --output", name.display());
        let right = "write a name such as run1, without '..' and without a '/' at its beginning";
        return Err(Refusal::Value { option: "--output-dirname", what, right });
    }
    Ok(())
}
