//! AscendCL's files, byte by byte.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use opscope_dump::ascend::{AscendFile, AscendSink, Chunks, FileName, data_type, data_type_name, dtype};
use opscope_dump::{Delivery, DumpError, Dumper, IoSelection, Request, Selection};
use opscope_model::testing::FakePlan;
use opscope_onnx::Pattern;
use opscope_tensor::DType::{self, *};
use opscope_tensor::Tensor;

use crate::chain::chain_of;
use crate::{floats, giving, run_into};

/// The number of each type in a header, 0 for types that the format lacks, and its name in tables.
const TYPES: [(DType, i32, &str); 23] = [
    (F32, 1, "DT_FLOAT"),
    (U8, 4, "DT_UINT8"),
    (I8, 3, "DT_INT8"),
    (U16, 6, "DT_UINT16"),
    (I16, 5, "DT_INT16"),
    (I32, 7, "DT_INT32"),
    (I64, 8, "DT_INT64"),
    (String, 13, "DT_STRING"),
    (Bool, 11, "DT_BOOL"),
    (F16, 2, "DT_FLOAT16"),
    (F64, 12, "DT_DOUBLE"),
    (U32, 9, "DT_UINT32"),
    (U64, 10, "DT_UINT64"),
    (Complex64, 16, "DT_COMPLEX64"),
    (Complex128, 17, "DT_COMPLEX128"),
    (Bf16, 27, "DT_BF16"),
    (F8E4M3Fn, 35, "DT_FLOAT8E4M3FN"),
    (F8E4M3FnUz, 0, "DT_FLOAT8E4M3FNUZ"),
    (F8E5M2, 34, "DT_FLOAT8E5M2"),
    (F8E5M2FnUz, 0, "DT_FLOAT8E5M2FNUZ"),
    (U4, 0, "DT_UINT4"),
    (I4, 28, "DT_INT4"),
    (F4E2M1, 39, "DT_FLOAT4E2M1"),
];

#[test]
fn every_type_has_the_number_and_the_name_of_the_vendors_tools() {
    assert_eq!(TYPES.len(), DType::all().count());
    for (of, number, name) in TYPES {
        assert_eq!((data_type(of), data_type_name(of).as_str()), (number, name), "{of}");
        if number > 0 {
            assert_eq!(dtype(number), Some(of));
        }
    }
    // Undefined, two integers in one, quantised, a resource, 1 bit, a complex number of 32 bits, and unassigned
    // numbers.
    for unknown in [0, 14, 15, 18, 22, 23, 29, 32, 33, 36, 43, -1] {
        assert_eq!(dtype(unknown), None, "{unknown}");
    }
}

#[test]
fn a_name_has_255_bytes_at_most_and_is_32_digits_of_its_hash_otherwise() {
    let name = |length: usize| FileName {
        op_type: "Add".into(),
        op_name: "x".repeat(length),
        task: 7,
        stream: 0,
        time: 1_700_000_000_000_000,
    };
    // `Add.`, `.7.0.` and 16 digits are 25 bytes.
    assert_eq!(name(230).full().len(), 255);
    assert_eq!(name(230).on_disk(), name(230).full());
    assert_eq!(name(231).on_disk(), name(231).digits());
    // The 128 bits of XXH3 by the Python package xxhash, modulo 10^32.
    assert_eq!(name(300).on_disk(), "12862321312880046056028431633867");
    assert_eq!(name(2).full(), "Add.xx.7.0.1700000000000000");
    assert_eq!(FileName::parse(&name(2).full()), Some(name(2)));
    // Parts that are empty or not numbers, and a dump's number that is valid.
    for wrong in
        ["Add..7.0.5", ".xx.7.0.5", "Add.xx.7.0.", "Add.xx..0.5", "Add.xx.7.-1.5", "Add.xx.y.7.0.5", "Add.7.0.5"]
    {
        assert_eq!(FileName::parse(wrong), None, "{wrong}");
    }
    let numbered = FileName::parse("Add.xx.3.7.0.1700000000000000");
    assert_eq!(numbered, Some(name(2)));
    assert_eq!(FileName::parse("Add.xx.18446744073709551615.7.0.5").unwrap().task, 7);
    assert_eq!(FileName::parse("Add.xx.7.0.18446744073709551616"), None, "it has more than 64 bits");
}

/// The chunks that a target got: path, bytes, last.
type ReceivedChunks = Arc<Mutex<Vec<(PathBuf, Vec<u8>, bool)>>>;

type Target = Chunks<Box<dyn FnMut(&Path, &[u8], bool) -> Result<(), DumpError> + Send>>;

fn sink(chunk: usize) -> (ReceivedChunks, AscendSink<Target>) {
    let given = ReceivedChunks::default();
    let keep = Arc::clone(&given);
    let keep = move |path: &Path, bytes: &[u8], last: bool| {
        keep.lock().unwrap().push((path.to_path_buf(), bytes.to_vec(), last));
        Ok(())
    };
    (given, AscendSink::new(Chunks(Box::new(keep)), chunk))
}

