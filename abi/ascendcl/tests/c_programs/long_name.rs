//! An operator whose name has no room in a chunk.

use std::fs;

use tempfile::TempDir;

use super::support::{Language, program};

/// A field of a protobuf message that has a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut left = content.len();
    while left >= 128 {
        bytes.push(left as u8 | 128);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes.extend(content);
    bytes
}

/// A field with a small number.
fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// An ONNX file of two operators, the first of which has this name.
fn model(name: &str) -> Vec<u8> {
    let node = |input: &str, output: &str, name: &str| {
        let fields = [(1, input), (2, output), (3, name), (4, "Relu")];
        field(1, &fields.map(|(number, text)| field(number, text.as_bytes())).concat())
    };
    let value = |of: u8, name: &str| {
        let shape = field(2, &field(1, &number(1, 4)));
        let tensor = field(1, &[number(1, 1), shape].concat());
        field(of, &[field(1, name.as_bytes()), field(2, &tensor)].concat())
    };
    let graph = [node("x", "t", name), node("t", "y", "last"), field(2, b"two"), value(11, "x"), value(12, "y")];
    [number(1, 8), field(7, &graph.concat()), field(8, &number(2, 17))].concat()
}

#[test]
fn a_name_that_has_no_room_in_a_chunk_becomes_digits() {
    let directory = TempDir::new().expect("a directory");
    for (name, expected) in [("short", "named 1"), (&"n".repeat(400), "long 1"), (&"n".repeat(5000), "digits 1")] {
        let path = directory.path().join("model.onnx");
        fs::write(&path, model(name)).expect("a file");
        for language in Language::ALL {
            let printed = program("long_name.c").argument(path.to_str().expect("UTF-8")).run_as(language);
            assert_eq!(printed.stderr, "");
            let lines: Vec<&str> = printed.stdout.lines().collect();
            let [first, last] = lines[..] else { panic!("{lines:?} are not two files") };
            let is_digits = |name: &str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_digit());
            let (what, fits) = first.split_once(' ').expect("two words");
            let what = if is_digits(what) { "digits" } else { what };
            assert_eq!((format!("{what} {fits}").as_str(), last), (expected, "named 1"));
        }
    }
}
