//! The statistics of tensors, in every place where they are stored. The numbers are numpy's; the hashes are those of
//! the Python package xxhash.

use std::collections::HashMap;
use std::path::Path;

use opscope_dump::{Contents, DirectorySink, DumpInfo, IndexLine, Inspection, StoredDump};
use opscope_model::Fidelity;
use opscope_tensor::{DType, Digest, Tensor};

use crate::{floats, giving, run_into};

fn dumped(root: &Path, contents: Contents, tensors: Vec<Tensor>) {
    let plan = giving("Relu", tensors);
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(root, contents, &info).unwrap().with_histograms().unwrap();
    run_into(&plan, Box::new(sink), 1);
}

/// Returns the row of a tensor in `statistics.csv`, by the titles of its columns.
fn row(root: &Path, number: usize) -> HashMap<String, String> {
    let text = std::fs::read_to_string(root.join("statistics.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    titles.into_iter().zip(lines.nth(number).unwrap()).collect()
}

const POSITIVE: [f32; 8] = [1.0, -2.5, 0.0, f32::NAN, f32::INFINITY, 0.0, 7.25, f32::INFINITY];
const NEGATIVE: [f32; 8] = [1.0, -2.5, 0.0, f32::NAN, f32::NEG_INFINITY, 0.0, 7.25, f32::NEG_INFINITY];

#[test]
fn the_table_of_statistics_has_every_number_and_infinite_extremes() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let whole = Tensor::new(DType::F64, vec![1, 2, 1], [3f64, -4.0].map(f64::to_le_bytes).concat()).unwrap();
    let scalar = Tensor::new(DType::F64, vec![], 1.5f64.to_le_bytes().to_vec()).unwrap();
    let nothing = floats(&[f32::NAN, f32::NAN]);
    dumped(&root, Contents::Statistics, vec![floats(&POSITIVE), floats(&NEGATIVE), whole, scalar, nothing]);
    let expect = |number: usize, expected: &[(&str, &str)]| {
        let row = row(&root, number);
        for (title, value) in expected {
            assert_eq!(row[*title], *value, "{title} of row {number}");
        }
    };
    expect(
        0,
        &[
            ("Run", "0"),
            ("Op Name", "op"),
            ("Op Type", "Relu"),
            ("Value", "y0"),
            ("Input/Output", "Output"),
            ("Index", "0"),
            ("Data Size", "32"),
            ("Data Type", "DT_FLOAT"),
            ("Format", "ND"),
            ("Shape", "8"),
            // An infinite element makes the maximum infinite, and the mean is that of the finite elements.
            ("Max Value", "inf"),
            ("Min Value", "-2.5"),
            ("Avg Value", "1.15"),
            ("Count", "8"),
            ("Nan Count", "1"),
            ("Negative Inf Count", "0"),
            ("Positive Inf Count", "2"),
            ("Zero Count", "2"),
            ("XXH3", "e3cfc19aebd9be0a"),
            ("Iteration", "NA"),
        ],
    );
    expect(
        1,
        &[
            ("Index", "1"),
            ("Max Value", "7.25"),
            ("Min Value", "-inf"),
            ("Negative Inf Count", "2"),
            ("Positive Inf Count", "0"),
            ("XXH3", "d2759bcf97c2502f"),
        ],
    );
    for number in [0, 1] {
        let row = row(&root, number);
        let near = |title: &str, expected: f64| (row[title].parse::<f64>().unwrap() - expected).abs() < 1e-12;
        assert!(near("Std", 3.261901286060018) && near("L2norm", 7.73385414912901), "{row:?}");
    }
    expect(
        2,
        &[
            ("Shape", "1x2x1"),
            ("Data Size", "16"),
            ("Data Type", "DT_DOUBLE"),
            ("Max Value", "3"),
            ("Min Value", "-4"),
            ("Avg Value", "-0.5"),
            ("L2norm", "5"),
            ("Std", "3.5"),
            ("Zero Count", "0"),
        ],
    );
    expect(3, &[("Shape", "-"), ("Max Value", "1.5"), ("Min Value", "1.5"), ("Std", "0"), ("Count", "1")]);
    expect(
        4,
        &[
            ("Max Value", "NA"),
            ("Min Value", "NA"),
            ("Avg Value", "NA"),
            ("Std", "NA"),
            ("L2norm", "NA"),
            ("Nan Count", "2"),
        ],
    );
}

#[test]
fn the_index_counts_the_infinite_of_either_sign() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let both = floats(&[f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NAN, 4.0, 2.0]);
    dumped(&root, Contents::Tensors, vec![floats(&POSITIVE), both]);
    let text = std::fs::read_to_string(root.join("index.jsonl")).unwrap();
    let lines: Vec<IndexLine> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, second] = &lines[..] else { panic!("two tensors") };
    assert_eq!((first.min, first.max, first.mean), (Some(-2.5), Some(7.25), Some(1.15)));
    assert_eq!((first.nan, first.inf, first.bytes), (Some(1), Some(2), 32));
    assert_eq!(first.xxh3, Some(Digest(0xe3cf_c19a_ebd9_be0a)));
    assert_eq!((second.min, second.max, second.mean), (Some(2.0), Some(4.0), Some(3.0)));
    assert_eq!((second.nan, second.inf, second.slot, second.position), (Some(1), Some(3), 1, Some(0)));
    let manifest = StoredDump::open(&root).unwrap().manifest.unwrap();
    assert_eq!((manifest.tensors, manifest.bytes), (2, 56));
}

