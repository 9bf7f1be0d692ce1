//! A recording that is made of another tool's trace, from the first record to its account.

use opscope_clock::Ticks;
use opscope_model::{Fidelity, Iteration};
use opscope_onnx::{CodeOrigin, Module, OperatorId};
use opscope_tensor::Digest;
use opscope_trace::{
    Correlation, CorrelationId, DispatchRecord, ExternalId, KernelIndex, MarkerOperation, MarkerRecord, NameId,
    RunOperation, RunRecord, ThreadId,
};

use crate::recording::{
    BuiltKernel, BuiltOperator, DeviceInfo, EngineInfo, HostInfo, ImportedFrom, Manifest, ModelInfo, NotImported,
    ProcessInfo, RecordingBuilder,
};
use crate::{GroupBy, Recording};

const HOST: ThreadId = ThreadId(70);
const STREAM: ThreadId = ThreadId(1 << 23);

fn manifest(devices: Vec<DeviceInfo>) -> Manifest {
    let not_imported = vec![NotImported { kind: "flow".to_owned(), name: "ac2g".to_owned(), count: 2 }];
    let imported =
        ImportedFrom { format: "made".to_owned(), events: 9, imported: 7, not_imported, devices, rank: Some(1) };
    let model =
        ModelInfo { path: "a.json".to_owned(), xxh3: Digest(7), graph: String::new(), producer: "made".to_owned() };
    let host = HostInfo { name: String::new(), cpu: String::new(), processors: 0, system: String::new() };
    let process = ProcessInfo { pid: 70, name: "python".to_owned(), opscope: "0".to_owned() };
    Manifest::of_trace(model, EngineInfo::new("made", "1", Fidelity::Optimised), host, process, 5_000, imported)
}

fn gpu() -> DeviceInfo {
    DeviceInfo { device: 1, name: "cuda:0".to_owned(), model: "Some GPU".to_owned() }
}

fn kernel(operator: Option<(&str, &[&str])>, name: &str) -> BuiltKernel {
    let module = |path: &&str| Module { path: (*path).to_owned(), class: String::new() };
    let operator = operator.map(|(name, modules)| BuiltOperator {
        name: name.to_owned(),
        op_type: "mm".to_owned(),
        origin: (!modules.is_empty()).then(|| CodeOrigin {
            display_name: name.to_owned(),
            modules: modules.iter().map(module).collect(),
            ..CodeOrigin::default()
        }),
    });
    BuiltKernel { operator, name: name.to_owned(), op: name.to_owned(), inputs: Vec::new() }
}

fn dispatch(run: u64, kernel: u32, thread: ThreadId, start: u64, end: u64, id: u64) -> DispatchRecord {
    DispatchRecord {
        run,
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        correlation: Correlation { internal: CorrelationId(id), external: ExternalId(0) },
        kernel: KernelIndex(kernel),
        thread,
        device: u32::from(thread == STREAM),
        ..DispatchRecord::default()
    }
}

fn run(run: u64, start: u64, end: u64) -> RunRecord {
    RunRecord {
        run,
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(end),
        operation: RunOperation::Measured as u32,
        thread: HOST,
        ..RunRecord::default()
    }
}

fn launch(id: u64, start: u64) -> MarkerRecord {
    MarkerRecord {
        start: Ticks::from_raw(start),
        end: Ticks::from_raw(start + 5),
        correlation: Correlation { internal: CorrelationId(id), external: ExternalId(0) },
        name: NameId(1),
        operation: MarkerOperation::Range as u32,
        thread: HOST,
        depth: 0,
    }
}

