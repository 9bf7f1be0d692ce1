//! Makes a set of many recordings, like those of a fleet of machines: `fleet DIR RECORDINGS`.
//!
//! Each model is profiled once, with times that are the same in every run of this program. Each recording of the fleet
//! is a copy with its own host, beginning and clock: a faster clock makes a slower machine. All of them are added to a
//! [`opscope_tables::TableSet`]. In this fleet, everything on `rack2-07` is slow, and `resnet50` since 2026-11-16.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_tables::TableSet;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The names of the models, and the types of their operators with the microseconds that each operator takes.
const MODELS: [(&str, &[(&str, u64)]); 4] = [
    ("resnet50", &[("Conv", 310), ("Relu", 20), ("Conv", 280), ("Add", 15), ("Gemm", 120), ("Softmax", 4)]),
    ("bert-base", &[("Gather", 9), ("MatMul", 420), ("Softmax", 60), ("MatMul", 390), ("LayerNormalization", 45)]),
    ("yolov8n", &[("Conv", 210), ("Sigmoid", 18), ("Mul", 12), ("Resize", 25), ("Concat", 14), ("Conv", 190)]),
    ("whisper-tiny", &[("Conv", 70), ("MatMul", 510), ("Gelu", 33), ("LayerNormalization", 41)]),
];
const HOSTS: u64 = 20;
const DAYS: u64 = 14;
const RUNS: u64 = 25;
/// 2026-11-09, a Monday, in nanoseconds since 1970.
const FIRST_DAY: u64 = 20_766 * 86_400_000_000_000;
const DAY: u64 = 86_400_000_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, count] = &arguments[..] else {
        eprintln!("usage: fleet DIR RECORDINGS");
        std::process::exit(2);
    };
    let (set, count) = (TableSet::open(directory)?, count.parse()?);
    let scratch = tempfile::tempdir()?;
    let models: Vec<PathBuf> = MODELS.iter().map(|model| profile(scratch.path(), *model)).collect::<Result<_>>()?;
    let (next, threads) = (AtomicU64::new(0), std::thread::available_parallelism()?.get());
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            let place = tempfile::tempdir_in(scratch.path())?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                add(&set, &models, place.path(), number)?;
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    println!("{count} recordings of {} models on {HOSTS} hosts in {DAYS} days: {directory}", MODELS.len());
    Ok(())
}

/// Profiles a model with made-up ticks. One tick is a nanosecond.
fn profile(scratch: &Path, (name, operators): (&str, &[(&str, u64)])) -> Result<PathBuf> {
    let named: Vec<String> = (0..operators.len()).map(|index| format!("/{name}/layer.{index}")).collect();
    let types = named.iter().zip(operators);
    let graph =
        types.fold(GraphBuilder::new(name), |graph, (name, (op_type, _))| graph.operator(name, op_type, &[], &[]));
    let graph = Arc::new(graph.build());
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let groups: Vec<&[&str]> = named.iter().map(std::slice::from_ref).collect();
    let kernels: Arc<_> = kernels(&graph, &groups);
    let directory = scratch.join(name);
    let engine = EngineInfo::new("made-up", "1", Fidelity::Optimised);
    let info = RecordingInfo { graph: Arc::clone(&graph), engine };
    // The machine's own counters do not fit a generated clock.
    let mut options = ProfilerOptions::default();
    let switches = &mut options.switches;
    (switches.machine_memory, switches.processors, switches.machine, switches.process) = (false, false, false, false);
    let profiler = Profiler::create(&directory, &info, &options)?;
    let mut now = 1_000_000;
    for run in 0..RUNS {
        let info = RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = now;
        for (kernel, (_, micros)) in kernels.iter().zip(operators) {
            // Up to 10 % of noise, which is the same in every run of this program.
            let nanos = micros * 1_000 + micros * (run * 7_919 + kernel.id.index() as u64 * 104_729) % (micros * 100);
            observer.timed(kernel.id, &[], Ticks::from_raw(now), Ticks::from_raw(now + nanos));
            now += nanos + 300;
        }
        observer.finished(Ok((Ticks::from_raw(begin), Ticks::from_raw(now))));
        now += 5_000;
    }
    profiler.finish()?;
    Ok(directory)
}

/// Adds a recording of the fleet to the set.
fn add(set: &TableSet, models: &[PathBuf], place: &Path, number: u64) -> Result<()> {
    let (kind, rest) = (number as usize % models.len(), number / models.len() as u64);
    let (host, rest) = (rest % HOSTS, rest / HOSTS);
    let (day, time) = (rest % DAYS, rest / DAYS);
    let slow_host = if host == 7 { 1.5 } else { 1.0 };
    let slow_model = if MODELS[kind].0 == "resnet50" && day >= 7 { 1.2 } else { 1.0 };
    let speed = slow_host * slow_model * (1.0 + 0.002 * ((number * 31) % 10) as f64);
    let mut manifest: Value = serde_json::from_slice(&fs::read(models[kind].join("manifest.json"))?)?;
    let begun = FIRST_DAY + day * DAY + time * 60_000_000_000 + host * 1_000_000_000;
    let ticks = 1_000_000_000u64;
    manifest["model"]["path"] = format!("/srv/models/{}.onnx", MODELS[kind].0).into();
    manifest["host"]["name"] = format!("rack{}-{host:02}", host % 5).into();
    manifest["clock"]["start"] = json!({ "ticks": 0, "boottime_ns": begun - FIRST_DAY });
    manifest["clock"]["end"] =
        json!({ "ticks": ticks, "boottime_ns": begun - FIRST_DAY + (ticks as f64 * speed) as u64 });
    manifest["clock"]["start_unix_ns"] = begun.into();
    if number % 512 == 511 {
        manifest["complete"] = false.into();
        manifest["incomplete_because"] = json!(["3 records were dropped because the memory for records was full"]);
    }
    fs::write(place.join("manifest.json"), manifest.to_string())?;
    for file in ["names.jsonl", "records.bin"] {
        fs::copy(models[kind].join(file), place.join(file))?;
    }
    set.append(&Recording::open(place)?)?;
    Ok(())
}
