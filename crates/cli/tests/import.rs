//! `opscope import`: traces and dumps of other tools, and the commands that take what it writes.

mod process;

use std::fmt::Write;
use std::fs;

use process::disk::{SmallDisk, with_disks};
use process::{Ended, Workplace, end};
use serde_json::Value;

fn opscope(place: &Workplace, arguments: &[&str]) -> Ended {
    end(&mut place.command(arguments))
}

/// A trace with runs of about 200 ms, long enough for each to count for itself, every fourth of which takes 4 ms more.
/// One module takes `slow` times 200 microseconds, another one 60 ms.
fn trace(runs: u32, slow: u32) -> String {
    let mut text = String::from("{\"schemaVersion\": 1, \"traceEvents\": [");
    let event = |category: &str, name: &str, start: u32, duration: u32| {
        let (start, duration) = (200 * start, 200 * duration);
        format!(
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 2, \"ts\": {start}, \"dur\": {duration}}},"
        )
    };
    for run in 0..runs {
        let start = run * 5_000;
        let more = if run % 4 == 0 { 20 } else { 0 };
        let _ = write!(text, "{}", event("user_annotation", &format!("ProfilerStep#{run}"), start, 700 + slow + more));
        for (module, at, duration) in [("attention", 100, 300 + more), ("mlp", 500, slow)] {
            let _ = write!(text, "{}", event("user_annotation", module, start + at, duration));
            let _ = write!(text, "{}", event("cpu_op", "aten::mm", start + at, duration));
        }
    }
    text + "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"python\"}}]}"
}

#[test]
fn a_slower_module_of_one_of_two_traces_is_named_and_exceeds_the_threshold() {
    let place = Workplace::new();
    place.write("a.json", trace(40, 200));
    place.write("b.json", trace(40, 300));
    for name in ["a", "b"] {
        let ended = opscope(&place, &["import", &format!("{name}.json"), "--output", "out"]);
        let expected = format!(
            "imported      200 of 201 events (Kineto)\noperators     2 operators in 2 modules\nruns          40\nnot imported  1 metadata\nrecording     out/profiler/{name}\n"
        );
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), expected.as_str(), ""));
    }
    let compared = ["compare", "out/profiler/b", "--baseline", "out/profiler/a"];
    let ended = opscope(&place, &[&compared[..], &["--by", "module", "--fail-above", "5%", "--json"]].concat());
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let first = &document["operators"][0];
    assert_eq!((&first["operators"][0], &first["change"]["difference_ns"]), (&"mlp".into(), &20_000_000.0.into()));
    let same = opscope(&place, &["compare", "out/profiler/a", "--baseline", "out/profiler/a", "--fail-above", "5%"]);
    assert_eq!(same.code, Some(0), "{same:?}");
}

