//! Options of `opscope benchmark` for inputs, repetition and outputs.

mod process;

use std::fs;

use opscope::tensor::{DType, Tensor};
use process::onnx::{self, node};
use process::tensors::{close, near, numbers, read};
use process::{Workplace, end, engine, fixture, model};
use serde_json::{Value, json};

const RUN: [&str; 4] = ["--output", "out", "--output-dirname", "run"];

/// The three models with their example input and the output that another implementation computed for it.
const MODELS: [(&str, &str, &str); 3] = [
    ("digits_cnn", "image", "probabilities"),
    ("tiny_transformer", "hidden_states", "last_hidden_state"),
    ("token_classifier", "input_ids", "logits"),
];

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(4).map(|float| f64::from(f32::from_le_bytes(float.try_into().unwrap()))).collect()
}

#[test]
fn outputs_are_those_of_another_implementation_in_every_format() {
    for (name, input, output) in MODELS {
        let (file, input) = (model(&format!("{name}.onnx")), model(&format!("{name}.input.{input}.npy")));
        let expected = read(model(&format!("{name}.output.{output}.npy")));
        let place = Workplace::new();
        for format in ["NPY", "BIN", "TXT"] {
            place.benchmark_well(&["-om", &file, "-i", &input, "--outfmt", format, "-o", "out", "-od", format]);
        }
        assert!(close(&read(place.path(&format!("out/NPY/{name}_0.npy"))), &expected), "{name}");
        let bytes = fs::read(place.path(&format!("out/BIN/{name}_0.bin"))).unwrap();
        assert!(near(&floats(&bytes), &numbers(&expected)), "{name}");
        let text = place.text(&format!("out/TXT/{name}_0.txt"));
        let parsed: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!(near(&parsed, &numbers(&expected)), "{name}");
        let row = expected.shape().last().unwrap();
        assert!(text.lines().all(|line| line.split(' ').count() == *row), "a line is a row of the last dimension");
    }
}

#[test]
fn without_files_zeros_run_and_nothing_is_written_and_another_tools_command_line_gets_its_words() {
    let place = Workplace::new();
    let ended = place.benchmark_well(&["-om", &model("digits_cnn.onnx")]);
    for text in [
        "digits_cnn.onnx",
        "16 operators",
        engine::name(),
        "optimised",
        "image float32 [1, 1, 8, 8]",
        "NPU_compute_time",
        "H2D_latency",
        "D2H_latency",
        "throughput 1000*batchsize.mean(1)/NPU_compute_time.mean(",
    ] {
        assert!(ended.stdout.contains(text), "{text:?} is not in {ended:?}");
    }
    assert_eq!((ended.stderr.as_str(), place.tree("")), ("", vec![]));
}

#[test]
fn json_prints_the_summary_as_one_document_and_quiet_prints_no_messages() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let ended = place.benchmark_well(&[&[digits.as_str(), "--json", "--device", "0"], &RUN[..]].concat());
    assert_eq!(ended.json(), place.json("out/run_summary.json"));
    ended.says(&["note: --device 0"]);
    let ended = place.benchmark_well(&[&digits, "--json", "--quiet", "--device", "0"]);
    assert_eq!(ended.stderr, "");
    ended.json();
}

