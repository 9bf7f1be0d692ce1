//! The headers of AscendCL's dump files as other programs see them, read with separate message definitions.

mod chain;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chain::chain_of;
use opscope_dump::ascend::{AscendFile, AscendSink, ChunkTarget};
use opscope_dump::{
    Answer, DumpError, Dumper, Ending, Io, IoSelection, Origin, Piece, Request, Selection, Sink, Stream,
};
use opscope_model::testing::{FakePlan, GraphBuilder, kernels, looping};
use opscope_model::{Fidelity, RunId};
use opscope_tensor::{DType, Tensor};
use prost::Message;

/// The part of `DumpData` that the vendor's tools read.
#[derive(Clone, PartialEq, prost::Message)]
struct Header {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(uint64, tag = "2")]
    time: u64,
    #[prost(message, repeated, tag = "3")]
    output: Vec<Output>,
    #[prost(string, tag = "6")]
    op_name: String,
    #[prost(message, repeated, tag = "7")]
    attr: Vec<Attribute>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Output {
    #[prost(int32, tag = "1")]
    data_type: i32,
    #[prost(uint64, tag = "6")]
    size: u64,
}

/// Paths and contents.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// A target that keeps the files, of runs in stream 7.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Files>>);

impl ChunkTarget for Kept {
    fn chunk(&mut self, path: &Path, bytes: &[u8], _last: bool) -> Result<(), DumpError> {
        let mut files = self.0.lock().unwrap();
        match files.last_mut().filter(|(last, _)| last == path) {
            Some((_, content)) => content.extend(bytes),
            None => files.push((path.into(), bytes.into())),
        }
        Ok(())
    }

    fn stream(&self) -> u64 {
        7
    }
}

/// Returns the files of one run with these inputs.
fn files(plan: &FakePlan, inputs: &[Tensor], overflowed_of: Option<u32>) -> Files {
    let (kept, dumper) = (Kept::default(), Dumper::new());
    let sink = AscendSink::new(kept.clone(), 1 << 20);
    let sink = match overflowed_of {
        Some(model) => sink.only_overflowed(model),
        None => sink,
    };
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    dumper.add_plan(plan, plan).unwrap();
    match inputs {
        [] => plan.run_with(&dumper, 0).unwrap(),
        inputs => plan.run_on(&dumper, 0, inputs).unwrap(),
    };
    dumper.finish().unwrap();
    let files = kept.0.lock().unwrap().clone();
    assert!(!files.is_empty());
    files
}

fn header(content: &[u8]) -> (Header, &[u8]) {
    let (length, rest) = content.split_first_chunk().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    (Header::decode(header).unwrap(), data)
}

/// Returns a model that returns its input.
fn same() -> FakePlan {
    let graph = GraphBuilder::new("same").input("x", &[3]).operator("same", "Identity", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    FakePlan::new(&graph, kernels(&graph, &[&["same"]]), Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()))
}

#[test]
fn every_attribute_of_every_file_is_json_as_the_vendors_reader_takes_it() {
    // The vendor's tool reads `json.loads(dump.attr[0].value)` if there is an attribute, and a key of its own in the
    // result if that is not empty.
    let without_number = Tensor::new(DType::F8E4M3FnUz, vec![3], vec![0x40, 0x48, 0x4c]).unwrap();
    let overflowing = Tensor::from_f32(vec![3], &[1.0, f32::INFINITY, 3.0]).unwrap();
    let all = [
        files(&chain_of(&["a", "b", "last"], &[2, 3]), &[], None),
        files(&looping(3), &[], None),
        files(&same(), &[without_number], None),
        files(&same(), &[overflowing], Some(1)),
    ];
    for (path, content) in all.iter().flatten() {
        let (header, _) = header(content);
        assert_eq!(header.version, "2.0");
        for (index, attr) in header.attr.iter().enumerate() {
            let value: serde_json::Value = serde_json::from_str(&attr.value)
                .unwrap_or_else(|error| panic!("{}: {} is no JSON: {error}", path.display(), attr.name));
            assert!(index > 0 || value == serde_json::json!({}), "{}: {value}", path.display());
        }
    }
}

