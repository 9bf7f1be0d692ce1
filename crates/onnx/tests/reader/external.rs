//! External data: only in the model's own directory, and only as much as exists.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use opscope_onnx::{Graph, OnnxError};
use tempfile::TempDir;

use crate::wire::{Message, graph, model, node, subgraph};

/// `TensorProto` of four floats in a file beside the model.
fn tensor(entries: &[(&str, &str)]) -> Message {
    let tensor = Message::default().int(1, 4).int(2, 1).text(8, "w");
    let with_entries = entries
        .iter()
        .fold(tensor, |tensor, (key, value)| tensor.message(13, Message::default().text(1, key).text(2, value)));
    with_entries.int(14, 1)
}

fn file(entries: &[(&str, &str)]) -> Vec<u8> {
    let add = node("add", "Add", &["x", "w"], &["y"]);
    model(graph(&[add], &["x"], &["y"]).message(5, tensor(entries)))
}

/// Returns a directory `model` with a file, beside a file that the model must not reach.
fn directory() -> TempDir {
    let outer = TempDir::new().unwrap();
    fs::create_dir_all(outer.path().join("model/data")).unwrap();
    fs::write(outer.path().join("secret.bin"), [0; 64]).unwrap();
    fs::write(outer.path().join("model/w.bin"), [0; 16]).unwrap();
    fs::write(outer.path().join("model/data/w.bin"), [0; 32]).unwrap();
    outer
}

fn load(outer: &Path, bytes: &[u8]) -> Result<Graph, String> {
    let path = outer.join("model/model.onnx");
    fs::write(&path, bytes).unwrap();
    Graph::load(&path).map_err(|error| {
        assert!(matches!(error, OnnxError::ExternalData { .. }), "{error}");
        error.to_string()
    })
}

#[test]
fn data_in_the_models_directory_or_below_is_found() {
    let outer = directory();
    for entries in [
        vec![("location", "w.bin")],
        vec![("location", "./data/w.bin"), ("offset", "16"), ("length", "16")],
        vec![("location", "data/w.bin"), ("offset", "")],
    ] {
        load(outer.path(), &file(&entries)).unwrap();
    }
}

#[test]
fn a_link_within_the_directory_is_followed_and_one_that_leads_out_is_not() {
    let outer = directory();
    symlink("data/w.bin", outer.path().join("model/inside.bin")).unwrap();
    symlink("../secret.bin", outer.path().join("model/outside.bin")).unwrap();
    symlink("..", outer.path().join("model/up")).unwrap();
    load(outer.path(), &file(&[("location", "inside.bin")])).unwrap();
    for location in ["outside.bin", "up/secret.bin"] {
        let error = load(outer.path(), &file(&[("location", location)])).unwrap_err();
        assert!(error.contains("leads out of the model's directory"), "{error}");
    }
}

#[test]
fn data_in_the_directory_that_a_linked_model_really_lies_in_is_found() {
    // The layout of Hugging Face's cache.
    let outer = TempDir::new().unwrap();
    let at = |name: &str| outer.path().join(name);
    fs::create_dir_all(at("snapshots/main/onnx")).unwrap();
    fs::create_dir(at("blobs")).unwrap();
    fs::write(at("blobs/1f"), file(&[("location", "model.onnx_data")])).unwrap();
    fs::write(at("blobs/2e"), [0; 16]).unwrap();
    symlink("../../../blobs/1f", at("snapshots/main/onnx/model.onnx")).unwrap();
    let data = at("snapshots/main/onnx/model.onnx_data");
    symlink("../../../blobs/2e", &data).unwrap();
    Graph::load(&at("snapshots/main/onnx/model.onnx")).unwrap();
    // A link elsewhere, with the data beside the file that it leads to.
    fs::write(at("blobs/model.onnx_data"), [0; 16]).unwrap();
    symlink("blobs/1f", at("short.onnx")).unwrap();
    Graph::load(&at("short.onnx")).unwrap();
    // Nothing else may be read.
    fs::write(at("secret"), [0; 16]).unwrap();
    fs::remove_file(&data).unwrap();
    symlink("../../../secret", &data).unwrap();
    let error = Graph::load(&at("snapshots/main/onnx/model.onnx")).unwrap_err().to_string();
    assert!(error.contains("leads out of the model's directory"), "{error}");
}

#[test]
fn what_is_outside_missing_short_or_not_a_file_is_named() {
    let outer = directory();
    let absolute = outer.path().join("model/w.bin");
    for (entries, reason) in [
        (vec![("location", "../secret.bin")], "outside of the model's directory"),
        (vec![("location", "data/../../secret.bin")], "outside of the model's directory"),
        (vec![("location", absolute.to_str().unwrap())], "outside of the model's directory"),
        (vec![("location", "nowhere.bin")], "No such file"),
        (vec![("location", "data")], "not a regular file"),
        (vec![("location", "")], "no location"),
        (vec![], "no location"),
        (vec![("location", "w.bin"), ("offset", "4")], "needs 16 bytes from 4 on, 'w.bin' has 16"),
        (vec![("location", "w.bin"), ("offset", "18446744073709551615")], "has 16 bytes"),
        (vec![("location", "w.bin"), ("offset", "-1")], "not a number"),
        (vec![("location", "w.bin"), ("length", "12")], "12 bytes, its shape needs 16"),
    ] {
        let error = load(outer.path(), &file(&entries)).unwrap_err();
        assert!(error.contains(reason) && error.contains("'w'"), "{entries:?}: {error}");
    }
}

#[test]
fn a_pipe_or_a_device_is_refused_with_what_it_is_and_not_waited_for() {
    let outer = directory();
    let pipe = outer.path().join("model/pipe.bin");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = load(outer.path(), &file(&[("location", "pipe.bin")])).unwrap_err();
    assert!(error.contains("'pipe.bin' is not a regular file but a named pipe"), "{error}");
    for (path, kind) in [(pipe.as_path(), "a named pipe"), (Path::new("/dev/zero"), "a device")] {
        let error = Graph::load(path).unwrap_err().to_string();
        assert!(error.contains(kind), "{error}");
    }
}

#[test]
fn data_of_attributes_and_inner_graphs_is_checked_as_well() {
    let outer = directory();
    let stolen = || tensor(&[("location", "../secret.bin")]);
    let constant = |value| Message::default().text(1, "value").message(5, value).int(20, 4);
    let in_attribute = node("constant", "Constant", &[], &["w"]).message(5, constant(stolen()));
    let inner = graph(&[], &[], &["w"]).message(5, stolen());
    let in_branch = node("choose", "If", &["x"], &["w"]).message(5, subgraph("then_branch", inner));
    for node in [in_attribute, in_branch] {
        let error = load(outer.path(), &model(graph(&[node], &["x"], &["w"]))).unwrap_err();
        assert!(error.contains("outside of the model's directory"), "{error}");
    }
}