#[test]
fn the_summary_has_the_keys_that_scripts_look_for_and_the_numbers_that_its_list_gives() {
    let place = Workplace::new();
    place
        .benchmark_well(&[&[model("digits_cnn.onnx").as_str(), "--loop", "25", "--dym-batch", "4"], &RUN[..]].concat());
    let summary = place.json("out/run_summary.json");
    let keys = ["min", "max", "mean", "median", "P90", "P95", "P99", "P99.9", "percentile(99%)", "count"];
    for times in ["NPU_compute_time", "H2D_latency", "D2H_latency"] {
        let times = summary[times].as_object().unwrap();
        assert_eq!(times.keys().collect::<Vec<_>>(), keys);
        assert_eq!(times["count"], 25);
    }
    let compute = &summary["NPU_compute_time"];
    let mut list: Vec<f64> =
        summary["npu_compute_time_list"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    let mean = list.iter().sum::<f64>() / 25.0;
    list.sort_by(f64::total_cmp);
    let (median, p90) = (list[12], list[21] + 0.6 * (list[22] - list[21]));
    for (key, expected) in [("min", list[0]), ("max", list[24]), ("mean", mean), ("median", median), ("P90", p90)] {
        let found = compute[key].as_f64().unwrap();
        assert!((found - expected).abs() <= 1e-12 * expected, "{key}: {found}, not {expected}");
    }
    let throughput = summary["throughput"].as_f64().unwrap();
    assert!((throughput - 1000.0 * 4.0 / mean).abs() < 1e-6 * throughput);
    assert_eq!(summary["filesinfo"], json!({"0": {"infiles": [], "outfiles": ["probabilities.npy"]}}));
    assert_eq!(summary["model"]["graph"], "digits_cnn");
    for text in ["/engine/name", "/engine/version", "/engine/fidelity", "/machine/cpu", "/model/xxh3", "/run"] {
        assert!(summary.pointer(text).and_then(Value::as_str).is_some_and(|text| !text.is_empty()), "{text}");
    }
    for number in ["/pid", "/load_ms", "/peak_memory_bytes"] {
        assert!(summary.pointer(number).and_then(Value::as_f64).is_some_and(|number| number > 0.0), "{number}");
    }
}

#[test]
fn the_report_says_what_a_run_needs_in_memory_for_tensors() {
    let place = Workplace::new();
    place.write("chain.onnx", onnx::chain(3, "Add", onnx::FLOAT32));
    let exact = ["chain.onnx", "--dump", "-o", "out"];
    let report = place.benchmark_well(&[&exact[..], &["-od", "one", "--json"]].concat()).json();
    if engine::is_onnxruntime() {
        assert_eq!(report["run_memory"], Value::Null, "it does not say what it holds");
        return;
    }
    // Three tensors of four numbers of four bytes: the model's input, and the input and output of the second operator.
    assert_eq!(report["run_memory"], json!({"bytes": 48, "operator": "Add_1", "unknown": 0}));
    assert_eq!(place.json("out/one_summary.json")["run_memory"], report["run_memory"]);
    let text = place.benchmark_well(&[&exact[..], &["-od", "two", "--details"]].concat()).stdout;
    assert!(text.contains("\nmemory    48 B of tensors at once in a run, at Add_1\n"), "{text}");
}

/// Returns the samples in a run, according to the throughput of the mean, and the shape of the first input.
fn batch(report: &Value) -> (f64, Value) {
    let mean = report["NPU_compute_time"]["mean"].as_f64().unwrap();
    let samples = report["throughput"].as_f64().unwrap() * mean / 1000.0;
    (samples.round(), report["inputs"][0]["shape"].clone())
}

#[test]
fn the_batch_size_sets_the_open_batch_dimension_and_the_throughput_counts_what_ran() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for option in ["--batch-size", "--batch", "--batchsize"] {
        let ended = place.benchmark_well(&[&digits, option, "7", "--json"]);
        assert_eq!(batch(&ended.json()), (7.0, json!([7, 1, 8, 8])), "{option}");
        assert_eq!(ended.stderr, "", "{option}");
    }
    place.benchmark(&[&digits, "--batch-size", "0"]).refused(2, &["--batch-size: ", "write 1 or more"]);
    place.write("fixed.onnx", onnx::chain(3, "Add", onnx::FLOAT32));
    let input = model("digits_cnn.input.image.npy");
    for fixed in [&["fixed.onnx"][..], &[&digits, "--input", &input], &[&digits, "--dym-shape", "image:1,1,8,8"]] {
        let ended = place.benchmark_well(&[fixed, &["--batch-size", "7", "--json"]].concat());
        let (samples, shape) = batch(&ended.json());
        assert_eq!(Some(samples), shape[0].as_f64(), "{fixed:?}");
        ended.says(&["warning: --batch-size 7: the model's inputs have a batch of ", "the throughput counts what ran"]);
    }
}

