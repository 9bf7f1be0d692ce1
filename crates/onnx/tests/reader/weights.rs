//! The data of weights in every type and form, and limits of names.

use opscope_onnx::{CodeOrigin, Graph, Module, OnnxError, path_of_operator};

use crate::files::from_bytes;
use crate::wire::{Message, graph, model, node};

/// A `TensorProto` of this type and shape, without its data.
fn tensor(code: i64, shape: &[i64]) -> Message {
    shape.iter().fold(Message::default(), |message, size| message.int(1, *size)).int(2, code).text(8, "w")
}

fn with_weight(tensor: Message) -> Result<Graph, OnnxError> {
    from_bytes(model(graph(&[node("n", "Add", &["x", "w"], &["y"])], &["x"], &["y"]).message(5, tensor)))
}

fn data(graph: &Graph) -> Vec<u8> {
    let mut data = Vec::new();
    let read = graph.initializers::<OnnxError>(
        |_| true,
        |value, tensor| {
            assert_eq!(graph.value(value).name, "w");
            data = tensor.bytes().to_vec();
            Ok(())
        },
    );
    read.unwrap();
    data
}

fn varints(numbers: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers.iter().for_each(|number| prost::encoding::encode_varint(*number as u64, &mut bytes));
    bytes
}

/// A type's number, the field of the data and its bytes there, and the elements and the bytes of the tensor. Fields: 4
/// floats, 5 int32, 7 int64, 10 doubles, 11 uint64.
type Case = (i64, u32, Vec<u8>, i64, Vec<u8>);

#[test]
fn numbers_in_the_fields_of_their_types_are_read_as_bytes() {
    let floats: Vec<u8> = [1.5f32, -2.0, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let doubles: Vec<u8> = [1.5f64, -2.0, 3.0, 4.0].into_iter().flat_map(f64::to_le_bytes).collect();
    let cases: [Case; 21] = [
        (1, 4, floats.clone(), 4, floats.clone()),
        (14, 4, floats.clone(), 2, floats.clone()),
        (11, 10, doubles.clone(), 4, doubles.clone()),
        (15, 10, doubles.clone(), 2, doubles.clone()),
        (7, 7, varints(&[-2, 5]), 2, [-2i64, 5].map(i64::to_le_bytes).concat()),
        (13, 11, varints(&[-1, 5]), 2, [u64::MAX, 5].map(u64::to_le_bytes).concat()),
        (12, 11, varints(&[0xffff_ffff, 5]), 2, [u32::MAX, 5].map(u32::to_le_bytes).concat()),
        (6, 5, varints(&[-2, 5]), 2, [-2i32, 5].map(i32::to_le_bytes).concat()),
        (5, 5, varints(&[-2, 5]), 2, vec![0xfe, 0xff, 5, 0]),
        (4, 5, varints(&[0xfffe, 5]), 2, vec![0xfe, 0xff, 5, 0]),
        (3, 5, varints(&[-2, 5]), 2, vec![0xfe, 5]),
        (2, 5, varints(&[0xfe, 5]), 2, vec![0xfe, 5]),
        (9, 5, varints(&[1, 0, 1]), 3, vec![1, 0, 1]),
        (10, 5, varints(&[0x3c00, 0xc000]), 2, vec![0, 0x3c, 0, 0xc0]),
        (16, 5, varints(&[0x3f80]), 1, vec![0x80, 0x3f]),
        (17, 5, varints(&[0x7e, 0x38]), 2, vec![0x7e, 0x38]),
        (18, 5, varints(&[0x7e]), 1, vec![0x7e]),
        (19, 5, varints(&[0x7b]), 1, vec![0x7b]),
        (20, 5, varints(&[0x7f]), 1, vec![0x7f]),
        // Each number holds two elements.
        (22, 5, varints(&[0x21, 0x03]), 3, vec![0x21, 0x03]),
        (21, 5, varints(&[0x21, 0x43]), 4, vec![0x21, 0x43]),
    ];
    for (code, field, stored, elements, expected) in cases {
        let graph = with_weight(tensor(code, &[elements]).bytes(field, &stored)).unwrap();
        assert_eq!(data(&graph), expected, "type {code}");
        let raw = with_weight(tensor(code, &[elements]).bytes(9, &expected)).unwrap();
        assert_eq!(data(&raw), expected, "type {code}");
        let more = elements + if matches!(code, 21 | 22) { 2 } else { 1 };
        for wrong in [tensor(code, &[more]).bytes(field, &stored), tensor(code, &[more]).bytes(9, &expected)] {
            let error = with_weight(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("bytes and has {}", expected.len())), "type {code}: {error}");
        }
    }
    let strings = |count| tensor(8, &[count]).text(6, "a").text(6, "b");
    assert!(with_weight(strings(2)).is_ok());
    assert!(with_weight(strings(3)).unwrap_err().to_string().contains("needs 3 strings and has 2"));
    assert!(with_weight(tensor(24, &[1])).unwrap_err().to_string().contains("unknown element type 24"));
    assert!(with_weight(tensor(1, &[-1])).unwrap_err().to_string().contains("impossible shape [-1]"));
    assert!(with_weight(tensor(1, &[1 << 32, 1 << 28])).unwrap_err().to_string().contains("impossible shape"));
}

#[test]
fn a_path_is_followed_62_levels_deep_and_the_rest_is_one_more() {
    for (levels, parts) in [(1, 1), (62, 62), (63, 63), (64, 63), (200, 63)] {
        let name = format!("{}/MatMul", "/layer".repeat(levels));
        let path = path_of_operator(&name, None);
        assert_eq!((path.len(), path.concat()), (parts, "/layer".repeat(levels)), "{levels}");
    }
    for (levels, parts) in [(61, 61), (62, 62), (63, 62), (100, 62)] {
        let paths = (1..=levels).map(|level| vec!["m"; level].join("."));
        let modules = paths.map(|path| Module { path, class: String::new() }).collect();
        let origin = CodeOrigin { modules, ..CodeOrigin::default() };
        assert_eq!(path_of_operator("x", Some(&origin)).len(), parts, "{levels}");
    }
}

#[test]
fn the_nearest_name_shares_half_of_its_letters_at_either_end() {
    let nodes = [node("conv_1", "Relu", &["x"], &["a"]), node("MATMUL", "Relu", &["a"], &["y"])];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let nearest = |name: &str| graph.nearest_operator(name).map(|operator| operator.name.as_str());
    // Three of six, and two of six; case is ignored.
    assert_eq!(nearest("conxyz"), Some("conv_1"));
    assert_eq!(nearest("coxxyz"), None);
    assert_eq!(nearest("cxxx_1"), Some("conv_1"), "one at the beginning and two at the end");
    assert_eq!(nearest("xxxxx1"), None);
    assert_eq!(nearest("matmul"), Some("MATMUL"));
    assert_eq!(nearest("xatmul"), Some("MATMUL"));
}
