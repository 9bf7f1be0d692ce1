//! Small ONNX files with whatever names a test wants.

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
