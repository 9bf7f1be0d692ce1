use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Component, Path, PathBuf};

use super::arguments::{BenchmarkArguments, RunMode};
use super::environment::Environment;
use super::profiler::{ProfilerSwitches, RecordMemory};
use super::refusal::Refusal;
use super::request::{
    BenchmarkRequest, DebugServer, InstrumentChoice, Note, NoteKind, Output, Profiler, Repetition, Reporting, Resolved,
};

/// Checks the rules between the options and says what they mean together.
///
/// # Errors
/// The first rule that is broken.
pub fn resolve(arguments: BenchmarkArguments, environment: &Environment) -> Result<Resolved, Refusal> {
    let mut notes = Notes(Vec::new());
    refuse_what_is_not_here(&arguments)?;
    note_what_has_no_effect(&arguments, &mut notes)?;
    let model = model(&arguments)?;
    let instrument = instrument(&arguments, environment, &mut notes)?;
    let output = output(&arguments)?;
    let inputs = arguments.fed.inputs()?;
    let shapes = arguments.fed.shapes()?;
    let request = BenchmarkRequest {
        model,
        inputs,
        shapes,
        batch_size: arguments.batch_size.and_then(NonZeroU64::new),
        output_batch_axis: arguments.output_batchsize_axis.unwrap_or(0),
        repetition: Repetition {
            loops: arguments.loops.unwrap_or(NonZeroU64::MIN),
            warmups: arguments.warmup_count.unwrap_or(1),
            until_stable: arguments.until_stable,
            duration: arguments.duration,
            concurrent_runs: threads("--threads", arguments.threads)?.unwrap_or(NonZeroUsize::MIN),
            engine_threads: threads("--engine-threads", arguments.engine_threads)?,
        },
        load_budget: arguments.load_budget.unwrap_or_default(),
        verify: arguments.verify.unwrap_or_default(),
        output,
        instrument,
        debug_server: debug_server(&arguments)?,
        reporting: Reporting {
            rows: arguments.rows.unwrap_or(10),
            json: is(arguments.json),
            quiet: is(arguments.quiet),
            debug: is(arguments.debug),
        },
    };
    Ok(Resolved { request, notes: notes.0 })
}

struct Notes(Vec<Note>);

impl Notes {
    fn note(&mut self, option: impl Into<String>, text: &'static str) {
        self.0.push(Note { kind: NoteKind::Note, option: option.into(), text });
    }

    fn warning(&mut self, option: impl Into<String>, text: &'static str) {
        self.0.push(Note { kind: NoteKind::Warning, option: option.into(), text });
    }
}