/// Returns the files of a plan, each with the sizes of its chunks.
fn files(plan: &FakePlan, chunk: usize, overflowed_of: Option<u32>) -> Vec<(PathBuf, Vec<u8>, Vec<usize>)> {
    let (given, sink) = sink(chunk);
    let sink = match overflowed_of {
        Some(model) => sink.only_overflowed(model),
        None => sink,
    };
    run_into(plan, Box::new(sink), 1);
    let mut files: Vec<(PathBuf, Vec<u8>, Vec<usize>)> = Vec::new();
    for (path, bytes, _) in given.lock().unwrap().iter() {
        match files.last_mut().filter(|(last, ..)| last == path) {
            Some((_, content, sizes)) => {
                content.extend(bytes);
                sizes.push(bytes.len());
            }
            None => files.push((path.clone(), bytes.clone(), vec![bytes.len()])),
        }
    }
    files
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn a_file_is_the_length_of_its_header_the_header_and_the_data() {
    let files = files(&giving("Relu", vec![floats(&[1.5, -2.0])]), 1 << 20, None);
    let [(path, content, sizes)] = &files[..] else { panic!("one file: {files:?}") };
    assert_eq!(sizes.len(), 1, "a small file is one chunk");
    let name = FileName::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
    assert_eq!((name.op_type.as_str(), name.op_name.as_str(), name.task, name.stream), ("Relu", "op", 1, 0));
    assert_eq!(path.parent().unwrap(), Path::new("0/one/1/0"));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    assert!(name.time <= since && since - name.time < 600_000_000, "microseconds since 1970: {}", name.time);

    // Fields by the message definition: version 1, time 2, output 3, name 6. In an output: type 1, format 2 (ND), shape
    // 3, original operator 4, size 6, original shape 7. Field 10001 is opscope's own: type 1, outputs 4, each with its
    // value 2 and type 3.
    let shape = field(1, &[2]);
    let original = [field(1, b"op"), vec![3 << 3, 1], vec![4 << 3, 2]].concat();
    let output = [vec![1 << 3, 1, 2 << 3, 2], field(3, &shape), field(4, &original), vec![6 << 3, 8], field(7, &shape)];
    let own = [field(1, b"Relu"), field(4, &[field(2, b"y0"), field(3, b"float32")].concat())].concat();
    let header = [
        field(1, b"2.0"),
        vec![2 << 3],
        varint(name.time),
        field(3, &output.concat()),
        field(6, b"op"),
        varint(10_001 << 3 | 2),
        varint(own.len() as u64),
        own,
    ]
    .concat();
    let length = (header.len() as u64).to_le_bytes().to_vec();
    assert_eq!(*content, [length, header, vec![0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0]].concat());
}

#[test]
fn tensors_lie_back_to_back_behind_the_header() {
    let bytes = Tensor::new(U8, vec![3], vec![7, 8, 9]).unwrap();
    let empty = Tensor::new(U8, vec![0, 5], Vec::new()).unwrap();
    let files = files(&giving("Split", vec![floats(&[1.0]), bytes, empty, floats(&[2.0, 3.0])]), 1 << 20, None);
    let (path, content, _) = &files[0];
    let file = AscendFile::from_bytes(path, content).unwrap();
    let header = u64::from_le_bytes(content[..8].try_into().unwrap());
    let found: Vec<_> = file.tensors.iter().map(|tensor| (tensor.slot, tensor.offset - header, tensor.bytes)).collect();
    assert_eq!(found, [(0, 8, 4), (1, 12, 3), (2, 15, 0), (3, 15, 8)]);
    assert_eq!(content.len() as u64, header + 23);
    assert!(file.tensors.iter().all(|tensor| tensor.format == 2));
    assert_eq!(file.tensors[2].shape, [0, 5]);
    assert_eq!((file.version.as_str(), file.op_name.as_str()), ("2.0", "op"));
}

#[test]
fn an_operator_that_overflowed_has_what_its_units_say_of_it() {
    let nan = floats(&[0.0, f32::NAN]);
    for (infinite, fine) in [(floats(&[f32::INFINITY]), false), (nan, false), (floats(&[f32::MAX, f32::MIN]), true)] {
        let all = files(&giving("Exp", vec![floats(&[0.5]), infinite]), 1 << 20, Some(0x0102_0304));
        if fine {
            assert!(all.is_empty(), "{all:?}");
            continue;
        }
        let [(tensors, ..), (path, content, _)] = &all[..] else { panic!("two files: {all:?}") };
        assert_eq!(path.parent(), tensors.parent());
        let of = |path: &Path| FileName::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
        let (of_tensors, name) = (of(tensors), of(path));
        assert_eq!((name.op_type.as_str(), name.op_name.as_str()), ("Opdebug", "Node_OpDebug"));
        assert_eq!((name.task, name.stream, name.time), (of_tensors.task, 0, of_tensors.time));
        let file = AscendFile::from_bytes(path, content).unwrap();
        let [tensor] = &file.tensors[..] else { panic!("one output") };
        assert_eq!((tensor.data_type, tensor.format, &*tensor.shape, tensor.bytes), (4, 2, &[1048][..], 1048));
        assert_eq!((file.version.as_str(), file.time, file.op_name.as_str()), ("2.0", name.time, "Node_OpDebug"));
        // Two units for atomic additions have 128 bytes each; then come the AI Core's model, stream and task. Its
        // status comes after another 256 + 256 + 256 bytes and two numbers.
        let mut expected = vec![0u8; 1048];
        expected[256..260].copy_from_slice(&[4, 3, 2, 1]);
        expected[272] = 1;
        expected[1040] = 1;
        assert_eq!(content[tensor.offset as usize..], expected);
    }
}

#[test]
fn a_chunk_is_128_mib_at_most_one_byte_at_least_and_a_header_stands_before_a_piece_of_less_than_a_mib() {
    assert_eq!(AscendSink::<Target>::LARGEST_CHUNK, 134_217_728);
    let one = |elements: usize, chunk| {
        let tensor = Tensor::new(U8, vec![elements], vec![1; elements]).unwrap();
        files(&giving("Relu", vec![tensor]), chunk, None).remove(0)
    };
    let header = 8 + u64::from_le_bytes(one(1 << 19, 1 << 20).1[..8].try_into().unwrap()) as usize;
    // Together they have 1 MiB, or one byte more. The length of the data has three bytes in both headers.
    let sizes = |elements| one(elements, usize::MAX).2;
    assert_eq!(sizes((1 << 20) - header), [1 << 20]);
    assert_eq!(sizes((1 << 20) - header + 1), [header, (1 << 20) - header + 1]);
    // A chunk size of 0 counts as 1.
    let (_, content, sizes) = one(5, 0);
    assert_eq!(sizes[1..], [1; 5]);
    assert_eq!(content.len(), sizes[0] + 5);
    // The data is cut into chunks, and the last one is the rest.
    assert_eq!(one(2500, 1000).2[1..], [1000, 1000, 500]);
    assert_eq!(one(2000, 1000).2[1..], [1000, 1000]);
}

#[test]
fn tensors_that_wait_for_each_other_are_cut_into_chunks_together() {
    let tensor = |elements: usize, with: u8| Tensor::new(U8, vec![elements], vec![with; elements]).unwrap();
    let all = files(&giving("Split", vec![tensor(150, 1), tensor(130, 2), tensor(0, 3)]), 100, None);
    let (path, content, sizes) = &all[0];
    let header = 8 + u64::from_le_bytes(content[..8].try_into().unwrap()) as usize;
    assert_eq!(sizes[..], [header + 100, 100, 80], "the header is not part of a chunk's size");
    assert_eq!(content[header..], [vec![1; 150], vec![2; 130]].concat());
    AscendFile::from_bytes(path, content).unwrap();
}

#[test]
fn an_operator_of_which_something_is_missing_has_what_there_is() {
    let (given, sink) = sink(1 << 20);
    let chain = chain_of(&["a", "b", "c", "last"], &[4]).fail_at(1);
    let dumper = Dumper::new();
    let selection =
        Selection { operators: vec![Pattern::Exact("c".into())], io: IoSelection::All, ..Selection::default() };
    let request = Request { selection, delivery: Some(Delivery::Direct), ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    chain.run_with(&dumper, 0).unwrap_err();
    dumper.finish().unwrap();
    let given = given.lock().unwrap();
    let content: Vec<u8> = given.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect();
    let header = 8 + u64::from_le_bytes(content[..8].try_into().unwrap()) as usize;
    assert_eq!(content.len(), header + 16, "the input of four floats");
    AscendFile::from_bytes(&given[0].0, &content).unwrap();
}

#[test]
fn a_header_has_64_mib_at_most_and_its_tensors_end_with_the_file() {
    let error = |bytes: &[u8]| AscendFile::from_bytes(Path::new("x"), bytes).unwrap_err().to_string();
    assert!(error(&[0; 7]).contains("too short"));
    let of = |length: u64, rest: usize| [&length.to_le_bytes()[..], &vec![0; rest]].concat();
    assert_eq!(error(&of(9, 8)), "x: its header is said to have 9 bytes, the file has 8");
    let largest = 64 << 20;
    // Zeros are not a message. A header of the maximum size is parsed, and a larger one is not.
    assert!(error(&of(largest, largest as usize)).contains("its header is damaged"));
    assert!(error(&of(largest + 1, largest as usize + 1)).contains("said to have 67108865 bytes"));
    // Space after the tensors counts.
    let space = field(8, &[3 << 3, 5]);
    let buffer = field(5, &[3 << 3, 2]);
    let header = [space, buffer].concat();
    let with = |data: usize| [&(header.len() as u64).to_le_bytes()[..], &header, &vec![0; data]].concat();
    assert!(AscendFile::from_bytes(Path::new("x"), &with(7)).is_ok());
    for wrong in [6, 8] {
        assert!(error(&with(wrong)).contains("its tensors are said to end at"), "{wrong}");
    }
}
