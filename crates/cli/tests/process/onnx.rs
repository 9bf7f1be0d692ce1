//! Small ONNX files, made for a test or changed for it.

/// The numbers of element types in ONNX files.
pub const FLOAT32: u8 = 1;
pub const FLOAT16: u8 = 10;

/// A node: its name, its operator, its domain, its inputs, its outputs and its attributes, which are integers.
pub struct Node<'a> {
    pub name: &'a str,
    pub op_type: &'a str,
    pub domain: &'a str,
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    pub attributes: Vec<(&'a str, u64)>,
}

/// An input or output: its name, and its dimensions, which are numbers or names.
pub type Port<'a> = (&'a str, &'a [&'a str]);

/// Returns a node without a domain.
pub fn node<'a>(name: &'a str, op_type: &'a str, inputs: &[&'a str], outputs: &[&'a str]) -> Node<'a> {
    Node { name, op_type, domain: "", inputs: inputs.to_vec(), outputs: outputs.to_vec(), attributes: Vec::new() }
}

/// A float32 initializer of one dimension: its name and its elements.
pub type Weight<'a> = (&'a str, &'a [f32]);

/// Returns the bytes of a file with this graph, whose values are float32.
pub fn file(graph: &str, producer: &str, inputs: &[Port<'_>], nodes: &[Node<'_>], outputs: &[Port<'_>]) -> Vec<u8> {
    Graph { name: graph, element_type: FLOAT32, inputs, nodes, weights: &[], data: &[], outputs }.file(producer)
}

/// Returns the bytes of a file of these nodes, with initializers.
pub fn weighted(inputs: &[Port<'_>], nodes: &[Node<'_>], weights: &[Weight<'_>], outputs: &[Port<'_>]) -> Vec<u8> {
    Graph { name: "weighted", element_type: FLOAT32, inputs, nodes, weights, data: &[], outputs }.file("a test")
}

/// A float32 initializer whose data is in a file beside the model, from the file's first byte on: its name, its
/// dimensions and the file.
pub type Data<'a> = (&'a str, &'a [u64], &'a str);

/// Returns the bytes of a file of these nodes, with data beside it.
pub fn with_data(inputs: &[Port<'_>], nodes: &[Node<'_>], data: &[Data<'_>], outputs: &[Port<'_>]) -> Vec<u8> {
    Graph { name: "with data", element_type: FLOAT32, inputs, nodes, weights: &[], data, outputs }.file("a test")
}

/// Returns the bytes of a file with a chain of this many operators of two inputs (`Add`, `Mul`). Each takes the output
/// of the previous one twice. The values are `v0`, `v1`, ..., each of four elements.
pub fn chain(operators: usize, op_type: &str, element_type: u8) -> Vec<u8> {
    let values: Vec<String> = (0..=operators).map(|index| format!("v{index}")).collect();
    let nodes: Vec<Node<'_>> =
        values.windows(2).map(|ends| node("", op_type, &[&ends[0], &ends[0]], &[&ends[1]])).collect();
    let (inputs, outputs) = ([("v0", &["4"][..])], [(&*values[operators], &["4"][..])]);
    let (name, weights, data) = ("chain", &[], &[]);
    let graph = Graph { name, element_type, inputs: &inputs, nodes: &nodes, weights, data, outputs: &outputs };
    graph.file("a test")
}

struct Graph<'a> {
    name: &'a str,
    element_type: u8,
    inputs: &'a [Port<'a>],
    nodes: &'a [Node<'a>],
    weights: &'a [Weight<'a>],
    data: &'a [Data<'a>],
    outputs: &'a [Port<'a>],
}

impl Graph<'_> {
    fn file(&self, producer: &str) -> Vec<u8> {
        let nodes = self.nodes.iter().flat_map(|node| field(1, &encoded(node)));
        let weights = self.weights.iter().flat_map(|weight| field(5, &encoded_weight(weight)));
        let data = self.data.iter().flat_map(|data| field(5, &encoded_data(data)));
        let ports = |number, ports: &[Port<'_>]| -> Vec<u8> {
            ports.iter().flat_map(|port| field(number, &encoded_port(port, self.element_type))).collect()
        };
        let parts: Vec<u8> = nodes.chain(text(2, self.name)).chain(weights).chain(data).collect();
        let graph = [parts, ports(11, self.inputs), ports(12, self.outputs)].concat();
        [number(1, 8), text(2, producer), field(7, &graph), field(8, &number(2, 17))].concat()
    }
}

fn encoded(node: &Node<'_>) -> Vec<u8> {
    let inputs = node.inputs.iter().flat_map(|input| text(1, input));
    let outputs = node.outputs.iter().flat_map(|output| text(2, output));
    let attribute = |(name, value): &(&str, u64)| {
        let kind = [varint(20 << 3), varint(2)].concat();
        field(5, &[text(1, name), number(3, *value), kind].concat())
    };
    let attributes = node.attributes.iter().flat_map(attribute);
    let rest = [text(3, node.name), text(4, node.op_type), text(7, node.domain)].concat();
    inputs.chain(outputs).chain(attributes).chain(rest).collect()
}

fn encoded_port((name, dims): &Port<'_>, element_type: u8) -> Vec<u8> {
    let dim = |dim: &&str| match dim.parse() {
        Ok(size) => field(1, &number(1, size)),
        Err(_) => field(1, &text(2, dim)),
    };
    let shape: Vec<u8> = dims.iter().flat_map(dim).collect();
    let tensor = [number(1, u64::from(element_type)), field(2, &shape)].concat();
    [text(1, name), field(2, &field(1, &tensor))].concat()
}

fn encoded_weight((name, elements): &Weight<'_>) -> Vec<u8> {
    let data: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    [number(1, elements.len() as u64), number(2, u64::from(FLOAT32)), text(8, name), field(9, &data)].concat()
}

fn encoded_data((name, dims, location): &Data<'_>) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| number(1, *dim)).collect();
    let place = field(13, &[text(1, "location"), text(2, location)].concat());
    [dims, number(2, u64::from(FLOAT32)), text(8, name), place, number(14, 1)].concat()
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

/// Returns the same model, with each of these texts replaced by another one of the same length.
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

/// Returns the same model, with another byte in an initializer's raw data.
pub fn with_changed_initializer(model: &[u8], name: &str) -> Vec<u8> {
    // The name is field 8 of the tensor. Field 9 follows it, which is the data: its tag, its length, its bytes.
    let named = [&[8 << 3 | 2, name.len() as u8], name.as_bytes(), &[9 << 3 | 2]].concat();
    let at = model.windows(named.len()).position(|text| text == named).unwrap();
    let length = model[at + named.len()..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let mut model = model.to_vec();
    // This changes the exponent of the first float.
    model[at + named.len() + length + 3] ^= 0x40;
    model
}