#[test]
fn the_batch_size_of_another_tools_command_line_is_a_factor_of_the_throughput_and_a_warning_says_so() {
    let place = Workplace::new();
    let ended = place.benchmark_well(&["-om", &model("digits_cnn.onnx"), "--batch-size", "7", "--json"]);
    assert_eq!(batch(&ended.json()), (7.0, json!([1, 1, 8, 8])));
    ended.says(&["have a batch of 1; the throughput counts 7 samples in a run"]);
}

#[test]
fn random_input_is_the_same_for_the_same_seed_and_another_for_another() {
    let place = Workplace::new();
    let output = |name: &str, options: &[&str]| {
        let digits = model("digits_cnn.onnx");
        place.benchmark_well(&[&[digits.as_str(), "-o", "out", "-od", name], options].concat());
        read(place.path(&format!("out/{name}/probabilities.npy"))).bytes().to_vec()
    };
    let first = output("a", &["-pdt", "random", "--seed", "7"]);
    assert_eq!(first, output("b", &["--pure-data-type", "random", "--seed", "7"]));
    assert_ne!(first, output("c", &["-pdt", "random", "--seed", "8"]));
    assert_eq!(output("d", &["-pdt", "random"]), output("e", &["-pdt", "random", "--seed", "0"]));
    assert_ne!(first, output("f", &[]), "zeros without it");
    assert!(floats(&first).iter().all(|number| number.is_finite()), "valid for the element type");
}

#[test]
fn random_input_suits_every_element_type() {
    let place = Workplace::new();
    for name in ["fp16", "int8", "bool", "scalar", "if"] {
        place.benchmark_well(&[&fixture(&format!("{name}.onnx")), "-pdt", "random"]);
    }
    place.benchmark_well(&[&model("token_classifier.onnx"), "-pdt", "random", "--dym-shape", "input_ids:2,16"]);
}

#[test]
fn shapes_are_set_by_dimensions_or_by_the_batch() {
    let place = Workplace::new();
    let shape = |file: &str, option: &str, value: &str| {
        let report = place.benchmark_well(&[&model(file), option, value, "--json"]).json();
        (report["inputs"][0]["shape"].clone(), report["batchsize"].clone())
    };
    for option in ["--dym-shape", "-ds", "--dym-dims", "--dymShape"] {
        let found = shape("tiny_transformer.onnx", option, "hidden_states:4,16,64");
        assert_eq!(found, (json!([4, 16, 64]), json!(4.0)));
    }
    assert_eq!(shape("digits_cnn.onnx", "--dym-batch", "3"), (json!([3, 1, 8, 8]), json!(3.0)));
}

#[test]
fn a_range_of_shapes_gives_a_table_with_the_highest_throughput_first() {
    let place = Workplace::new();
    let transformer = model("tiny_transformer.onnx");
    let range = "hidden_states:1~2,8-16,64";
    let ended = place.benchmark_well(&[&[transformer.as_str(), "--dym-shape-range", range], &RUN[..]].concat());
    let shapes = ["[1, 8, 64]", "[1, 16, 64]", "[2, 8, 64]", "[2, 16, 64]"];
    // Thousands are separated by commas.
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    let rows: Vec<&str> = ended.stdout.lines().filter(|line| shapes.iter().any(|shape| line.contains(shape))).collect();
    assert_eq!(rows.len(), 4, "{ended:?}");
    let throughputs: Vec<f64> = rows.iter().map(|row| number(row.split_whitespace().last().unwrap())).collect();
    assert!(throughputs.is_sorted_by(|a, b| a >= b), "{ended:?}");
    let table = place.json("out/run_summary.json")["dym_shape_range"].clone();
    let found: Vec<_> = table.as_array().unwrap().iter().map(|row| row["inputs"][0]["shape"].clone()).collect();
    assert_eq!(found, [json!([1, 8, 64]), json!([1, 16, 64]), json!([2, 8, 64]), json!([2, 16, 64])]);
    let outputs = table.as_array().unwrap().iter().map(|row| row["filesinfo"]["0"]["outfiles"][0].as_str().unwrap());
    let mut outputs: Vec<_> = outputs.collect();
    outputs.sort_unstable();
    let files: Vec<String> = place.tree("out/run").into_iter().filter(|path| path.contains('/')).collect();
    assert_eq!(files, outputs, "each shape has an output file of its own");
    assert_eq!(files, ["0", "1", "2", "3"].map(|set| format!("last_hidden_state/{set}.npy")));
}

