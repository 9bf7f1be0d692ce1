//! From a request of the command line to the façade's job.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use opscope::benchmark::{self, Instrumentation, Job, Repetition, run_name};
use opscope::profile::{Format, ProfilerOptions, Switches};
use opscope::trace::Bytes;
use opscope::verify::VerifyOptions;

use super::dump;
use crate::exit::Failure;
use crate::options::{BenchmarkRequest, InstrumentChoice, OutputFormat, ProfilerSwitches, RecordMemory};

/// `$XDG_CACHE_HOME/opscope`, or `~/.cache/opscope`.
fn cache_directory() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")))?;
    Some(caches.join("opscope"))
}

/// The job, without what an `acl.json` asks for.
pub fn from_request(request: &BenchmarkRequest) -> Result<Job, Failure> {
    let repetition = &request.repetition;
    let mut job = Job {
        inputs: request.inputs.wish(&request.shapes),
        shapes: request.shapes.wishes(),
        repetition: Repetition {
            loops: repetition.loops.get(),
            warmups: repetition.warmups,
            until_stable: repetition.until_stable.map(|percent| percent.0),
            duration: repetition.duration,
            concurrent: repetition.concurrent_runs,
        },
        engine_threads: repetition.engine_threads.unwrap_or(NonZeroUsize::MIN),
        load_budget: request.load_budget,
        batch_size: request.batch_size.map(Into::into),
        verify: VerifyOptions { when: request.verify, kept_in: cache_directory() },
        output_batch_axis: request.output_batch_axis,
        arguments: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        ..Job::new(&request.model)
    };
    let Some(output) = &request.output else {
        if let InstrumentChoice::Dump(dumped) = &request.instrument {
            // Without a place for results only `--dump-estimate` comes here, which needs none.
            let request = Box::new(dump::request(dumped)?);
            watch(&mut job, Instrumentation::Dump { directory: PathBuf::new(), request, form: dump::form(dumped) });
        }
        return Ok(job);
    };
    job.run_name = output.run_name.clone().unwrap_or_else(|| PathBuf::from(run_name()));
    let format = match output.format {
        OutputFormat::Npy => benchmark::OutputFormat::Npy,
        OutputFormat::Bin => benchmark::OutputFormat::Bin,
        OutputFormat::Txt => benchmark::OutputFormat::Txt,
    };
    job.output = Some((output.directory.clone(), format));
    let instrumentation = match &request.instrument {
        InstrumentChoice::None | InstrumentChoice::AclJson { .. } => Instrumentation::None,
        InstrumentChoice::Profiler(profiler) => Instrumentation::Profiler {
            directory: output.directory.join("profiler").join(&job.run_name),
            options: Box::new(profiler_options(Some(&profiler.switches), &profiler.memory)),
            exports: if profiler.raw_only { Vec::new() } else { Format::ALL.to_vec() },
        },
        InstrumentChoice::Dump(dumped) => {
            let directory = output.directory.join("dump").join(&job.run_name);
            Instrumentation::Dump { directory, request: Box::new(dump::request(dumped)?), form: dump::form(dumped) }
        }
    };
    watch(&mut job, instrumentation);
    Ok(job)
}

/// Lets something watch the job's runs.
pub fn watch(job: &mut Job, instrumentation: Instrumentation) {
    if let Instrumentation::Dump { .. } = instrumentation {
        // A warm-up would be dumped, too, and nobody reads its times.
        job.repetition.warmups = 0;
    }
    job.instrumentation = instrumentation;
}

/// The profiler's options; its defaults where the command line says nothing.
pub fn profiler_options(switches: Option<&ProfilerSwitches>, memory: &RecordMemory) -> ProfilerOptions {
    let mut options = ProfilerOptions::default();
    if let Some(switches) = switches {
        options.switches = Switches {
            runs: switches.runs,
            dispatches: switches.dispatches,
            calls: switches.engine_calls,
            machine_memory: switches.hardware_memory,
            processors: switches.cpu,
            machine: switches.system,
            process: switches.process,
        };
    }
    if let Some(size) = memory.size {
        options.buffer_size = Bytes::new(size.0);
        options.watermark = options.watermark.min(options.buffer_size);
    }
    if let Some(watermark) = memory.watermark {
        options.watermark = Bytes::new(watermark.0);
    }
    if let Some(policy) = memory.policy {
        options.when_full = policy;
    }
    options
}
