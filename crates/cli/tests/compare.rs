//! `opscope compare`: dumps, and runs of models.

mod process;

use std::fs;

use process::onnx::{FLOAT16, FLOAT32, chain, renamed, with_changed_initializer};
use process::{Ended, Workplace, csv, end, engine, model, rows};
use serde_json::Value;

/// The operators of the model that these tests run, each with one output.
const TENSORS: usize = 16;

/// A place with two dumps of one model: `example` with its example input, and `other` with random data.
struct Dumps {
    place: Workplace,
    model: String,
    image: String,
}

impl Dumps {
    fn new() -> Self {
        let (place, file, image) = (Workplace::new(), model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
        let fixed = ["--dump", "--output", ".", "--warmup-count", "0", "--output-dirname"];
        place.benchmark_well(&[&[file.as_str(), "--input", &image], &fixed[..], &["example"]].concat());
        let random = ["--dym-batch", "8", "--pure-data-type", "random"];
        place.benchmark_well(&[&[file.as_str()], &random[..], &fixed, &["other"]].concat());
        Self { place, model: file, image }
    }

    fn compare(&self, arguments: &[&str]) -> Ended {
        self.place.compare(arguments)
    }

    /// Copies the dump of the example, and changes the last element in an output of a Relu.
    fn damaged(&self) -> &'static str {
        self.changed("damaged", |content| {
            let last = content.len() - 4;
            content[last..].copy_from_slice(&64_f32.to_le_bytes());
        })
    }

    /// Copies the dump of the example, and changes the file of an output of a Relu.
    fn changed(&self, name: &'static str, change: impl Fn(&mut Vec<u8>)) -> &'static str {
        for file in self.place.tree("dump/example").iter().filter(|file| file.contains('.')) {
            let mut content = fs::read(self.place.path("dump/example").join(file)).unwrap();
            if file.contains("relu2") {
                change(&mut content);
            }
            self.place.write(&format!("{name}/{file}"), content);
        }
        name
    }
}

const EXAMPLE: &str = "dump/example";
const OTHER: &str = "dump/other";

#[test]
fn a_dump_is_the_same_as_itself() {
    let dumps = Dumps::new();
    let ended = dumps.compare(&[EXAMPLE, EXAMPLE]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.ends_with("16 tensors compared, 16 within tolerance\n"), "{ended:?}");
    let json = dumps.compare(&[EXAMPLE, EXAMPLE, "--json"]).json();
    assert_eq!((&json["schema"], &json["same"]), (&"opscope.comparison/1".into(), &true.into()));
    assert_eq!((&json["complete"], &json["first_divergence"]), (&true.into(), &Value::Null));
    assert_eq!(rows(&json).len(), TENSORS);
    assert!(rows(&json).iter().all(|row| row["equal"] == row["count"] && row["max_ulp"] == 0));
}

#[test]
fn other_input_makes_the_first_operator_differ_and_the_input_is_blamed() {
    let dumps = Dumps::new();
    let ended = dumps.compare(&[EXAMPLE, OTHER, "--model", &dumps.model]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(4), ""), "{ended:?}");
    for text in [
        "the two sides were given different inputs: image",
        "16 tensors compared, 0 within tolerance",
        "first to diverge: operator '/conv1/Conv' (Conv)",
        "its input 0 'image': the two sides were given different data",
        "its inputs already differed",
    ] {
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    }
    let without_model = dumps.compare(&[EXAMPLE, OTHER]);
    assert!(without_model.stdout.contains("were given different inputs: image"), "{without_model:?}");
    let run = dumps.compare(&[&dumps.model, OTHER, "--input", &dumps.image, "--json"]).json();
    assert_eq!((&run["inputs"][0], &run["first_divergence"]["blame"]), (&"image".into(), &"inputs".into()));
    let given = &run["first_divergence"]["inputs"][0]["given"];
    assert_eq!(given, &Value::Bool(false));
}