#[test]
fn a_format_and_a_number_of_warm_ups_do_not_make_a_command_line_another_tools() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let own = [digits.as_str(), "--warmup-count", "3", "--outfmt", "BIN", "--loop", "2"];
    let ended = place.benchmark_well(&[&own[..], &RUN[..]].concat());
    assert!(ended.stdout.contains("\ninference ") && !ended.stdout.contains("NPU_compute_time"), "{ended:?}");
    assert_eq!(place.tree("out/run"), ["probabilities.bin"]);
    place.benchmark(&[&own[..], &RUN[..]].concat()).refused(2, &["exists already", "--overwrite"]);
}

#[test]
fn files_of_a_directory_run_in_natural_order_and_each_output_is_named_after_its_input() {
    let place = Workplace::new();
    let (image, expected) = (model("digits_cnn.input.image.npy"), model("digits_cnn.output.probabilities.npy"));
    for name in ["image10.npy", "image2.npy", "image1.npy"] {
        place.write(&format!("images/{name}"), fs::read(&image).unwrap());
    }
    let digits = model("digits_cnn.onnx");
    place.benchmark_well(
        &[&["-om", digits.as_str(), "--input", "images", "--loop", "2", "--outfmt", "NPY"], &RUN[..]].concat(),
    );
    let summary = place.json("out/run_summary.json");
    assert_eq!(summary["NPU_compute_time"]["count"], 6, "three files, twice");
    for (run, name) in [("0", "image1"), ("1", "image2"), ("2", "image10")] {
        let info = json!({"infiles": [format!("images/{name}.npy")], "outfiles": [format!("{name}_0.npy")]});
        assert_eq!(summary["filesinfo"][run], info);
        assert!(close(&read(place.path(&format!("out/run/{name}_0.npy"))), &read(&expected)));
    }
}

#[test]
fn files_are_joined_to_a_batch_and_outputs_are_cut_again() {
    let place = Workplace::new();
    let whole = fs::read(model("digits_cnn.input.image.npy")).unwrap();
    let data = &whole[whole.len() - 8 * 64 * 4..];
    for (sample, bytes) in data.chunks(64 * 4).enumerate() {
        place.write(&format!("images/s{sample}.bin"), bytes);
    }
    let digits = model("digits_cnn.onnx");
    place.benchmark_well(
        &[&["-om", digits.as_str(), "--input", "images", "--dym-batch", "4", "--outfmt", "BIN"], &RUN[..]].concat(),
    );
    let summary = place.json("out/run_summary.json");
    assert_eq!((&summary["NPU_compute_time"]["count"], &summary["batchsize"]), (&json!(2), &json!(4.0)));
    let joined: Vec<u8> = (0..8).flat_map(|n| fs::read(place.path(&format!("out/run/s{n}_0.bin"))).unwrap()).collect();
    let expected = read(model("digits_cnn.output.probabilities.npy"));
    assert!(near(&floats(&joined), &numbers(&expected)), "each sample's output is in the file named after it");
}

#[test]
fn a_model_with_two_inputs_takes_two_files_or_two_directories() {
    let place = Workplace::new();
    for input in ["a", "b"] {
        place.write(&format!("{input}/x.npy"), fs::read(fixture(&format!("int8.input.{input}.npy"))).unwrap());
    }
    let int8 = fixture("int8.onnx");
    for (name, input) in [("files", "a/x.npy,b/x.npy"), ("directories", "a,b")] {
        place.benchmark_well(&["-om", &int8, "--input", input, "--outfmt", "NPY", "-o", "out", "-od", name]);
        for (slot, output) in ["total", "clipped"].iter().enumerate() {
            let found = read(place.path(&format!("out/{name}/x_{slot}.npy")));
            assert!(close(&found, &read(fixture(&format!("int8.output.{output}.npy")))), "{output}");
        }
    }
}

