//! Weights as external data, one of them larger than two gigabytes. The file is sparse and takes no disk space.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use opscope_model::{Engine, Fidelity, LoadOptions, NoObserver};
use opscope_tensor::Tensor;

use crate::support::{engine, graph, outputs, tensor};

/// More elements of float32 than two gigabytes have.
const ELEMENTS: u64 = (1 << 29) + 16;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u8, value: u64) -> Vec<u8> {
    [vec![field << 3], varint(value)].concat()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [vec![number << 3 | 2], varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn port(name: &str, element: u64) -> Vec<u8> {
    let shape = field(1, &number(1, 2));
    [field(1, name.as_bytes()), field(2, &field(1, &[number(1, element), field(2, &shape)].concat()))].concat()
}

/// `y = w[i]`.
fn model() -> Vec<u8> {
    let node = [field(1, b"w"), field(1, b"i"), field(2, b"y"), field(3, b"take"), field(4, b"Gather")].concat();
    let place = [field(1, b"location"), field(2, b"w.bin")].concat();
    let weight = [number(1, ELEMENTS), number(2, 1), field(8, b"w"), field(13, &place), number(14, 1)].concat();
    let ports = [field(11, &port("i", 7)), field(12, &port("y", 1))].concat();
    let graph = [field(1, &node), field(2, b"large"), field(5, &weight), ports].concat();
    [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat()
}

fn write_weight(path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len(ELEMENTS * 4).unwrap();
    file.write_all_at(&7f32.to_le_bytes(), (ELEMENTS - 1) * 4).unwrap();
}

#[test]
fn a_tensor_of_more_than_two_gigabytes_is_read_from_its_file_also_where_links_lead_to_it() {
    let Some(engine) = engine() else { return };
    let place = tempfile::tempdir().unwrap();
    let [plain, blobs, snapshot] = ["plain", "blobs", "snapshot"].map(|name| place.path().join(name));
    [&plain, &blobs, &snapshot].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
    fs::write(plain.join("m.onnx"), model()).unwrap();
    write_weight(&plain.join("w.bin"));
    // The layout of Hugging Face's cache.
    fs::write(blobs.join("1234"), model()).unwrap();
    write_weight(&blobs.join("abcd"));
    symlink("../blobs/1234", snapshot.join("m.onnx")).unwrap();
    symlink("../blobs/abcd", snapshot.join("w.bin")).unwrap();
    for directory in [plain, snapshot] {
        let graph = graph(&directory.join("m.onnx"));
        let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
        let model = engine.load(graph, &options).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let taken = [Tensor::from_i64(vec![2], &[0, ELEMENTS as i64 - 1]).unwrap()];
        let found = outputs(&*model.plan(&taken).unwrap(), &taken, &NoObserver);
        assert_eq!(found, [Some(tensor(&[2], &[0.0, 7.0]))]);
    }
}
