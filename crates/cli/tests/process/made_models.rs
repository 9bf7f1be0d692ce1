//! ONNX files that are made for a test.

/// The numbers of element types.
pub const FLOAT32: u8 = 1;
pub const FLOAT16: u8 = 10;

/// An ONNX file of so many operators of two inputs (`Add`, `Mul`), one after the other: each takes what the one before gave,
/// twice. The values are `v0`, `v1`, ..., each of four elements.
pub fn chain(operators: usize, op_type: &str, element_type: u8) -> Vec<u8> {
    let value = |name: &str| {
        // One dimension, which is 4.
        let shape = field(2, &field(1, &[0x08, 4]));
        let tensor = [vec![0x08, element_type], shape].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    };
    let node = |index: usize| {
        let (from, to) = (format!("v{index}"), format!("v{}", index + 1));
        let ends = [field(1, from.as_bytes()), field(1, from.as_bytes()), field(2, to.as_bytes())];
        field(1, &[&ends[..], &[field(4, op_type.as_bytes())]].concat().concat())
    };
    let nodes: Vec<u8> = (0..operators).flat_map(node).collect();
    let ends = [field(11, &value("v0")), field(12, &value(&format!("v{operators}")))].concat();
    let graph = [nodes, field(2, b"chain"), ends].concat();
    [vec![0x08, 8], field(7, &graph), field(8, &[0x10, 17])].concat()
}

/// A field of a protobuf message, whose content has a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

/// The same model, in which every one of these texts is another one of the same length.
pub fn renamed(model: &[u8], names: &[(&str, &str)]) -> Vec<u8> {
    let mut model = model.to_vec();
    for (old, new) in names {
        assert_eq!(old.len(), new.len());
        let places: Vec<usize> = model
            .windows(old.len())
            .enumerate()
            .filter(|(_, text)| *text == old.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{old}");
        places.into_iter().for_each(|at| model[at..at + new.len()].copy_from_slice(new.as_bytes()));
    }
    model
}

/// The same model, in which one byte of an initializer's raw data is another one.
pub fn with_changed_initializer(model: &[u8], name: &str) -> Vec<u8> {
    // The name is field 8 of the tensor, and field 9 behind it is the data: its tag, its length, its bytes.
    let named = [&[8 << 3 | 2, name.len() as u8], name.as_bytes(), &[9 << 3 | 2]].concat();
    let at = model.windows(named.len()).position(|text| text == named).unwrap();
    let length = model[at + named.len()..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let mut model = model.to_vec();
    // The exponent of the first float.
    model[at + named.len() + length + 3] ^= 0x40;
    model
}