#[test]
fn auto_set_dymshape_mode_takes_the_shape_of_each_file() {
    let place = Workplace::new();
    let (ids, digits) = (model("digits_cnn.input.image.npy"), model("digits_cnn.onnx"));
    let report = place.benchmark_well(&[&digits, "--input", &ids, "-asdsm", "1", "--json"]).json();
    assert_eq!((&report["inputs"][0]["shape"], &report["batchsize"]), (&json!([8, 1, 8, 8]), &json!(8.0)));
}

#[test]
fn runs_at_a_time_and_threads_of_the_engine_compute_the_same() {
    let place = Workplace::new();
    let (transformer, input) = (model("tiny_transformer.onnx"), model("tiny_transformer.input.hidden_states.npy"));
    let expected = read(model("tiny_transformer.output.last_hidden_state.npy"));
    for (name, option) in [("runs", "--threads"), ("engine", "--engine-threads")] {
        let fixed =
            ["-om", &transformer, "--input", &input, "--loop", "20", "--outfmt", "NPY", "-o", "out", "-od", name];
        place.benchmark_well(&[&fixed[..], &[option, "2", "--profiler"]].concat());
        assert!(close(&read(place.path(&format!("out/{name}/tiny_transformer_0.npy"))), &expected));
        let summary = place.json(&format!("out/{name}_summary.json"));
        assert_eq!(summary["NPU_compute_time"]["count"], 20);
        assert_eq!(summary["profile"]["account"]["runs"]["measured"], 20);
        let key = if name == "runs" { "concurrent_runs" } else { "threads" };
        assert_eq!(summary["engine"][key], 2);
    }
}

#[test]
fn warm_up_runs_are_neither_counted_nor_profiled_as_measured() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (count, name) in [("0", "none"), ("5", "five")] {
        place.benchmark_well(&[
            &digits,
            "--warmup-count",
            count,
            "--loop",
            "2",
            "--profiler",
            "-o",
            "out",
            "-od",
            name,
        ]);
        let summary = place.json(&format!("out/{name}_summary.json"));
        assert_eq!(summary["NPU_compute_time"]["count"], 2);
        let runs = &summary["profile"]["account"]["runs"];
        assert_eq!((&runs["measured"], &runs["warm_up"]), (&json!(2), &json!(count.parse::<u64>().unwrap())));
    }
}

/// Returns the width of the median's confidence interval in percent of the median.
fn width(report: &Value) -> f64 {
    let interval = &report["median_interval_95"];
    let width = interval[1].as_f64().unwrap() - interval[0].as_f64().unwrap();
    100.0 * width / report["NPU_compute_time"]["median"].as_f64().unwrap()
}

#[test]
fn until_stable_repeats_until_the_interval_is_narrow() {
    let place = Workplace::new();
    // Even on a busy machine, the interval becomes narrower than the median sooner or later.
    let limits = ["--until-stable", "100%", "--duration", "3600"];
    let report = place.benchmark_well(&[&[model("digits_cnn.onnx").as_str(), "--json"], &limits[..]].concat()).json();
    assert!(width(&report) <= 100.0 && report["complete"] == true, "{report}");
    assert!(report["NPU_compute_time"]["count"].as_u64().unwrap() >= 6, "fewer have no interval");
}

