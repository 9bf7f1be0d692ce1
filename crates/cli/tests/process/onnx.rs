//! Small ONNX files with whatever names a test wants, and files that differ a little from others.

/// The numbers of element types.
pub const FLOAT32: u8 = 1;
pub const FLOAT16: u8 = 10;

/// A node: its name, its operator, its domain, what it takes and what it gives.
pub struct Node<'a> {
    pub name: &'a str,
    pub op_type: &'a str,
    pub domain: &'a str,
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
}

/// A float32 input or output: its name, and its dimensions, which are numbers or names.
pub type Port<'a> = (&'a str, &'a [&'a str]);

/// A node without a domain that gives one value.
pub fn node<'a>(name: &'a str, op_type: &'a str, inputs: &[&'a str], outputs: &[&'a str]) -> Node<'a> {
    Node { name, op_type, domain: "", inputs: inputs.to_vec(), outputs: outputs.to_vec() }
}

/// The bytes of a file with this graph.
pub fn file(graph: &str, producer: &str, inputs: &[Port<'_>], nodes: &[Node<'_>], outputs: &[Port<'_>]) -> Vec<u8> {
    let nodes = nodes.iter().flat_map(|node| field(1, &encoded(node)));
    let ports = |number, ports: &[Port<'_>]| -> Vec<u8> {
        ports.iter().flat_map(|port| field(number, &encoded_port(port))).collect()
    };
    let graph = [nodes.collect(), text(2, graph), ports(11, inputs), ports(12, outputs)].concat();
    [number(1, 8), text(2, producer), field(7, &graph), field(8, &number(2, 17))].concat()
}

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

fn encoded(node: &Node<'_>) -> Vec<u8> {
    let inputs = node.inputs.iter().flat_map(|input| text(1, input));
    let outputs = node.outputs.iter().flat_map(|output| text(2, output));
    let rest = [text(3, node.name), text(4, node.op_type), text(7, node.domain)].concat();
    inputs.chain(outputs).chain(rest).collect()
}

fn encoded_port((name, dims): &Port<'_>) -> Vec<u8> {
    let dim = |dim: &&str| match dim.parse() {
        Ok(size) => field(1, &number(1, size)),
        Err(_) => field(1, &text(2, dim)),
    };
    let shape: Vec<u8> = dims.iter().flat_map(dim).collect();
    let float32 = [number(1, 1), field(2, &shape)].concat();
    [text(1, name), field(2, &field(1, &float32))].concat()
}

fn text(number: u8, text: &str) -> Vec<u8> {
    field(number, text.as_bytes())
}

fn number(field: u8, value: u64) -> Vec<u8> {
    [vec![field << 3], varint(value)].concat()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [vec![number << 3 | 2], varint(bytes.len() as u64), bytes.to_vec()].concat()
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