#[test]
fn an_inspection_says_every_number_of_every_tensor() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let long: Vec<f32> = (0..9u8).map(f32::from).collect();
    dumped(&root, Contents::Tensors, vec![floats(&NEGATIVE), floats(&long)]);
    let inspection = Inspection::of(&root).unwrap();
    let json = inspection.json();
    let statistics = &json["tensors"][0]["statistics"];
    for (key, expected) in
        [("min", -2.5), ("max", 7.25), ("mean", 1.15), ("std", 3.261901286060018), ("l2", 7.73385414912901)]
    {
        assert!((statistics[key].as_f64().unwrap() - expected).abs() < 1e-12, "{key}: {statistics}");
    }
    for (key, expected) in [("count", 8), ("nan", 1), ("positive_infinite", 0), ("negative_infinite", 2), ("zeros", 2)]
    {
        assert_eq!(statistics[key], expected, "{key}");
    }
    assert_eq!(statistics["xxh3"], "d2759bcf97c2502f");
    assert_eq!(
        statistics["histogram"],
        serde_json::json!([[-2.0, -4.0, 1], [0.0, 0.0, 2], [1.0, 2.0, 1], [2.0, 4.0, 0], [4.0, 8.0, 1]])
    );
    // The first tensor has eight elements. Eight elements of the second one are shown, and its bars are at most 40
    // columns wide.
    let first = Inspection::of(&root.join("run-0000/00000-op.output0.npy")).unwrap().text();
    assert!(first.contains("first elements: ") && !first.contains("..."), "{first}");
    let alone = Inspection::of(&root.join("run-0000/00000-op.output1.npy")).unwrap();
    assert_eq!(alone.tensors[0].as_ref().unwrap().first.len(), 8);
    let text = alone.text();
    assert!(text.contains("first elements: 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ...\n"), "{text}");
    let bars: Vec<(u64, usize)> = text
        .lines()
        .filter(|line| line.ends_with('#'))
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().rev().collect();
            (parts[1].parse().unwrap(), parts[0].len())
        })
        .collect();
    // 0; 1; 2 and 3; 4 to 7; 8.
    assert_eq!(bars, [(1, 10), (1, 10), (2, 20), (4, 40), (1, 10)]);
    let both = inspection.text();
    assert!(both.contains("2 tensors, 68 B"), "{both}");
    assert!(inspection.verdict().contains("2 tensors were read and compared with their hashes\n"));
}

#[test]
fn a_histogram_of_a_tensor_in_pieces_counts_half_bytes_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    // -1 and -8, 7, and half a byte that is not part of the tensor.
    dumped(&root, Contents::Statistics, vec![Tensor::new(DType::I4, vec![3], vec![0x8f, 0x77]).unwrap()]);
    let text = std::fs::read_to_string(root.join("histograms.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let bins = serde_json::json!([[-8.0, -16.0, 1], [-4.0, -8.0, 0], [-2.0, -4.0, 0], [-1.0, -2.0, 1], [4.0, 8.0, 1]]);
    assert_eq!((&line["bins"], &line["non_finite"], &line["run"]), (&bins, &0.into(), &0.into()));
}