fn is(flag: Option<bool>) -> bool {
    flag.unwrap_or(false)
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
    if let Some(mode) = arguments.run_mode.filter(|mode| *mode != RunMode::Array) {
        let option = format!("--run-mode {}", format!("{mode:?}").to_lowercase());
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
        notes.note("--display-all-summary", "the copies in and out are always shown");
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

fn instrument(
    arguments: &BenchmarkArguments,
    environment: &Environment,
    notes: &mut Notes,
) -> Result<InstrumentChoice, Refusal> {
    let (profiler, dump) = (is(arguments.profiler), is(arguments.dump));
    if let Some(path) = &arguments.acl_json_path {
        let check_only = is(arguments.check);
        for option in [profiler.then_some("--profiler"), dump.then_some("--dump")].into_iter().flatten() {
            notes.warning(option, "ignored, because --acl-json-path outranks it");
        }
        if !arguments.profiler_option.is_empty() {
            notes.warning("--profiler-option", "ignored, because the file of --acl-json-path says what is recorded");
        }
        note_dump_npy(arguments, notes);
        return Ok(InstrumentChoice::AclJson { path: path.clone(), check_only, memory: record_memory(arguments)? });
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
    if !profiler {
        let useless = [
            ("--profiler-option", !arguments.profiler_option.is_empty()),
            ("--profiler-size", arguments.profiler_size.is_some()),
            ("--profiler-watermark", arguments.profiler_watermark.is_some()),
            ("--profiler-policy", arguments.profiler_policy.is_some()),
        ];
        if let Some((option, _)) = useless.into_iter().find(|(_, given)| *given) {
            return Err(Refusal::Needs { option, needed: "--profiler" });
        }
    }
    let without_output = arguments.output.is_none();
    if profiler {
        if without_output {
            return Err(Refusal::Needs { option: "--profiler", needed: "--output, the directory for the recording" });
        }
        return profile(arguments, environment, notes).map(InstrumentChoice::Profiler);
    }
    if dump {
        if without_output && !is(arguments.dumped.dump_estimate) {
            return Err(Refusal::Needs { option: "--dump", needed: "--output, the directory for the dump" });
        }
        note_dump_npy(arguments, notes);
        arguments.dumped.check()?;
        return Ok(InstrumentChoice::Dump(Box::new(arguments.dumped.clone())));
    }
    Ok(InstrumentChoice::None)
}

fn debug_server(arguments: &BenchmarkArguments) -> Result<Option<DebugServer>, Refusal> {
    let Some(path) = &arguments.debug_server else { return Ok(None) };
    let without_runs = [("--check", arguments.check), ("--dump-estimate", arguments.dumped.dump_estimate)];
    if let Some((second, _)) = without_runs.into_iter().find(|(_, given)| is(*given)) {
        let reason = "nothing runs then to which a debugger could attach";
        return Err(Refusal::Excludes { first: "--debug-server", second, reason });
    }
    Ok(Some(DebugServer { path: path.clone() }))
}

fn note_dump_npy(arguments: &BenchmarkArguments, notes: &mut Notes) {
    if is(arguments.dump_npy) {
        notes.note("--dump-npy", "a dump is npy files here anyway");
    }
}

fn profile(arguments: &BenchmarkArguments, environment: &Environment, notes: &mut Notes) -> Result<Profiler, Refusal> {
    let switches = ProfilerSwitches::with_options(&arguments.profiler_option, &mut notes.0)?;
    let memory = record_memory(arguments)?;
    // The original runs the model without warm-up here, to keep those runs out of its recording.
    if arguments.fed.input.is_some() && arguments.warmup_count != Some(0) {
        notes.note(
            "--profiler with --input",
            "the model is warmed up as always; warm-up runs are marked in the recording, and its account leaves them out",
        );
    }
    let raw_only = environment.raw_recording_only();
    if let Some(variable) = raw_only {
        let text =
            "only the raw recording will be written; `opscope export DIR` makes the timeline and the tables of it";
        notes.note(variable, text);
    }
    Ok(Profiler { switches, memory, raw_only: raw_only.is_some() })
}

fn record_memory(arguments: &BenchmarkArguments) -> Result<RecordMemory, Refusal> {
    let (size, watermark) = (arguments.profiler_size, arguments.profiler_watermark);
    if let Some((size, watermark)) = size.zip(watermark).filter(|(size, watermark)| watermark > size) {
        let what = format!("{} bytes are more than the {} bytes of --profiler-size", watermark.0, size.0);
        return Err(Refusal::Value { option: "--profiler-watermark", what, right: "write a smaller size" });
    }
    Ok(RecordMemory { size, watermark, policy: arguments.profiler_policy })
}

fn output(arguments: &BenchmarkArguments) -> Result<Option<Output>, Refusal> {
    let Some(directory) = arguments.output.clone() else {
        return match &arguments.output_dirname {
            Some(_) => {
                Err(Refusal::Needs { option: "--output-dirname", needed: "--output, the directory that it is in" })
            }
            None => Ok(None),
        };
    };
    if let Some(name) = &arguments.output_dirname {
        run_name(name)?;
    }
    Ok(Some(Output {
        directory,
        run_name: arguments.output_dirname.clone(),
        format: arguments.outfmt.unwrap_or_default(),
    }))
}

fn run_name(name: &Path) -> Result<(), Refusal> {
    let inside = |component: Component<'_>| matches!(component, Component::Normal(_));
    if name.as_os_str().is_empty() || !name.components().all(inside) {
        let what = format!("'{}' would not lie in the directory of --output", name.display());
        let right = "write a name such as run1, without '..' and without a '/' at its beginning";
        return Err(Refusal::Value { option: "--output-dirname", what, right });
    }
    Ok(())
}

/// A system that is asked for very many threads grinds to a halt before it refuses one.
/// A number of threads that a machine can be asked for.
pub fn threads(option: &'static str, threads: Option<NonZeroUsize>) -> Result<Option<NonZeroUsize>, Refusal> {
    const MOST: usize = 256;
    match threads.filter(|threads| threads.get() > MOST) {
        Some(many) => Err(Refusal::Value { option, what: format!("{many} are too many"), right: "write 1 to 256" }),
        None => Ok(threads),
    }
}
