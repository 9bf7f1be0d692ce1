//! Replaces every spelling of an option that scripts for `ait benchmark`, `msit benchmark` and `ais_bench` use, such as
//! `-pf`, `--dym_batch`, `--dymBatch`, `--dump 1`, by the one that clap knows.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An option with more than one spelling, or one whose value is optional.
pub(super) struct Spelling {
    /// Its long name, without the dashes.
    pub(super) long: &'static str,
    /// Its other names, with their dashes; `_` and `-` are the same.
    pub(super) others: &'static [&'static str],
    /// Whether it is a boolean.
    pub(super) boolean: bool,
}

const fn value(long: &'static str, others: &'static [&'static str]) -> Spelling {
    Spelling { long, others, boolean: false }
}

const fn boolean(long: &'static str, others: &'static [&'static str]) -> Spelling {
    Spelling { long, others, boolean: true }
}

pub(super) const SPELLINGS: &[Spelling] = &[
    value("model", &["-om", "-m", "--om-model"]),
    value("input", &["-i"]),
    value("output", &["-o"]),
    value("output-dirname", &["-od"]),
    value("warmup-count", &["-wcount"]),
    value("pure-data-type", &["-pdt"]),
    value("run-mode", &["-rm"]),
    value("batch-size", &["--batchsize"]),
    value("device", &["-d"]),
    value("dym-batch", &["-db", "--dymBatch"]),
    value("dym-hw", &["-dhw", "--dymHW"]),
    value("dym-dims", &["-dd", "--dymDims"]),
    value("dym-shape", &["-ds", "--dymShape"]),
    value("dym-shape-range", &["-dr", "--dymShape-range"]),
    value("output-size", &["-outsize", "--outputSize"]),
    value("output-batchsize-axis", &["-oba"]),
    value("acl-json-path", &["-acl"]),
    value("aipp-config", &["-aipp"]),
    boolean("auto-set-dymshape-mode", &["-asdsm"]),
    boolean("auto-set-dymdims-mode", &["-asddm"]),
    boolean("check", &[]),
    boolean("debug", &[]),
    boolean("details", &[]),
    boolean("display-all-summary", &["-das"]),
    boolean("divide-input", &[]),
    boolean("dump", &[]),
    boolean("dump-estimate", &[]),
    boolean("dump-histograms", &[]),
    boolean("dump-non-finite", &[]),
    boolean("dump-npy", &[]),
    boolean("energy-consumption", &["-ec"]),
    boolean("isolate", &[]),
    boolean("json", &[]),
    boolean("overwrite", &[]),
    boolean("perf", &[]),
    boolean("pipeline", &[]),
    boolean("profiler", &["-pf"]),
    boolean("profiler-rename", &[]),
    boolean("quiet", &[]),
];

/// Returns the words of a command line, with the program's name, in the form that clap reads. A model in place of a
/// command implies `benchmark`. Only words after `benchmark` or `debug` and before `--` change; the values of `debug`'s
/// `-ex` and `-x` stay unchanged.
///
/// A boolean takes the next word only if that is one of `1 0 true false yes no y n t f`, in any case; otherwise it is
/// true.
pub fn expand(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter().peekable();
    let mut expanded: Vec<OsString> = words.next().into_iter().collect();
    let mut scripted = false;
    for word in words.by_ref() {
        let command = !word.as_bytes().starts_with(b"-");
        let benchmark = word == "benchmark";
        scripted = word == "debug";
        let is_model = command && !benchmark && is_model(&word);
        if is_model {
            expanded.push("benchmark".into());
        }
        expanded.push(word);
        if benchmark || scripted || is_model {
            break;
        }
        if command {
            expanded.extend(words);
            return expanded;
        }
    }
    while let Some(word) = words.next() {
        if word == "--" {
            expanded.push(word);
            break;
        }
        if scripted && ["-ex", "--ex", "-x"].iter().any(|option| word == *option) {
            expanded.push(if word == "-ex" { "--ex".into() } else { word });
            expanded.extend(words.next());
            continue;
        }
        let Some((mut option, spelling, mut value)) = split(&word) else {
            expanded.push(word);
            continue;
        };
        if spelling.is_some_and(|spelling| spelling.boolean) {
            value = match value {
                None => words.next_if(|next| truth(next).is_some()).or_else(|| Some("true".into())),
                given => given,
            };
            value = value.map(|value| truth(&value).map_or(value, |truth| truth.to_string().into()));
        }
        if let Some(value) = value {
            option.push("=");
            option.push(value);
        }
        expanded.push(option);
    }
    expanded.extend(words);
    expanded
}

/// Returns whether the first word of a command line is a model to run, not a command: it ends in `.onnx`, or it is a
/// path or an existing file and not a command's name.
pub fn is_model(word: &OsStr) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|extension| extension == "onnx")
        || (word.as_bytes().iter().any(|byte| b"./".contains(byte)) && path.is_file())
}