#[test]
fn several_traces_are_the_ranks_of_a_job_and_compared_as_such() {
    let place = Workplace::new();
    for (name, slow) in [("a0", 200), ("a1", 210), ("b0", 200), ("b1", 400)] {
        place.write(&format!("{name}.json"), trace(20, slow));
    }
    for job in ["a", "b"] {
        let files = [format!("{job}0.json"), format!("{job}1.json")];
        let ended =
            opscope(&place, &["import", &files[0], &files[1], "--output", "out", "--output-dirname", job, "--quiet"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    }
    let ended =
        opscope(&place, &["compare", "out/profiler/b", "--baseline", "out/profiler/a", "--by", "rank", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let rows: Vec<_> =
        document["operators"].as_array().unwrap().iter().map(|row| row["operators"][0].clone()).collect();
    assert_eq!(rows, ["rank1", "rank0"]);
    assert_eq!(document["operators"][0]["change"]["difference_ns"], 38_000_000.0);
}

#[test]
fn a_damaged_trace_is_read_up_to_the_damage_and_told_with_3() {
    let place = Workplace::new();
    let whole = trace(4, 200);
    place.write("cut.json", &whole[..whole.len() / 2]);
    let ended = opscope(&place, &["import", "cut.json", "--output", "out", "--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.starts_with("warning: the file ends within an event"), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&document["traces"][0]["complete"], &document["schema"]), (&false.into(), &"opscope.import/1".into()));
    assert_eq!(opscope(&place, &["inspect", "out/profiler/cut"]).code, Some(3));
}

#[test]
fn what_cannot_be_imported_is_refused_with_2_and_leaves_nothing() {
    let place = Workplace::new();
    place.write("words.json", "hello");
    place.write("other.json", "{\"a\": 1}");
    place.write("good.json", trace(1, 200));
    for (arguments, said) in [
        (&["words.json"][..], "it is a text of another kind"),
        (&["other.json"], "neither an array of events"),
        (&["missing.json"], "No such file"),
        (&["good.json", "--run", "re:("], "--run re:("),
    ] {
        let ended = opscope(&place, &[&["import", "--output", "out"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    assert!(
        fs::read_dir(place.path("out/profiler")).is_ok_and(|entries| entries.count() == 0)
            || !place.path("out").exists()
    );
}

#[test]
fn a_full_disk_is_told_and_leaves_no_recording() {
    with_disks("a_full_disk_is_told_and_leaves_no_recording", || {
        let place = Workplace::new();
        let disk = place.path("disk");
        let _mounted = SmallDisk::mount(&disk, 64);
        place.write("a.json", trace(4000, 200));
        let ended = opscope(&place, &["import", "a.json", "--output", "disk"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("No space left"), "{}", ended.stderr);
        assert_eq!(fs::read_dir(disk.join("profiler")).unwrap().count(), 0);
    });
}

#[test]
fn a_dump_of_another_tool_is_inspected_and_compared() {
    let place = Workplace::new();
    // An array of [1.0, 2.5] as safetensors has it.
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend([1.0f32, 2.5].map(f32::to_le_bytes).concat());
    place.write("w.safetensors", file);
    let ended = opscope(&place, &["import", "w.safetensors", "--output", "out"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("1 tensor, 8 B"), "{}", ended.stdout);
    assert_eq!(opscope(&place, &["compare", "out/dump/w", "out/dump/w"]).code, Some(0));
    let refused = opscope(&place, &["import", "w.safetensors", "--run", "x"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn inspect_and_compare_name_the_import_for_what_another_tool_wrote() {
    let place = Workplace::new();
    place.write("a trace.json", trace(2, 200));
    place.write("array.json", "[{\"cat\": \"Node\", \"ph\": \"X\"");
    let header = br#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    place.write("w.safetensors", [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat());
    place.write("numbers.json", "[1, 2]");
    for (file, what, command) in [
        ("a trace.json", "a trace of another tool", "opscope import 'a trace.json'"),
        ("array.json", "a trace of another tool", "opscope import array.json"),
        ("w.safetensors", "a dump of another tool", "opscope import w.safetensors"),
    ] {
        let inspected = opscope(&place, &["inspect", file]);
        let expected = format!("{file}: {what}\ntry: {command}\n");
        assert_eq!((inspected.code, inspected.stdout.as_str()), (Some(0), expected.as_str()), "{inspected:?}");
        for arguments in [&["compare", file, file][..], &["compare", file, file, "--fail-above", "5%"]] {
            let compared = opscope(&place, arguments);
            let expected = format!("it is {what}; write: {command}");
            assert!(compared.code == Some(2) && compared.stderr.contains(&expected), "{compared:?}");
        }
    }
    assert_eq!(opscope(&place, &["inspect", "numbers.json"]).code, Some(2));
}

#[test]
fn control_characters_in_names_are_read_and_told_with_3() {
    let place = Workplace::new();
    place.write("bad.json", trace(2, 200).replacen("attention", "atten\u{1}tion", 1));
    let ended = opscope(&place, &["import", "bad.json", "--output", "out"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.starts_with("imported      10 of 11 events"), "{}", ended.stdout);
    assert!(ended.stderr.contains("1 event had control characters"), "{}", ended.stderr);
}