#[test]
fn what_the_format_has_no_field_for_is_read_back() {
    let tensor = Tensor::new(DType::F8E4M3FnUz, vec![3], vec![0x40, 0x48, 0x4c]).unwrap();
    let files = files(&same(), &[tensor], None);
    let [(path, content)] = &files[..] else { panic!("{} files", files.len()) };
    assert_eq!(header(content).0.output[0].data_type, 0, "the format has no number for the type");
    let file = AscendFile::from_bytes(path, content).unwrap();
    assert_eq!(file.op_type.as_deref(), Some("Identity"));
    let tensors: Vec<_> = file.tensors.iter().map(|one| (one.io, one.slot, one.value.as_deref(), one.dtype)).collect();
    let dtype = Some(DType::F8E4M3FnUz);
    assert_eq!(tensors, [(Io::Input, 0, Some("x"), dtype), (Io::Output, 0, Some("y"), dtype)]);
}

#[test]
fn files_of_earlier_versions_are_read_with_all_that_their_attributes_say() {
    let attribute = |name: &str, value: &str| Attribute { name: name.into(), value: value.into() };
    let attributes = vec![
        attribute("opscope.value.output.1.bfloat16", "the/value"),
        attribute("op_type", "Sum"),
        attribute(
            "opscope.iterations",
            r#"[{"operator": "Loop_3", "index": 17}, {"operator": "Loop_3/Loop_1", "index": 2}]"#,
        ),
    ];
    let output = vec![Output { data_type: 27, size: 4 }];
    let file = |attr| {
        let header =
            Header { version: "2.0".into(), time: 5, output: output.clone(), op_name: "Loop_3/Add_0".into(), attr };
        [&(header.encoded_len() as u64).to_le_bytes()[..], &header.encode_to_vec(), &[1, 2, 3, 4]].concat()
    };
    let read = AscendFile::from_bytes(Path::new("old"), &file(attributes.clone())).unwrap();
    assert_eq!((read.op_name.as_str(), read.op_type.as_deref()), ("Loop_3/Add_0", Some("Sum")));
    let iterations: Vec<_> = read.iterations.iter().map(|one| (one.operator.as_str(), one.index)).collect();
    assert_eq!(iterations, [("Loop_3", 17), ("Loop_3/Loop_1", 2)]);
    let tensor = &read.tensors[0];
    assert_eq!((tensor.slot, tensor.value.as_deref(), tensor.dtype), (1, Some("the/value"), Some(DType::Bf16)));

    let mut damaged = attributes;
    damaged[2].value = "[{".into();
    let error = AscendFile::from_bytes(Path::new("old"), &file(damaged)).unwrap_err().to_string();
    assert!(error.contains("its iterations are damaged"), "{error}");
}

/// The offsets of the words of an overflow: 1048 bytes of `struct.pack`, in which those of the AI Core begin at 256.
const WORDS: [(usize, u64); 4] = [
    // The number of the model, the stream and the task.
    (256, 1),
    (264, 7),
    (272, 1),
    // The status.
    (1040, 1),
];