#[test]
fn the_first_layer_is_blamed_where_both_dumps_say_that_they_were_given_the_same() {
    let (place, model, image) = (Workplace::new(), model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    place.write("changed.onnx", with_changed_initializer(&fs::read(&model).unwrap(), "conv1.bias"));
    for format in ["npy", "statistics", "ascend"] {
        let [good, changed] = [("good", model.as_str()), ("changed", "changed.onnx")].map(|(name, file)| {
            let dump = format!("{name}-{format}");
            let format = ["--dump", "--dump-format", format];
            place.benchmark_well(&[&[file, "--input", &image], &format[..], &["-o", ".", "-od", &dump]].concat());
            format!("dump/{dump}")
        });
        let compared = || place.compare(&[&changed, &good, "--model", &model, "--json"]).json();
        let json = compared();
        let first = &json["first_divergence"];
        assert_eq!((&first["operator"], &first["blame"]), (&"/conv1/Conv".into(), &"operator".into()), "{format}");
        assert_eq!((&first["inputs"][0]["given"], &json["inputs"]), (&true.into(), &Value::Array(vec![])), "{format}");
        let run = place.compare(&["changed.onnx", &good, "--model", &model, "--input", &image, "--json"]).json();
        assert_eq!(run["first_divergence"]["blame"], "operator", "{format}: a run and a dump");

        // A dump of an earlier version does not say which inputs its runs had.
        let path = format!("{good}/manifest.json");
        let mut manifest = place.json(&path);
        manifest.as_object_mut().unwrap().remove("inputs");
        for run in manifest["runs"].as_array_mut().unwrap() {
            run.as_object_mut().unwrap().remove("inputs");
        }
        place.write(&path, manifest.to_string());
        let json = compared();
        let first = &json["first_divergence"];
        assert_eq!((&first["blame"], &first["inputs"][0]["given"]), (&"unknown".into(), &Value::Null), "{format}");
        assert_eq!(json["problems"], Value::Array(vec![]), "{format}: such a manifest is read");
    }
}

#[test]
fn one_wrong_tensor_is_blamed_on_the_operator_that_gave_it() {
    let dumps = Dumps::new();
    let damaged = dumps.damaged();
    let ended = dumps.compare(&[damaged, EXAMPLE, "--model", &dumps.model]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("first to diverge: operator '/relu2/Relu' (Relu)"), "{ended:?}");
    assert!(ended.stdout.contains("its input 0 '/bn2/BatchNormalization_output_0': the same"), "{ended:?}");
    assert!(ended.stdout.contains("its inputs are right: it is this operator"), "{ended:?}");

    let json = dumps.compare(&[damaged, EXAMPLE, "--model", &dumps.model, "--json"]).json();
    let first = &json["first_divergence"];
    assert_eq!((&first["operator"], &first["blame"]), (&"/relu2/Relu".into(), &"operator".into()));
    let outside: Vec<_> = rows(&json).iter().filter(|row| row["within"] == false).collect();
    assert_eq!(outside.len(), 1);
    assert_eq!((&outside[0]["value"], &outside[0]["outcome"]), (&"/relu2/Relu_output_0".into(), &"different".into()));
    assert_eq!(outside[0]["count"].as_u64().unwrap() - outside[0]["equal"].as_u64().unwrap(), 1);
}

#[test]
fn the_table_by_error_begins_with_the_worst_and_has_as_many_rows_as_are_asked_for() {
    let dumps = Dumps::new();
    let damaged = dumps.damaged();
    let ended = dumps.compare(&[damaged, EXAMPLE, "--order", "error", "--rows", "1"]);
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert!(lines[1].starts_with("!  /relu2/Relu_output_0"), "{ended:?}");
    assert_eq!(lines[2], "... and 15 rows more");
    assert_eq!(lines[3], "sorted by max abs as a share of the reference's largest element, the largest first");
}

#[test]
fn a_run_is_compared_with_a_dump_without_writing_files() {
    let dumps = Dumps::new();
    let before = dumps.place.tree("");
    let same = dumps.compare(&[&dumps.model, EXAMPLE, "--input", &dumps.image, "--json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert_eq!((rows(&same.json()).len(), &same.json()["complete"]), (TENSORS, &true.into()));

    let damaged = dumps.damaged();
    let with_damaged = dumps.place.tree("");
    assert_ne!(with_damaged, before);
    let other = dumps.compare(&[&dumps.model, damaged, "--input", &dumps.image, "--json"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert_eq!(other.json()["first_divergence"]["operator"], "/relu2/Relu");
    assert_eq!(other.json()["first_divergence"]["blame"], "operator");
    assert_eq!(dumps.place.tree(""), with_damaged);
}

#[test]
fn two_ways_to_run_a_model_are_compared_by_every_value_that_both_compute() {
    let place = Workplace::new();
    let (model, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    for fidelity in ["--fidelity", "--reference-fidelity"] {
        let ended = place.compare(&[&model, &model, fidelity, "optimised", "--input", &image, "--json"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let json = ended.json();
        let values: Vec<_> = rows(&json).iter().map(|row| row["value"].as_str().unwrap()).collect();
        // ONNX Runtime shows no values between operators that it has optimised.
        let of_tract = ["/bn1/BatchNormalization_output_0", "/relu1/Relu_output_0", "/pool2/MaxPool_output_0"];
        let of_tract = of_tract.into_iter().filter(|_| !engine::is_onnxruntime());
        for value in of_tract.chain(["probabilities"]) {
            assert!(values.contains(&value), "{value}: {values:?}");
        }
        let fused = json["fused"].as_array().unwrap();
        assert_eq!(values.len() + fused.len(), TENSORS);
        assert!(fused.contains(&"/conv1/Conv_output_0".into()), "it is one kernel with what follows: {fused:?}");
        assert_eq!((&json["complete"], &json["verdict"]), (&true.into(), &"same".into()));
        let side = if fidelity == "--fidelity" { "reference" } else { "tensors" };
        assert_eq!(json[side], format!("{model} ({}, exact)", engine::name()));
    }
    let threads = place.compare(&[&model, &model, "--reference-threads", "2", "--json"]);
    assert_eq!((threads.code, rows(&threads.json()).len()), (Some(0), TENSORS), "{threads:?}");
    assert_eq!(threads.json()["reference"], format!("{model} ({}, exact, 2 threads)", engine::name()));
    assert_eq!(place.tree(""), [""; 0]);
}

#[test]
fn elements_that_are_no_numbers_have_columns_of_their_own_and_nothing_looks_the_same_beside_them() {
    let dumps = Dumps::new();
    for (name, number, apart, counts) in
        [("nan", f32::NAN, "NaN", "1/0  0/0"), ("inf", f32::INFINITY, "inf", "0/0  1/0")]
    {
        let changed = dumps.changed(name, |content| {
            let last = content.len() - 4;
            content[last..].copy_from_slice(&number.to_le_bytes());
        });
        let ended = dumps.compare(&[changed, EXAMPLE]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        let row = ended.stdout.lines().find(|line| line.starts_with("!  /relu2")).unwrap();
        assert!(row.ends_with(counts) && row.contains(apart) && !row.contains("1.000000"), "{row}");
        assert!(ended.stdout.lines().next().unwrap().ends_with("nan  inf"), "{ended:?}");
        assert!(
            ended.stdout.contains("1 elements NaN or infinite on one side only, the rest is the same"),
            "{ended:?}"
        );
        // NaN and infinity on both sides are equal, and are shown.
        let same = dumps.compare(&[changed, changed]);
        assert_eq!(same.code, Some(0), "{same:?}");
        let row = same.stdout.lines().find(|line| line.contains("/relu2")).unwrap();
        assert!(row.contains("1.000000") && row.ends_with(&counts.replace("1/0", "1/1")), "{row}");
    }
    assert!(!dumps.compare(&[EXAMPLE, EXAMPLE]).stdout.contains("nan"));
}

#[test]
fn a_dump_that_is_not_complete_is_never_the_same() {
    let dumps = Dumps::new();
    let manifest = dumps.place.text("dump/example/manifest.json");
    let incomplete = manifest.replace("\"complete\": true", "\"complete\": false");
    let incomplete = incomplete.replace("\"errors\": []", "\"errors\": [\"it was interrupted\"]");
    let copy = dumps.changed("copy", |_| ());
    dumps.place.write("copy/manifest.json", incomplete);
    for arguments in [[copy, EXAMPLE], [EXAMPLE, copy], [&dumps.model, copy]] {
        let input = ["--input", &dumps.image];
        let ended = dumps.compare(&[&arguments[..], if arguments[0] == dumps.model { &input } else { &[] }].concat());
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stdout.contains("is not complete: it was interrupted"), "{ended:?}");
    }
    let different = dumps.compare(&[copy, OTHER]);
    assert_eq!(different.code, Some(4), "what is different is so whatever is missing: {different:?}");
}

#[test]
fn tensors_that_only_one_side_has_are_data_that_is_missing() {
    let dumps = Dumps::new();
    let copy = dumps.changed("copy", |_| ());
    let file = dumps.place.json_lines("copy/index.jsonl")[3]["file"].as_str().unwrap().to_owned();
    fs::remove_file(dumps.place.path(copy).join(&file)).unwrap();
    for arguments in [[copy, EXAMPLE], [EXAMPLE, copy]] {
        let ended = dumps.compare(&arguments);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stdout.contains("1 tensor only in dump/example, the first is"), "{ended:?}");
        assert!(ended.stdout.contains(&format!("problem: copy: index.jsonl, line 4: '{file}'")), "{ended:?}");
        let json = dumps.compare(&[&arguments[..], &["--json"]].concat()).json();
        assert_eq!(
            (&json["verdict"], &json["same"], &json["complete"]),
            (&"unknown".into(), &true.into(), &false.into())
        );
    }
}

#[test]
fn values_that_were_renamed_are_matched_by_their_places_in_the_graph() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let names =
        [("_output_0", "_result_0"), ("/conv", "/cone"), ("/bn", "/bm"), ("/relu", "/rely"), ("/pool", "/poor")];
    let more = [("/fc", "/fd"), ("/Flatten", "/Flattex"), ("/Softmax", "/Softmay")];
    place.write("renamed.onnx", renamed(&fs::read(&model).unwrap(), &[&names[..], &more].concat()));
    let by_name = place.compare(&[&model, "renamed.onnx"]);
    assert_eq!(by_name.code, Some(3), "{by_name:?}");
    assert!(by_name.stdout.contains("these were not matched"), "{by_name:?}");
    assert!(by_name.stdout.contains("1 tensor compared, 1 within tolerance"), "{by_name:?}");
    let by_position = place.compare(&[&model, "renamed.onnx", "--match", "position", "--json"]);
    assert_eq!(by_position.code, Some(0), "{by_position:?}");
    let json = by_position.json();
    assert_eq!(rows(&json).len(), TENSORS);
    assert!(rows(&json).iter().all(|row| row["matched_by"] == "position"));
    assert_eq!(rows(&json)[2]["reference"], "/rely1/Relu_result_0");
    for format in ["npy", "ascend", "statistics"] {
        place.benchmark_well(&[&model, "--dump", "--dump-format", format, "-o", ".", "-od", format]);
        let dump = format!("dump/{format}");
        let ended = place.compare(&["renamed.onnx", &dump, "--match", "position", "--input", "zeros.npy"]);
        ended.refused(2, &["zeros.npy"]);
        let ended = place.compare(&["renamed.onnx", &dump, "--match", "position", "--json"]);
        assert_eq!(rows(&ended.json()).len(), TENSORS, "{format}: {ended:?}");
    }
    let ended = place.compare(&[&model, "renamed.onnx", "--match", "place"]);
    ended.refused(2, &["--match", "[possible values: name, position]"]);
}

#[test]
fn initializers_that_differ_are_named_before_anything_runs_and_their_operator_is_not_blamed_alone() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    place.write("changed.onnx", with_changed_initializer(&fs::read(&model).unwrap(), "conv1.bias"));
    let ended = place.compare(&["changed.onnx", &model]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(4), "note: 1 initializer differs: \"conv1.bias\"\n"),
        "{ended:?}"
    );
    for text in [
        "first to diverge: operator '/conv1/Conv'",
        "its input 0 'image': the same, as it was given to both sides",
        "initializers that it takes differ: conv1.bias",
    ] {
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    }
    let same = place.compare(&[&model, &model]);
    assert_eq!((same.code, same.stderr.as_str()), (Some(0), ""), "{same:?}");
}

#[test]
fn the_first_layer_can_be_blamed_where_both_sides_were_given_the_same() {
    let place = Workplace::new();
    place.write("sum.onnx", chain(3, "Add", FLOAT32));
    place.write("product.onnx", chain(3, "Mul", FLOAT32));
    let ended = place.compare(&["product.onnx", "sum.onnx", "--json"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let first = &ended.json()["first_divergence"];
    assert_eq!((&first["row"], &first["blame"]), (&0.into(), &"operator".into()));
    assert!(first["inputs"].as_array().unwrap().iter().all(|input| input["given"] == true), "{first}");
}

#[test]
fn a_model_of_half_precision_is_compared_with_one_of_single_precision() {
    let place = Workplace::new();
    place.write("half.onnx", chain(3, "Mul", FLOAT16));
    place.write("single.onnx", chain(3, "Mul", FLOAT32));
    let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n";
    let header = [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes()].concat();
    place.write("x.npy", [header, [0.1f32, 0.7, 1.3, 300.0].map(f32::to_le_bytes).concat()].concat());
    let both = [["half.onnx", "single.onnx"], ["single.onnx", "half.onnx"]];
    for (arguments, input) in both.iter().flat_map(|both| [(both, &[][..]), (both, &["--input", "x.npy"])]) {
        let ended = place.compare(&[&arguments[..], &["--json"], input].concat());
        assert_eq!((ended.code, rows(&ended.json()).len()), (Some(0), 3), "{ended:?}");
        let types: Vec<_> = ["dtype", "reference_dtype"].map(|field| rows(&ended.json())[0][field].clone()).to_vec();
        assert!(types.contains(&"float16".into()) && types.contains(&"float32".into()), "{types:?}");
        assert!(
            rows(&ended.json()).iter().any(|row| row["max_absolute"] != 0.0),
            "they are not the same to the last bit"
        );
    }
}

#[test]
fn statistics_are_compared_by_hash_and_by_what_they_say() {
    let dumps = Dumps::new();
    let input = ["--input", dumps.image.as_str()];
    let fixed = ["--dump", "--dump-format", "statistics", "--output", ".", "--output-dirname", "statistics"];
    dumps.place.benchmark_well(&[&[dumps.model.as_str()], &input[..], &fixed].concat());
    let statistics = "dump/statistics";
    for arguments in [[EXAMPLE, statistics], [statistics, EXAMPLE], [statistics, statistics]] {
        let ended = dumps.compare(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(
            ended.stdout.lines().filter(|line| line.contains("the same hash")).count(),
            TENSORS + 1,
            "{ended:?}"
        );
    }
    let run = dumps.compare(&[&[dumps.model.as_str(), statistics], &input[..], &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(rows(&run.json()).iter().all(|row| row["outcome"] == "same_hash"));

    let other = dumps.compare(&[OTHER, statistics, "--json"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(rows(&other.json()).iter().any(|row| row["outcome"] == "statistics_differ"));

    // The same elements in another order have the same statistics.
    let turned = dumps.changed("turned", |content| {
        let data = content.len() - 4 * 8 * 16 * 8 * 8;
        content[data..].rotate_left(4);
    });
    let ended = dumps.compare(&[turned, statistics]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stdout.lines().any(|line| line.starts_with("?  /relu2") && line.contains("statistics agree")),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("16 tensors compared, 15 within tolerance, 1 cannot be told"), "{ended:?}");
}

#[test]
fn two_files_are_compared_whatever_they_are_called() {
    let place = Workplace::new();
    let mut array = fs::read(model("digits_cnn.output.probabilities.npy")).unwrap();
    place.write("mine.npy", &array);
    place.write("theirs/golden.npy", &array);
    let ended = place.compare(&["mine.npy", "theirs/golden.npy"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    *array.last_mut().unwrap() ^= 0x40;
    place.write("wrong.npy", &array);
    let ended = place.compare(&["mine.npy", "wrong.npy", "--json"]);
    assert_eq!((ended.code, &rows(&ended.json())[0]["reference"]), (Some(4), &"wrong".into()), "{ended:?}");
    place.compare(&["mine.npy", "theirs"]).refused(2, &["no tensor that both sides have"]);
}

#[test]
fn a_tolerance_decides_what_is_the_same() {
    let dumps = Dumps::new();
    for (tolerance, code) in [("1e9", 0), ("float32=1e9,1e9", 0), ("float16=1e9", 4), ("0,0", 4)] {
        let ended = dumps.compare(&[EXAMPLE, OTHER, "--tolerance", tolerance]);
        assert_eq!(ended.code, Some(code), "{tolerance}: {ended:?}");
    }
    let both = dumps.compare(&[EXAMPLE, OTHER, "--tolerance", "1e9", "--tolerance", "float32=0"]);
    assert_eq!(both.code, Some(4), "what is said of a type outranks what is said of all: {both:?}");
    for wrong in ["much", "-1", "float33=1", "1,2,3", "NaN"] {
        dumps.compare(&[EXAMPLE, OTHER, &format!("--tolerance={wrong}")]).refused(2, &["--tolerance", wrong]);
    }
}

#[test]
fn plain_arrays_are_found_by_a_mapping_or_by_their_names() {
    let dumps = Dumps::new();
    let plain = model("expected/digits_cnn");
    dumps.compare(&[EXAMPLE, &plain]).refused(2, &["no tensor that both sides have", "'000'", "--mapping"]);

    let index: Value = serde_json::from_str(&fs::read_to_string(format!("{plain}/index.json")).unwrap()).unwrap();
    let line = |(value, about): (&String, &Value)| {
        format!("{value},{}\n", about["file"].as_str().unwrap().trim_end_matches(".npy"))
    };
    let lines: String = index["values"].as_object().unwrap().iter().map(line).collect();
    dumps.place.write("names.csv", format!("# ours,theirs\n{lines}"));
    let ended = dumps.compare(&[EXAMPLE, &plain, "--mapping", "names.csv", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!((rows(&json).len(), &json["complete"]), (TENSORS, &true.into()));
    assert!(rows(&json).iter().all(|row| row["matched_by"] == "mapping"));

    fs::create_dir(dumps.place.path("plain")).unwrap();
    fs::copy(model("digits_cnn.output.probabilities.npy"), dumps.place.path("plain/probabilities.npy")).unwrap();
    let ended = dumps.compare(&[EXAMPLE, "plain", "--json"]);
    assert_eq!((ended.code, rows(&ended.json()).len()), (Some(0), 1), "{ended:?}");
    assert_eq!(ended.json()["only_in_tensors"].as_array().unwrap().len(), TENSORS - 1);
}

#[test]
fn a_mapping_that_is_wrong_is_refused_with_its_row() {
    let dumps = Dumps::new();
    dumps.place.write("twice.csv", "a,b\na,c\n");
    dumps.compare(&[EXAMPLE, EXAMPLE, "--mapping", "twice.csv"]).refused(2, &["twice.csv", "row 2", "mapped before"]);
    dumps.compare(&[EXAMPLE, EXAMPLE, "--mapping", "nowhere.csv"]).refused(2, &["nowhere.csv"]);
}

#[test]
fn the_csv_has_a_row_per_pair_and_never_overwrites_a_file() {
    let dumps = Dumps::new();
    let damaged = dumps.damaged();
    let ended = dumps.compare(&[damaged, EXAMPLE, "--csv", "comparison.csv"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let table = csv(&dumps.place.text("comparison.csv"));
    assert_eq!(table.len(), 1 + TENSORS);
    let column = |name: &str| table[0].iter().position(|column| column == name).unwrap();
    let outside: Vec<_> = table[1..].iter().filter(|row| row[column("within")] == "false").collect();
    assert_eq!(outside.len(), 1);
    assert_eq!(outside[0][column("operator")], "/relu2/Relu");
    assert_eq!(outside[0][column("max_absolute")].parse::<f64>().unwrap(), 64.0);

    dumps.place.write("mine.csv", "mine");
    dumps.compare(&[EXAMPLE, EXAMPLE, "--csv", "mine.csv"]).refused(1, &["mine.csv", "cannot be written"]);
    assert_eq!(dumps.place.text("mine.csv"), "mine");
}

#[test]
fn what_is_no_dump_or_in_the_wrong_order_is_refused() {
    let dumps = Dumps::new();
    dumps.place.write("text", "no tensors here");
    dumps.compare(&["nowhere", EXAMPLE]).refused(2, &["nowhere", "cannot be read"]);
    dumps.compare(&[EXAMPLE, "text"]).refused(2, &["text"]);
    dumps.compare(&[EXAMPLE, &dumps.model]).refused(2, &["give the model first"]);
    dumps.compare(&["nowhere.onnx", EXAMPLE]).refused(2, &["nowhere.onnx"]);
    dumps.compare(&[EXAMPLE, EXAMPLE, "--model", "nowhere.onnx"]).refused(2, &["nowhere.onnx"]);
    dumps.compare(&[&model("tiny_transformer.onnx"), EXAMPLE]).refused(2, &["no tensor that both sides have"]);
    dumps.compare(&[EXAMPLE]).refused(2, &["<REFERENCE>"]);
}

#[test]
fn a_dump_that_points_outside_of_itself_is_not_followed() {
    let dumps = Dumps::new();
    let first = dumps.place.text("dump/example/index.jsonl").lines().next().unwrap().to_owned();
    let mut line: Value = serde_json::from_str(&first).unwrap();
    let outside = dumps.place.path("dump/example").join(line["file"].as_str().unwrap());
    fs::create_dir(dumps.place.path("hostile")).unwrap();
    std::os::unix::fs::symlink(&outside, dumps.place.path("hostile/link.npy")).unwrap();
    let upwards = format!("../dump/example/{}", line["file"].as_str().unwrap());
    for file in ["../../etc/passwd", "/etc/passwd", &upwards, outside.to_str().unwrap(), "link.npy"] {
        line["file"] = file.into();
        dumps.place.write("hostile/index.jsonl", format!("{line}\n"));
        for arguments in [["hostile", EXAMPLE], [EXAMPLE, "hostile"]] {
            let ended = dumps.compare(&arguments);
            ended.refused(2, &["no tensor that both sides have", "leads out of the dump"]);
            assert!(!ended.stderr.contains("root:"), "{ended:?}");
        }
    }
}

#[test]
fn names_that_would_move_the_cursor_or_forge_a_line_are_escapes_in_the_verdict() {
    let place = Workplace::new();
    // The input gets a name of the same length that would reverse the text around it or begin a new line.
    let (sum, product) = (chain(3, "Add", FLOAT32), chain(3, "Mul", FLOAT32));
    for (name, model) in [("sum.onnx", sum), ("product.onnx", product)] {
        place.write(name, renamed(&model, &[("v0", "\n\r"), ("v2", "\u{1b}\u{7}")]));
    }
    let ended = place.compare(&["product.onnx", "sum.onnx"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("its input 0 '\\u{a}\\u{d}'") && ended.stdout.contains("\\u{1b}\\u{7}"), "{ended:?}");
    let wild: Vec<char> = ended.stdout.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(wild.is_empty(), "{ended:?}");
    // A manifest and an index can have any text, too.
    let dumps = Dumps::new();
    let copy = dumps.changed("copy", |_| ());
    let manifest = dumps.place.text("copy/manifest.json").replace("\"complete\": true", "\"complete\": false");
    let hostile = "\"errors\": [\"\\u001b[2J\\u202e\\nFORGED\"]";
    dumps.place.write("copy/manifest.json", manifest.replace("\"errors\": []", hostile));
    let inspected = end(&mut dumps.place.command(&["inspect", copy]));
    for ended in [dumps.compare(&[copy, EXAMPLE]), inspected] {
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stdout.contains("\\u{1b}[2J\\u{202e}\\u{a}FORGED"), "{ended:?}");
        assert!(!ended.stdout.contains(['\u{1b}', '\u{202e}']), "{ended:?}");
    }
}

#[test]
fn values_that_several_operators_take_are_compared_wherever_a_dump_has_them() {
    let place = Workplace::new();
    for (name, input) in [
        ("digits_cnn.onnx", "digits_cnn.input.image.npy"),
        ("tiny_transformer.onnx", "tiny_transformer.input.hidden_states.npy"),
    ] {
        let (model, input, all, outputs) =
            (model(name), model(input), format!("{name}-all"), format!("{name}-outputs"));
        for (run, io) in [(&all, "all"), (&outputs, "outputs")] {
            place.benchmark_well(&[&model, "--input", &input, "--dump", "--dump-io", io, "-o", ".", "-od", run]);
        }
        let (all, outputs) = (format!("dump/{all}"), format!("dump/{outputs}"));
        for arguments in [&[&*all, &all][..], &[&outputs, &outputs], &[&model, &all, "--input", &input]] {
            let ended = place.compare(&[arguments, &["--json"]].concat());
            assert_eq!(
                (ended.code, &ended.json()["complete"]),
                (Some(0), &true.into()),
                "{arguments:?}: {}",
                ended.stderr
            );
        }
    }
    // An input of the model that differs is found if the dump has that input.
    let other = ["dump/digits_cnn.onnx-all", "--dym-shape", "image:8,1,8,8", "--json"];
    let ended = place.compare(&[&[&*model("digits_cnn.onnx")], &other[..]].concat());
    assert_eq!((ended.code, &ended.json()["first_divergence"]["blame"]), (Some(4), &"inputs".into()));
}

#[test]
fn the_tables_of_a_comparison_are_as_wide_as_the_terminal() {
    let place = Workplace::new();
    let transformer = model("tiny_transformer.onnx");
    let widest = |columns: &str| {
        let ended = end(place.command(&["compare", &transformer, &transformer]).env("COLUMNS", columns));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let table = ended.stdout.lines().filter(|line| line.starts_with("  /"));
        table.map(|line| line.chars().count()).max().unwrap()
    };
    let [narrow, usual, wide] = ["60", "80", "200"].map(widest);
    assert!(narrow <= 60 && (61..=80).contains(&usual) && wide > 80, "{narrow} {usual} {wide}");
}
