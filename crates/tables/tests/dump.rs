//! Every value of the table of a dump's tensors.

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use opscope_dump::{Contents, Delivery, DirectorySink, DumpInfo, Dumper, Request, StoredDump};
use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels, looping};
use opscope_tables::export_dump;
use opscope_tensor::{DType, Tensor, npy};
use support::{expect, rows};

const COLUMNS: &str = "model_name run operator op_type position iterations io slot value dtype shape size_bytes min max mean \
                       nan inf xxh3 module class source";
/// -2.5 to 7.25, a NaN and three infinite ones: the mean is that of -2.5, 1, 0.25, 7.25.
const VALUES: [f32; 8] = [1.0, -2.5, 0.25, f32::NAN, f32::INFINITY, 7.25, f32::INFINITY, f32::NEG_INFINITY];

fn values() -> Tensor {
    Tensor::from_f32(vec![2, 4], &VALUES).unwrap()
}

fn dump(root: &Path, plan: &FakePlan, path: &str) -> StoredDump {
    let mut info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    info.model.path = path.to_owned();
    let dumper = Dumper::new();
    let sink = DirectorySink::create(root, Contents::Statistics, &info).unwrap();
    let request = Request { delivery: Some(Delivery::Direct), ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    dumper.add_plan(plan, plan).unwrap();
    for run in [3, 4] {
        plan.run_with(&dumper, run).unwrap();
    }
    dumper.finish().unwrap();
    StoredDump::open(root).unwrap()
}

#[test]
fn a_tensor_has_its_place_its_type_and_its_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let graph = GraphBuilder::new("graph")
        .input("x", &[2, 4])
        .operator("first", "Relu", &["x"], &["a"])
        .operator("second", "Split", &["a"], &["b", "c"])
        .output("b");
    let graph = Arc::new(graph.build());
    let both = kernels(&graph, &[&["first"], &["second"]]);
    let plan = FakePlan::new(&graph, both, Fidelity::Exact, |kernel, _| {
        let scalar = Tensor::new(DType::I64, vec![], (-9i64).to_le_bytes().to_vec()).unwrap();
        Ok(if kernel.id.index() == 0 { vec![values()] } else { vec![values(), scalar] })
    });
    let stored = dump(&dir.path().join("dump"), &plan, "some/where/net.v2.onnx");
    let (exported, problems) = export_dump(&stored, dir.path()).unwrap();
    let path = dir.path().join("tensors.parquet");
    assert_eq!((exported.written, problems), (vec![path.clone()], vec![]));
    // The hashes are those of the Python package xxhash.
    let spread = "'float32' | '2,4' | 32 | -2.5 | 7.25 | 1.5 | 1 | 3 | '8ec980d0f422cd26'";
    let scalar = "'int64' | '' | 8 | -9 | -9 | -9 | 0 | 0 | 'ee4572b6cacfc3ba'";
    let mut expected = Vec::new();
    for run in [3, 4] {
        for (place, numbers) in [
            ("'first' | 'Relu' | 0 | null | 'output' | 0 | 'a'", spread),
            ("'second' | 'Split' | 1 | null | 'output' | 0 | 'b'", spread),
            ("'second' | 'Split' | 1 | null | 'output' | 1 | 'c'", scalar),
        ] {
            expected.push(format!("'net.v2' | {run} | {place} | {numbers} | null | null | null"));
        }
    }
    expect(&path, COLUMNS, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    let (again, _) = export_dump(&stored, dir.path()).unwrap();
    assert_eq!((again.written.len(), again.existed), (0, vec![path]));
}

#[test]
fn a_tensor_in_a_loop_has_its_iterations() {
    let dir = tempfile::tempdir().unwrap();
    let stored = dump(&dir.path().join("dump"), &looping(2), "");
    export_dump(&stored, dir.path()).unwrap();
    let mut found = Vec::new();
    for row in rows(&dir.path().join("tensors.parquet")) {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        assert_eq!(value("model_name"), "'looping'", "the graph's name where there is no file");
        if value("operator") == "'Loop_0/Add_0'" && value("run") == "3" {
            found.push((value("iterations"), value("min"), value("max"), value("mean")));
        }
    }
    let expected = [("'[0]'", "1", "12", "6.5"), ("'[1]'", "2", "14", "8")]
        .map(|(iteration, min, max, mean)| (iteration.to_owned(), min.to_owned(), max.to_owned(), mean.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn of_arrays_the_data_itself_has_the_statistics_and_no_more_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let arrays = dir.path().join("arrays");
    fs::create_dir(&arrays).unwrap();
    npy::write(&values().view(), &mut File::create(arrays.join("a.npy")).unwrap()).unwrap();
    let stored = StoredDump::open(&arrays).unwrap();
    let (_, problems) = export_dump(&stored, dir.path()).unwrap();
    assert_eq!(problems, [] as [String; 0]);
    let numbers = "'float32' | '2,4' | 32 | -2.5 | 7.25 | 1.5 | 1 | 3 | '8ec980d0f422cd26'";
    let row = format!("null | null | null | null | null | null | null | null | 'a' | {numbers} | null | null | null");
    expect(&dir.path().join("tensors.parquet"), COLUMNS, &[&row]);
}
