//! Recordings and dumps of a model. They are made in additional runs on the program's inputs.

use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use opscope_dump::{Contents, Delivery, DirectorySink, Dumper, InputEntry, Request};
use opscope_model::{EngineError, Fidelity, Plan, RunId};
use opscope_profile::{
    Call, Format, LoadMeter, ProfileError, Profiler, ProfilerOptions, Recording, RunKind, TimelineRuns,
};
use opscope_sys::Mutex;
use opscope_tensor::Tensor;

use super::{Failure, Observed, beside};
use crate::model::Model;

/// How many runs a recording has.
const RUNS: u64 = 100;

/// How many runs without times are before and after them, to see what taking times costs.
const UNTIMED: u64 = 5;

/// The longest time that the program waits for a recording. After it, the run in progress is the last one.
const LONGEST: Duration = Duration::from_secs(10);

/// The most recordings or dumps of one name.
const MOST: u32 = 100_000;

impl Observed {
    /// Records runs. Returns the path of the recording.
    pub(super) fn profile(&self, place: &Place<'_>, inputs: &[Tensor]) -> Result<PathBuf, Failure> {
        let model = self.load(Fidelity::Optimised)?;
        let plan = model.plan(inputs)?;
        let options = ProfilerOptions { survives_crash: true, ..ProfilerOptions::default() };
        let info = model.recording_info();
        let create = |path: &Path| Profiler::create(path, &info, &options);
        let (path, profiler) = place.create(self.stem(), create)?;
        profiler.called(Call::Load, model.loading().0, model.loading().1);
        profiler.called(Call::Plan, plan.made().0, plan.made().1);
        profiler.note(match place {
            Place::Below(_) => "the model ran beside a session of a program, on the inputs of the session's first run",
            Place::At(_) => {
                "the model ran beside a session of a program, which came first wherever both wanted a processor"
            }
        });
        if let Err(error) = record(&model, &*plan, &profiler, inputs) {
            profiler.set_incomplete(error.to_string());
        }
        profiler.finish()?;
        match export(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(Failure::Export { path, source }),
        }
    }

    /// Writes the tensors of every operator. Returns the path of the dump.
    pub(super) fn dump(&self, place: &Place<'_>, inputs: &[Tensor]) -> Result<PathBuf, Failure> {
        let model = self.load(Fidelity::Exact)?;
        let plan = model.plan(inputs)?;
        let info = model.dump_info();
        let create = |path: &Path| DirectorySink::create(path, Contents::Tensors, &info);
        let (path, sink) = place.create(self.stem(), create)?;
        let dumper = Dumper::new();
        // Every tensor that was computed is in the dump, even if the program is killed.
        let request = Request { delivery: Some(Delivery::Direct), ..Request::default() };
        dumper.subscribe(Box::new(sink), request)?;
        dumper.add_plan(model.loaded(), &*plan)?;
        dumper.set_inputs(RunId(0), InputEntry::of(&self.graph, inputs));
        let outcome = model.run_plan(&*plan, RunId(0), inputs, &dumper);
        let report = dumper.finish()?;
        if let Err(source) = outcome {
            return Err(Failure::Interrupted { source, path });
        }
        let missing: usize = report.subscriptions.iter().map(|one| one.losses.count() as usize).sum();
        match report.is_complete() {
            true => Ok(path),
            false => Err(Failure::Missing { missing, path }),
        }
    }
}

/// Runs with a profiler.
fn record(model: &Model, plan: &dyn Plan, profiler: &Profiler, inputs: &[Tensor]) -> Result<(), EngineError> {
    let load = LoadMeter::begin();
    let began = Instant::now();
    let untimed = if model.takes_times_from_a_profile() { UNTIMED } else { 0 };
    let phases =
        [(RunKind::WarmUp, 1), (RunKind::Untimed, untimed), (RunKind::Measured, RUNS), (RunKind::Untimed, untimed)];
    let mut number = 0;
    for (kind, runs) in phases {
        profiler.set_run_kind(kind);
        for done in 0..runs {
            // One run of each kind takes place in any case.
            if done > 0 && (began.elapsed() > LONGEST || beside::is_exiting()) {
                break;
            }
            let id = RunId(number);
            number += 1;
            model.run_plan(plan, id, inputs, profiler)?;
            load.measure();
        }
    }
    profiler.set_load(load.end());
    Ok(())
}

/// Writes timelines and tables beside the records, as `opscope benchmark --profiler` does.
fn export(path: &Path) -> Result<(), ProfileError> {
    let recording = Recording::open(path)?;
    let excerpt = recording.excerpt(TimelineRuns::default())?;
    for format in Format::ALL {
        excerpt.export(format, path)?;
    }
    Ok(())
}

/// Where a recording or a dump goes.
pub(super) enum Place<'a> {
    /// Into a directory of the model's name below this one.
    Below(&'a Path),
    /// Into this directory, which does not exist.
    At(&'a Path),
}

impl Place<'_> {
    fn create<T, E: Into<Failure>>(
        &self,
        name: &str,
        create: impl Fn(&Path) -> Result<T, E>,
    ) -> Result<(PathBuf, T), Failure> {
        match *self {
            Place::Below(directory) => free(directory, name, create),
            Place::At(path) => {
                let above = path.parent().unwrap_or(path);
                create_dir_all(above).map_err(|source| Failure::Directory { path: above.to_owned(), source })?;
                Ok((path.to_owned(), create(path).map_err(Into::into)?))
            }
        }
    }
}

/// Creates something in a directory that does not exist, below this one: `name`, or `name-2` if that is taken.
fn free<T, E: Into<Failure>>(
    below: &Path,
    name: &str,
    create: impl Fn(&Path) -> Result<T, E>,
) -> Result<(PathBuf, T), Failure> {
    // Sessions on several threads may want the same name. The lock keeps one of them from failing because another has
    // just begun the directory.
    static TAKING: Mutex<()> = Mutex::new(());
    let _taking = TAKING.lock();
    create_dir_all(below).map_err(|source| Failure::Directory { path: below.to_owned(), source })?;
    for number in 1..=MOST {
        let path = below.join(if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match create(&path) {
            Ok(created) => return Ok((path, created)),
            // Another process has taken the name meanwhile.
            Err(_) if number < MOST && path.join("manifest.json").exists() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::NoName { path: below.to_owned(), most: MOST, name: name.to_owned() })
}
