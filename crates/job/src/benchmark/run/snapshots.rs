//! The summary of a benchmark with every option, compared with one that was reviewed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_model::Fidelity;
use opscope_model::testing::assert_snapshot;
use opscope_profile::{EngineInfo, Load, ReferenceTimes};
use opscope_tensor::{DType, Digest};

use super::close::write_summary;
use crate::benchmark::{
    DebuggerSummary, DumpSummary, FailedShapes, FileInfo, InputSummary, Latency, Measured, MemorySummary, ModelSummary,
    NotFinite, NotFiniteOutput, ProfileSummary, Report, ShapeTimes, median_interval,
};
use crate::machine::Machine;
use crate::verify::{KernelOutput, Outcome, OutputDifference, Verification, WrongForm};

const TIMES: [f64; 7] = [1.5, 1.25, 1.0, 1.0, 2.0, 1.125, 1.0625];

fn measured(batch: usize) -> Measured {
    let inputs = vec![InputSummary { name: "x".into(), dtype: DType::F32, shape: vec![batch, 3] }];
    let of = |times: &[f64]| Latency::of(times).expect("times");
    let by_shape =
        ShapeTimes { inputs: inputs.clone(), compute: of(&TIMES[..2]), throughput: 727.0, throughput_at_median: 730.0 };
    let infiles = vec![PathBuf::from("in/0.npy")];
    let outfiles = vec![PathBuf::from("pure_infer_data_0.bin")];
    Measured {
        inputs,
        made_up_dimensions: vec!["N".into(), "x[1]".into()],
        again: vec!["--input=cat.npy".into(), "--dym-batch=8".into()],
        compute: of(&TIMES),
        upload: of(&[0.25, 0.5]),
        download: of(&[0.125]),
        median_interval_95: median_interval(&TIMES),
        run_memory: Some(MemorySummary { bytes: 4096, operator: Some("mul".into()), unknown: 1 }),
        notes: vec!["input x is smaller than the file says".into()],
        verification: Some(verification()),
        not_finite: Some(not_finite()),
        throughput: 1000.0 * batch as f64 / 1.28,
        throughput_at_median: 1000.0 * batch as f64 / 1.25,
        batchsize: batch as f64,
        plan_ms: 7.5,
        by_shape: vec![by_shape],
        npu_compute_time_list: TIMES.to_vec(),
        filesinfo: BTreeMap::from([("0".into(), FileInfo { infiles, outfiles })]),
    }
}

fn not_finite() -> NotFinite {
    let output = NotFiniteOutput { output: "y".into(), nan: 2, infinite: 1, elements: 10 };
    NotFinite {
        run: 0,
        outputs: vec![output],
        command: "opscope debug models/small.onnx -ex 'catch nan' -ex run".into(),
    }
}

/// Returns a verification that found a right plan, after one that is wrong and one that does not run.
fn verification() -> Verification {
    let output = |name: &str, largest: f64| OutputDifference {
        output: name.into(),
        largest: Some(largest),
        of_largest: Some(largest / 8.0),
        scale: Some(1.0),
        taken: Some(0.25),
        because: None,
    };
    let other = OutputDifference {
        output: "z".into(),
        largest: None,
        of_largest: None,
        scale: None,
        taken: None,
        because: Some("its shape differs".into()),
    };
    let wrong = |form: &str| WrongForm { form: form.into(), outputs: vec![], fails_with: None, run_ms: None };
    Verification {
        outcome: Outcome::Right {
            form: "no rewrites".into(),
            largest_difference: 1e-7,
            outputs: vec![output("y", 1e-7)],
        },
        wrong: vec![
            WrongForm { outputs: vec![output("y", 0.5), other], run_ms: Some(1.25), ..wrong("every rewrite") },
            WrongForm { fails_with: Some("a rewrite failed".into()), ..wrong("fewer rewrites") },
        ],
        seconds: 0.75,
        kernels: vec![KernelOutput { kernel: "mul.0".into(), slot: 0, value: "y".into(), same_order: true }],
        reference: None,
        kept_since: Some("2026-11-21".into()),
    }
}

/// Returns the report of a benchmark with two sets of shapes, a third that failed and a fourth that was excluded, and
/// with a profile, a dump and a debugger.
fn report() -> Report {
    let measurements = vec![measured(1), measured(2)];
    Report {
        schema: "opscope.summary/1",
        run: "run".into(),
        opscope: "0.1.0",
        args: ["opscope", "benchmark", "models/small.onnx"].map(str::to_owned).to_vec(),
        pid: 70,
        start_unix_ns: 1_700_000_000_000_000_000,
        model: ModelSummary {
            path: "models/small.onnx".into(),
            bytes: 1000,
            xxh3: Digest(0xdead_beef),
            graph: "small".into(),
            operators: 2,
        },
        engine: EngineInfo {
            settings: BTreeMap::from([("providers".into(), "PencilExecutionProvider".into())]),
            ..EngineInfo::new("paper", "0.1", Fidelity::Optimised)
        },
        load: Load {
            average_start: Some(0.5),
            average_end: Some(1.25),
            reference: Some(ReferenceTimes { p25_ns: 990.0, median_ns: 1000.0, p75_ns: 1010.0, samples: 20 }),
        },
        machine: Machine { cpu: "abacus".into(), processors: 1, memory_bytes: 1 << 30, system: "linux abacus".into() },
        load_ms: 12.5,
        peak_memory_bytes: 1 << 20,
        complete: false,
        incomplete_because: vec!["1 of 10 runs was made".into()],
        first: measurements.first().cloned(),
        dym_shape_range: Some(measurements.clone()),
        measurements,
        failed_shapes: vec![FailedShapes { shapes: "x:3,3".into(), reason: "the run failed".into() }],
        left_out_shapes: 1,
        beside: None,
        profile: Some(ProfileSummary {
            directory: "out/profiler/run".into(),
            exports: vec!["out/profiler/run/timeline.json".into()],
            // The account has a snapshot of its own, as `account.json`.
            account: None,
            recording_bytes: 2048,
            ..ProfileSummary::default()
        }),
        dump: Some(DumpSummary { directory: "out/dump/run".into(), tensors: 10, bytes: 4096, missing: 1 }),
        debugger: Some(DebuggerSummary { stopped_runs: 2 }),
        outputs: Some("out/run".into()),
        summary: Some("out/run_summary.json".into()),
    }
}

fn summary(report: &Report) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("run_summary.json");
    write_summary(report, &path).expect("the disk has room");
    std::fs::read(&path).expect("a file")
}

#[test]
fn a_summary_of_everything_is_as_it_was() {
    assert_snapshot!("summary_of_everything.json", summary(&report()));
}

#[test]
fn a_summary_of_what_is_always_there_is_as_it_was() {
    let measured = Measured {
        made_up_dimensions: vec![],
        again: vec![],
        median_interval_95: None,
        notes: vec![],
        verification: None,
        not_finite: None,
        by_shape: vec![],
        ..measured(1)
    };
    let report = Report {
        engine: EngineInfo::new("paper", "0.1", Fidelity::Optimised),
        complete: true,
        incomplete_because: vec![],
        measurements: vec![measured.clone()],
        first: Some(measured),
        dym_shape_range: None,
        failed_shapes: vec![],
        left_out_shapes: 0,
        profile: None,
        dump: None,
        debugger: None,
        outputs: None,
        summary: None,
        ..report()
    };
    assert_snapshot!("summary.json", summary(&report));
}
