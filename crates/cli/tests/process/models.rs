//! Small models, written as ONNX files by hand.

/// A node: its name, its type, its inputs and its outputs.
pub type Node<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str]);

/// A model of these nodes over floats: inputs and outputs with their lengths, and initializers with their elements.
pub fn model(
    nodes: &[Node<'_>],
    inputs: &[(&str, u64)],
    weights: &[(&str, &[f32])],
    outputs: &[(&str, u64)],
) -> Vec<u8> {
    const FLOAT: u64 = 1;
    let texts =
        |field, texts: &[&str]| texts.iter().flat_map(|text| bytes(field, text.as_bytes())).collect::<Vec<u8>>();
    let node = |(name, op_type, inputs, outputs): &Node<'_>| {
        [texts(1, inputs), texts(2, outputs), texts(3, &[name]), texts(4, &[op_type])].concat()
    };
    let weight = |(name, elements): &(&str, &[f32])| {
        let data: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        [number(1, elements.len() as u64), number(2, FLOAT), texts(8, &[name]), bytes(9, &data)].concat()
    };
    let value = |(name, length): &(&str, u64)| {
        let shape = bytes(1, &number(1, *length));
        let tensor = [number(1, FLOAT), bytes(2, &shape)].concat();
        [texts(1, &[name]), bytes(2, &bytes(1, &tensor))].concat()
    };
    let graph = [
        nodes.iter().flat_map(|part| bytes(1, &node(part))).collect::<Vec<u8>>(),
        texts(2, &["small"]),
        weights.iter().flat_map(|part| bytes(5, &weight(part))).collect(),
        inputs.iter().flat_map(|part| bytes(11, &value(part))).collect(),
        outputs.iter().flat_map(|part| bytes(12, &value(part))).collect(),
    ];
    [number(1, 8), bytes(7, &graph.concat()), bytes(8, &number(2, 13))].concat()
}

/// A field that is a text, bytes or a message.
fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// A field that is a number.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