#[test]
fn until_stable_gives_up_when_its_time_is_over_and_says_so() {
    let place = Workplace::new();
    // This interval is shorter than a tick of the clock.
    let limits = ["--until-stable", "0.0000001", "--duration", "0.2", "--loop", "7"];
    let ended = place.benchmark(&[&[model("digits_cnn.onnx").as_str(), "--json"], &limits[..]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    assert!(width(&report) > 0.0000001 && report["complete"] == false, "{report}");
    assert!(report["NPU_compute_time"]["count"].as_u64().unwrap() >= 7, "the runs that were asked for in any case");
    ended.says(&["warning: incomplete: the median was not as stable as wanted"]);
}

#[test]
fn a_duration_alone_repeats_for_at_least_that_time() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let start = std::time::Instant::now();
    let report = place.benchmark_well(&[&digits, "--duration", "0.3", "--json"]).json();
    assert!(start.elapsed().as_secs_f64() >= 0.3);
    let runs = |report: &Value| report["NPU_compute_time"]["count"].as_u64().unwrap();
    assert!(runs(&report) > 1, "{report}");
    let report = place.benchmark_well(&[&digits, "--duration", "0.000001", "--loop", "20", "--json"]).json();
    assert_eq!(runs(&report), 20, "the runs that were asked for in any case");
}

#[test]
fn sizes_that_were_not_given_are_named_on_one_line() {
    let place = Workplace::new();
    let transformer = model("tiny_transformer.onnx");
    let note = |options: &[&str]| {
        let text = place.benchmark_well(&[&[transformer.as_str()], options].concat()).stdout;
        text.lines().find(|line| line.contains("open in the file")).map(str::to_owned)
    };
    let said = note(&[]).unwrap();
    assert!(said.starts_with("note       batch, sequence are open in the file and 1 here"), "{said}");
    let said = note(&["--dym-batch", "2"]).unwrap();
    assert!(said.starts_with("note       sequence is open in the file and 1 here"), "{said}");
    assert_eq!(note(&["--dym-shape", "hidden_states:2,8,64"]), None);
    let report = place.benchmark_well(&[&transformer, "--json"]).json();
    assert_eq!(report["made_up_dimensions"], json!(["batch", "sequence"]));
    assert_eq!(note(&["--input", &model("tiny_transformer.input.hidden_states.npy")]), None);
}

#[test]
fn a_range_over_several_inputs_binds_equal_names_together() {
    let place = Workplace::new();
    let dims: &[&str] = &["batch", "sequence"];
    let nodes = [node("one", "Add", &["ids", "mask"], &["sum"]), node("two", "Add", &["sum", "types"], &["out"])];
    let inputs = ["ids", "mask", "types"].map(|name| (name, dims));
    place.write("three.onnx", onnx::file("three", "a test", &inputs, &nodes, &[("out", dims)]));
    let range = "ids:1~2,8-16;mask:1~2,8-16;types:1~2,8-16";
    let ended = place.benchmark_well(&["three.onnx", "--dym-shape-range", range]);
    assert!(ended.stdout.contains("note       60 sets of shapes left out"), "{ended:?}");
    let report = place.benchmark_well(&["three.onnx", "--dym-shape-range", range, "--json"]).json();
    let table = report["dym_shape_range"].as_array().unwrap();
    let shapes: Vec<_> = table.iter().map(|row| row["inputs"][0]["shape"].clone()).collect();
    assert_eq!(shapes, [json!([1, 8]), json!([1, 16]), json!([2, 8]), json!([2, 16])]);
    for row in table {
        let shapes: Vec<_> = row["inputs"].as_array().unwrap().iter().map(|input| &input["shape"]).collect();
        assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{row}");
    }
    assert_eq!(report["left_out_shapes"], 60);
    let one = place.benchmark_well(&["three.onnx", "--dym-shape-range", "ids:1,8-16", "--json"]).json();
    assert_eq!(one["dym_shape_range"][1]["inputs"][2]["shape"], json!([1, 16]), "names bind inputs that are not given");
    let ended = place.benchmark(&["three.onnx", "--dym-shape", "ids:1,8;mask:1,16"]);
    ended.refused(2, &["'sequence'", "8 elsewhere and 16 there"]);
}

#[test]
fn a_set_of_shapes_that_fails_is_marked_and_the_others_are_measured() {
    let place = Workplace::new();
    let dims: &[&str] = &["rows", "columns"];
    // The engine refuses it when it plans: the matrices of these shapes cannot be multiplied.
    let nodes = [node("multiply", "MatMul", &["a", "b"], &["c"])];
    let inputs: [onnx::Port<'_>; 2] = [("a", dims), ("b", &["inner", "4"])];
    place.write("product.onnx", onnx::file("product", "a test", &inputs, &nodes, &[("c", &["rows", "4"])]));
    let range = ["product.onnx", "--dym-shape-range", "a:2,8-9;b:9,4", "--output", "out", "--output-dirname"];
    let ended = place.benchmark(&[&range[..], &["text"]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let row = |shapes: &str| ended.stdout.lines().find(|line| line.starts_with(shapes)).unwrap_or_default();
    assert!(row("a [2, 8]; b [9, 4]").ends_with("failed"), "{ended:?}");
    assert!(!row("a float32 [2, 9]; b").ends_with("failed"), "{ended:?}");
    ended.says(&["warning: incomplete: a [2, 8]; b [9, 4] failed: "]);
    let summary = place.json("out/text_summary.json");
    assert_eq!(
        (&summary["complete"], &summary["failed_shapes"][0]["shapes"]),
        (&json!(false), &json!("a [2, 8]; b [9, 4]"))
    );
    assert_eq!(summary["dym_shape_range"].as_array().map(Vec::len), Some(1));
    let none = place.benchmark(&["product.onnx", "--dym-shape-range", "a:2,7-8;b:9,4"]);
    none.refused(1, &["multiply"]);
}

#[test]
fn files_of_several_shapes_are_reported_per_shape() {
    let place = Workplace::new();
    for (name, rows) in [("a1", 2), ("a2", 3), ("a3", 2)] {
        let tensor = Tensor::new(DType::F32, vec![1, rows, 64], vec![0; rows * 256]).unwrap();
        let mut bytes = Vec::new();
        opscope::tensor::npy::write(&tensor.view(), &mut bytes).unwrap();
        place.write(&format!("in/{name}.npy"), bytes);
    }
    let transformer = model("tiny_transformer.onnx");
    let run = ["--input", "in", "--loop", "3", "--details"];
    let text = place.benchmark_well(&[&[transformer.as_str()], &run[..]].concat()).stdout;
    assert!(text.contains("hidden_states float32 [1, 2, 64] at first; 2 shapes in all"), "{text}");
    let report = place.benchmark_well(&[&[transformer.as_str(), "--json"], &run[..]].concat()).json();
    let found: Vec<_> = report["by_shape"].as_array().unwrap().iter().collect();
    for (found, (rows, count)) in found.iter().zip([(2, 6), (3, 3)]) {
        assert_eq!(found["inputs"][0]["shape"], json!([1, rows, 64]));
        assert_eq!(found["NPU_compute_time"]["count"], count);
    }
    assert_eq!((found.len(), &report["NPU_compute_time"]["count"]), (2, &json!(9)));
}

#[test]
fn every_line_of_a_table_fits_a_terminal_and_rows_sets_how_many_there_are() {
    let place = Workplace::new();
    let long = "/a/module/with/a/very/long/name/as/exporters/like/them".repeat(2);
    let names: Vec<String> = (0..15).map(|at| format!("{long}.{at}")).collect();
    let nodes: Vec<_> = (0..14).map(|at| node(&names[at], "Tanh", &[&names[at]], &[&names[at + 1]])).collect();
    let (first, last) = (names[0].as_str(), names[14].as_str());
    place.write("long.onnx", onnx::file("long", "a test", &[(first, &["4"])], &nodes, &[(last, &["4"])]));
    let profiled =
        ["--output", "out", "--output-dirname", "run", "--profiler", "--loop", "3", "--rows", "5", "--details"];
    let arguments = [&["benchmark", "long.onnx"], &profiled[..]].concat();
    let ended = end(place.command(&arguments).env("COLUMNS", "80"));
    let tables = ended.stdout.split("\n\n").filter(|part| part.contains("───"));
    let tables: Vec<Vec<&str>> = tables.map(|table| table.lines().collect()).collect();
    assert_eq!(tables.len(), 5, "{ended:?}");
    for line in tables.iter().flatten() {
        assert!(line.chars().count() <= 80 && !line.ends_with(' '), "{line:?}");
    }
    let operators = tables.iter().find(|table| table[0].starts_with("Operators by time")).unwrap();
    assert_eq!((operators[0], operators.len()), ("Operators by time (the first 5 of 14)", 3 + 5));
    let ended = end(&mut place.command(&["inspect", "out/profiler/run", "--rows", "2"]));
    assert!(ended.stdout.contains("Operators by time (the first 2 of 14)"), "{ended:?}");
}

#[test]
fn the_output_directory_may_be_the_current_one_and_runs_are_named_by_date_and_time() {
    let place = Workplace::new();
    place.benchmark_well(&["--om-model", &model("digits_cnn.onnx"), "--output", "./"]);
    let tree = place.tree("");
    let name = &tree[0];
    let shape: String = name.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "0000_00_00-00_00_00");
    assert_eq!(tree, [name.clone(), format!("{name}/pure_infer_data_0.bin"), format!("{name}_summary.json")]);
}

#[test]
fn the_model_is_named_by_any_of_the_options_names_or_alone() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for words in [
        &[digits.as_str()][..],
        &["--model", &digits],
        &["--om-model", &digits],
        &["-om", &digits],
        &["--om_model", &digits],
    ] {
        place.benchmark_well(words);
    }
}

#[test]
fn an_output_without_a_form_as_a_file_is_no_reason_not_to_measure() {
    let place = Workplace::new();
    let (strings, input) = (fixture("strings.onnx"), fixture("strings.input.x.npy"));
    place.benchmark_well(&[&strings, "--input", &input, "--loop", "2"]);
}

#[test]
fn every_fixture_that_runs_gives_the_outputs_of_another_implementation() {
    let index: Value = serde_json::from_str(&fs::read_to_string(fixture("index.json")).unwrap()).unwrap();
    let mut ran = 0;
    for (name, about) in index["fixtures"].as_object().unwrap().iter().filter(|(_, about)| about["fate"] == "runs") {
        let file = |about: &Value| fixture(about.as_str().unwrap());
        let inputs: Vec<String> = about["inputs"].as_object().unwrap().values().map(file).collect();
        let place = Workplace::new();
        let model = fixture(&format!("{name}.onnx"));
        let mut arguments =
            vec!["-om", model.as_str(), "--outfmt", "NPY", "--output", "out", "--output-dirname", "run"];
        let inputs = inputs.join(",");
        if !inputs.is_empty() {
            arguments.extend(["--input", &inputs]);
        }
        let ended = place.benchmark(&arguments);
        let outputs = about["outputs"].as_object().unwrap();
        let formless: Vec<_> =
            outputs.iter().filter(|(_, expected)| expected.is_null()).map(|(name, _)| name).collect();
        assert_eq!(ended.code, Some(if formless.is_empty() { 0 } else { 3 }), "{name}: {ended:?}");
        formless.iter().for_each(|output| ended.says(&[&format!("output '{output}' has no form as a file")]));
        let found = place.json("out/run_summary.json")["filesinfo"]["0"]["outfiles"].clone();
        let written = outputs.iter().filter(|(_, expected)| !expected.is_null());
        for (at, (output, expected)) in written.enumerate() {
            let found = read(place.path("out/run").join(found[at].as_str().unwrap()));
            let expected = read(file(expected));
            let same = numbers(&found).iter().zip(numbers(&expected)).all(|(found, expected)| {
                found.to_bits() == expected.to_bits()
                    || (found.is_nan() && expected.is_nan())
                    || near(&[*found], &[expected])
            });
            assert!(same && found.shape() == expected.shape(), "{output} of {name}");
        }
        ran += 1;
    }
    assert!(ran > 20, "only {ran} fixtures ran");
}