/// Splits a word into the option's name, its row in the table, and the value after `=`. Returns `None` for words that
/// are not options, and for short names that are not in the table: clap has its own, and refuses the others.
fn split(word: &OsStr) -> Option<(OsString, Option<&'static Spelling>, Option<OsString>)> {
    let bytes = word.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let name = std::str::from_utf8(&bytes[..end]).ok().filter(|name| name.starts_with('-'))?;
    let value = bytes.get(end + 1..).map(|value| OsStr::from_bytes(value).to_owned());
    let hyphened = match name.strip_prefix("--") {
        Some(long) => format!("--{}", long.replace('_', "-")),
        None => name.to_owned(),
    };
    let is_named = |spelling: &&Spelling| {
        hyphened.strip_prefix("--") == Some(spelling.long) || spelling.others.contains(&hyphened.as_str())
    };
    match SPELLINGS.iter().find(is_named) {
        Some(spelling) => Some((format!("--{}", spelling.long).into(), Some(spelling), value)),
        None => name.starts_with("--").then(|| (hyphened.into(), None, value)),
    }
}

pub(super) fn truth(word: &OsStr) -> Option<bool> {
    match word.to_str()?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "y" | "t" => Some(true),
        "0" | "false" | "no" | "n" | "f" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> String {
        let words = expand(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_boolean_takes_the_next_word_only_if_it_is_a_truth_value() {
        for (line, expected) in [
            ("--dump model.onnx", "--dump=true model.onnx"),
            ("--dump 0 model.onnx", "--dump=false model.onnx"),
            ("--dump Yes", "--dump=true"),
            ("-pf --output o", "--profiler=true --output o"),
            ("-pf=F", "--profiler=false"),
            ("--dump=maybe", "--dump=maybe"),
            ("--loop 1", "--loop 1"),
            ("--dump 10", "--dump=true 10"),
        ] {
            assert_eq!(expanded(&format!("opscope benchmark {line}")), format!("opscope benchmark {expected}"));
        }
    }

    #[test]
    fn only_names_of_options_change_and_only_behind_the_command() {
        for (line, expected) in [
            ("opscope benchmark --output_dirname=my_run", "opscope benchmark --output-dirname=my_run"),
            ("opscope benchmark -o out_dir my_model.onnx", "opscope benchmark --output out_dir my_model.onnx"),
            ("opscope benchmark --unknown_name x_y", "opscope benchmark --unknown-name x_y"),
            ("opscope benchmark -- -om --dump_npy 1", "opscope benchmark -- -om --dump_npy 1"),
            ("opscope --verbose benchmark -om m", "opscope --verbose benchmark --model m"),
            ("opscope export -o benchmark", "opscope export -o benchmark"),
            ("opscope debug m --dym_batch 2 -ex --a_b", "opscope debug m --dym-batch 2 --ex --a_b"),
            ("opscope debug -x -pf -ex", "opscope debug -x -pf --ex"),
            ("opscope benchmark -ex --a_b", "opscope benchmark -ex --a-b"),
            ("opscope benchmark -h", "opscope benchmark -h"),
            ("opscope", "opscope"),
        ] {
            assert_eq!(expanded(line), expected);
        }
    }

    #[test]
    fn values_that_are_not_utf8_stay_as_they_are() {
        let word = OsStr::from_bytes(b"--output_dirname=\xff").to_owned();
        let words = expand(["opscope".into(), "benchmark".into(), word]);
        assert_eq!(words[2].as_bytes(), b"--output-dirname=\xff");
    }
}
