//! What a file selects of a model, and how often it samples. The expected values are written by hand.

use std::path::Path;
use std::time::Duration;

use opscope_acl_json::{AclConfig, DumpSection};
use opscope_dump::{IoSelection, Pattern};
use opscope_model::testing::GraphBuilder;
use opscope_onnx::Graph;
use opscope_profile::ProfilerOptions;

/// A model `net` of three operators in a row: `a`, `b` and `c`.
fn net() -> Graph {
    let net = GraphBuilder::new("net").input("x", &[2]).operator("a", "Relu", &["x"], &["y"]);
    net.operator("b", "Neg", &["y"], &["z"]).operator("c", "Abs", &["z"], &["w"]).build()
}

fn dump(layers: &str) -> DumpSection {
    let entry = format!(r#"{{"model_name": "net"{layers}}}"#);
    let text = format!(
        r#"{{"dump": {{"dump_path": "d", "dump_mode": "input", "dump_level": "op", "dump_list": [{entry}]}}}}"#
    );
    let config = AclConfig::parse(&text, Path::new("/nowhere")).unwrap_or_else(|problems| panic!("{problems:?}"));
    config.dump.expect("a dump")
}

/// The names of the operators that a selection lists.
fn listed(operators: &[Pattern]) -> Vec<&str> {
    let names = operators.iter().map(|pattern| match pattern {
        Pattern::Exact(name) => name.as_str(),
        other => panic!("{other:?} is no name"),
    });
    names.collect()
}

#[test]
fn a_layer_is_the_only_operator_that_is_captured_with_the_side_that_the_file_names() {
    let (selection, notes) = dump(r#", "layer": ["b"]"#).selection(&net()).expect("it fits");
    assert_eq!((selection.io, listed(&selection.operators)), (IoSelection::Inputs, vec!["b"]));
    assert!(selection.name_blacklist.is_empty() && notes.is_empty(), "{notes:?}");
}

#[test]
fn where_all_operators_are_captured_none_is_listed() {
    let (selection, _) = dump("").selection(&net()).expect("it fits");
    assert_eq!((selection.io, selection.operators.len()), (IoSelection::Inputs, 0));
}

#[test]
fn a_name_that_the_model_does_not_have_is_an_error_and_chooses_nothing_as_the_vendor_reads_it() {
    let dump = dump(r#", "layer": ["nix", "b"]"#);
    assert_eq!(dump.selection(&net()).expect_err("there is no 'nix'").0.len(), 1);
    let (selection, problems) = dump.selection_as_vendor(&net());
    assert_eq!(listed(&selection.expect("'b' is there").operators), ["b"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn counters_are_sampled_as_often_as_the_most_frequent_one_asks_for() {
    let text = r#"{"profiler": {"switch": "on", "output": "o", "sys_hardware_mem_freq": 100, "sys_cpu_freq": 5}}"#;
    let section = AclConfig::parse(text, Path::new("/nowhere")).expect("a file").profiler.expect("a profiler");
    let defaults = ProfilerOptions { sample_interval: Duration::from_secs(7), ..ProfilerOptions::default() };
    assert_eq!(section.options(&defaults).sample_interval, Duration::from_millis(10));
}