#[test]
fn an_overflow_is_told_in_1048_bytes_with_the_stream_and_the_task_of_its_own_name() {
    let tensor = Tensor::from_f32(vec![3], &[1.0, f32::INFINITY, 3.0]).unwrap();
    let files = files(&same(), &[tensor], Some(1));
    let names: Vec<_> = files.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
    assert!(names[0].starts_with("Identity.same.1.7."), "{names:?}");
    assert!(names[1].starts_with("Opdebug.Node_OpDebug.1.7."), "{names:?}");
    let time = names[1].rsplit('.').next().unwrap();
    let (header, data) = header(&files[1].1);
    assert_eq!((header.op_name.as_str(), header.time.to_string().as_str()), ("Node_OpDebug", time));
    assert_eq!((header.output[0].data_type, header.output[0].size), (4, 1048));
    let mut expected = [0; 1048];
    for (at, value) in WORDS {
        expected[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    assert_eq!(data, expected);
}

#[test]
fn an_operator_overflows_by_its_outputs_and_by_infinities_of_both_signs_and_nan() {
    let is_told = |elements: &[f32], dtype| {
        let tensor = Tensor::from_f32(vec![elements.len()], elements).unwrap().cast(dtype).unwrap();
        let (kept, dumper, plan) = (Kept::default(), Dumper::new(), same());
        let selection = Selection { io: IoSelection::All, ..Selection::default() };
        let sink = AscendSink::new(kept.clone(), 1 << 20).only_overflowed(1);
        dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
        plan.run_on(&dumper, 0, &[tensor]).unwrap();
        dumper.finish().unwrap();
        let count = kept.0.lock().unwrap().len();
        assert!(count == 0 || count == 2, "the operator, and what says so: {count}");
        count == 2
    };
    for (elements, dtype, expected) in [
        (&[1.0, f32::INFINITY][..], DType::F32, true),
        (&[f32::NEG_INFINITY, 1.0], DType::F32, true),
        (&[1.0, f32::NAN], DType::F32, true),
        (&[f32::MAX, f32::MIN], DType::F32, false),
        // 65504 is the largest number of half precision.
        (&[65504.0, -65504.0], DType::F16, false),
        (&[70000.0, 1.0], DType::F16, true),
        (&[70000.0, 1.0], DType::Bf16, false),
    ] {
        assert_eq!(is_told(elements, dtype), expected, "{elements:?} as {dtype}");
    }
    // If an infinite input becomes a finite output, this operator has not overflowed.
    let graph = GraphBuilder::new("clip").input("x", &[1]).operator("clip", "Clip", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    let clip = FakePlan::new(&graph, kernels(&graph, &[&["clip"]]), Fidelity::Exact, |_, _| {
        Ok(vec![Tensor::from_f32(vec![1], &[1.0]).unwrap()])
    });
    let (kept, dumper) = (Kept::default(), Dumper::new());
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    let sink = AscendSink::new(kept.clone(), 1 << 20).only_overflowed(1);
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    clip.run_on(&dumper, 0, &[Tensor::from_f32(vec![1], &[f32::INFINITY]).unwrap()]).unwrap();
    dumper.finish().unwrap();
    assert!(kept.0.lock().unwrap().is_empty());
}

#[test]
fn what_waits_for_other_tensors_is_sent_when_its_run_ends_and_the_rest_when_the_dump_does() {
    let graph = GraphBuilder::new("same").input("x", &[3]).operator("same", "Identity", &["x"], &["y"]).output("y");
    let graph = Arc::new(graph.build());
    let operator = &graph.operators[0];
    let output = |run: Option<u64>| Origin {
        graph: Arc::clone(&graph),
        plan: 0,
        run: run.map(RunId),
        operator: operator.id,
        path: Box::default(),
        io: Io::Output,
        slot: 0,
        value: operator.outputs[0].expect("y"),
    };
    let waiting = || {
        let kept = Kept::default();
        let mut sink = AscendSink::new(kept.clone(), 1 << 20);
        for run in [Some(3), Some(4), None] {
            // The operator's input never comes.
            let stream = Stream { origin: output(run), dtype: DType::F32, shape: vec![1], bytes: 4, siblings: 2 };
            let piece = Piece { offset: 0, bytes: &[0; 4], last: true };
            assert!(matches!(sink.piece(&stream, piece), Answer::Continue));
        }
        (kept, sink)
    };
    let (kept, mut sink) = waiting();
    let sent = || kept.0.lock().unwrap().len();
    assert_eq!(sent(), 0);
    assert!(matches!(sink.run_ended(RunId(3)), Answer::Continue));
    assert_eq!(sent(), 1);
    assert_eq!(kept.0.lock().unwrap()[0].0.parent().and_then(Path::file_name), Some("3".as_ref()));
    assert!(matches!(sink.run_ended(RunId(9)), Answer::Continue));
    assert_eq!(sent(), 1, "no other run's");
    sink.close(&Ending::default());
    assert_eq!(sent(), 3);
    let (kept, mut sink) = waiting();
    sink.close(&Ending { stopped: Some("the disk is full".to_owned()), ..Ending::default() });
    assert!(kept.0.lock().unwrap().is_empty(), "nothing is sent to a sink that stopped");
}