#[test]
fn a_built_recording_says_what_each_device_did_and_why_it_waited() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("r");
    let mut builder = RecordingBuilder::create(&directory, manifest(vec![gpu()])).expect("a new directory");
    assert!(!Recording::open(&directory).expect("its beginning").is_complete());
    builder.thread(HOST, "thread 70 (python)");
    builder.thread(STREAM, "cuda:0 stream 7");
    builder.marker(NameId(1), "launch");
    builder.kernel(&kernel(Some(("a/mm", &["a"])), "gemm"));
    builder.kernel(&kernel(None, "Memcpy DtoH"));
    let end = |record: &RunRecord| record.end;
    for (id, at) in [(1, 20), (2, 60)] {
        builder.record(&launch(id, at), Ticks::from_raw(at + 5)).expect("room");
    }
    builder.dispatch(&dispatch(0, 0, STREAM, 30, 50, 1), &[]).expect("room");
    // It was launched in the first run, and reaches into the second one.
    builder.dispatch(&dispatch(0, 1, STREAM, 90, 110, 2), &[]).expect("room");
    let first = run(0, 0, 100);
    builder.record(&first, end(&first)).expect("room");
    let second = run(1, 100, 200);
    builder.record(&second, end(&second)).expect("room");
    let closed = builder.finish(manifest(vec![gpu()])).expect("room");
    assert!(closed.complete);
    assert_eq!(closed.records.expect("they are counted").delivered, 6);

    let recording = Recording::open(&directory).expect("a recording");
    assert_eq!(recording.problems(), [""; 0]);
    assert_eq!(recording.nanos_since_1970(100), 5_100);
    let account = recording.account().expect("an account");
    let [device] = &account.devices[..] else { panic!("{:?}", account.devices) };
    let parts = [device.busy, device.communication, device.copies, device.gaps, device.host_bound, device.idle];
    // Of the first run: 20 until the launch, 10 until the kernel, 20 of it, 10 until the next launch, 30 until the copy, 10 of it.
    assert_eq!(parts.map(|part| part.total_ns), [20.0, 0.0, 20.0, 40.0, 30.0, 90.0]);
    assert_eq!((device.device.as_str(), device.model.as_str(), device.dispatches), ("cuda:0", "Some GPU", 2));
    assert_eq!(device.launch_median_ns, Some(20.0));
    let shares = account.shares.expect("dispatches were recorded");
    let parts = [shares.operators, shares.added, shares.between, shares.in_out, shares.rest];
    assert_eq!(parts.map(|part| part.total_ns), [20.0, 10.0, 40.0, 130.0, 0.0]);
    let text = account.to_text(9);
    assert!(text.contains("cuda:0, Some GPU; from launch to kernel 20 ns"), "{text}");
    assert!(text.contains("host-bound") && !text.contains("communication"), "{text}");
}

#[test]
fn times_are_added_up_by_modules_kernels_and_streams() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("r");
    let mut builder = RecordingBuilder::create(&directory, manifest(Vec::new())).expect("a new directory");
    builder.thread(HOST, "thread 70 (python)");
    builder.thread(STREAM, "cuda:0 stream 7");
    builder.kernel(&kernel(Some(("a.b/mm", &["a", "a.b"])), "gemm"));
    builder.kernel(&kernel(Some(("a.b/mm/add", &["a", "a.b"])), "add"));
    builder.kernel(&kernel(Some(("mm", &[])), "gemm"));
    builder.dispatch(&dispatch(0, 0, HOST, 0, 40, 0), &[]).expect("room");
    let within = [Iteration { operator: OperatorId::new(0), index: 0 }];
    builder.dispatch(&dispatch(0, 1, HOST, 10, 20, 0), &within).expect("room");
    builder.dispatch(&dispatch(0, 2, STREAM, 50, 55, 0), &[]).expect("room");
    let whole = run(0, 0, 100);
    builder.record(&whole, whole.end).expect("room");
    builder.finish(manifest(Vec::new())).expect("room");
    let recording = Recording::open(&directory).expect("a recording");
    let by = |by| {
        let series = recording.series_by(by).expect("records");
        series.operators.iter().map(|one| (one.operator.clone(), one.op_type.clone(), one.times[0])).collect::<Vec<_>>()
    };
    let row = |name: &str, what: &str, nanos: f32| (name.to_owned(), what.to_owned(), nanos);
    assert_eq!(by(GroupBy::Operator), [row("a.b/mm", "mm", 30.0), row("a.b/mm/add", "mm", 10.0), row("mm", "mm", 5.0)]);
    assert_eq!(by(GroupBy::Module), [row("a.b", "module", 40.0), row("(no module)", "module", 5.0)]);
    assert_eq!(by(GroupBy::Kernel), [row("gemm", "kernel", 35.0), row("add", "kernel", 10.0)]);
    assert_eq!(by(GroupBy::Stream), [row("thread #1 (python)", "stream", 40.0), row("cuda:0 stream 7", "stream", 5.0)]);
}

#[test]
fn a_built_recording_that_fails_is_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("r");
    drop(RecordingBuilder::create(&directory, manifest(Vec::new())).expect("a new directory"));
    assert!(RecordingBuilder::create(&directory, manifest(Vec::new())).is_err(), "it exists");
    RecordingBuilder::remove(&directory);
    assert!(!directory.exists());
}
