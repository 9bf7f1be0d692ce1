//! Reads the values of options.
//!
//! Shapes of dynamic inputs: `--dym-shape`, `--dym-shape-range` and `--dym-hw`.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use opscope::trace::Bytes;
use opscope_job::inputs::{NamedShape, ShapeSpec};

use super::refusal::Refusal;
use super::spellings;

/// Makes a parser that accepts one of these values by its name. A refusal lists the names. Case is ignored if the
/// argument says `ignore_case`.
pub fn one_of<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = T>,
    name: fn(&T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<T> = values.into_iter().collect();
    let names = PossibleValuesParser::new(values.iter().map(name));
    names.map(move |given: String| {
        let found = values.iter().find(|value| name(value).eq_ignore_ascii_case(&given));
        found.cloned().expect("the parser of names takes no other text")
    })
}

/// Reads `true` or `false`, in any of the spellings that [`expand`](super::expand) knows.
pub fn truth(text: &str) -> Result<bool, &'static str> {
    spellings::truth(text.as_ref()).ok_or("write one of 1, true, yes, y, t, 0, false, no, n, f")
}

/// Reads a time above 0, such as `2.5` or `2.5s`.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let number = text.strip_suffix('s').unwrap_or(text).parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let seconds = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("write a number of seconds above 0")
}

/// Reads a percentage above 0 and up to 100, such as `2.5` or `2.5%`.
pub fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = number.filter(|number| *number > 0.0 && *number <= 100.0);
    percent.ok_or("write a number above 0 and up to 100")
}

/// Reads a size above 0 such as `4096`, `64K`, `64KiB`, `8M`, `1G`: powers of 1024.
pub fn size(text: &str) -> Result<Bytes, &'static str> {
    bytes(text).ok_or("write a size above 0 such as 65536, 64K or 8M (powers of 1024)")
}

fn bytes(text: &str) -> Option<Bytes> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    let bytes = text[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes > 0).then(|| Bytes::new(bytes))
}

/// A size limit; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub Option<Bytes>);

/// Reads a size, or `none`.
pub fn budget(text: &str) -> Result<Budget, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Budget(None));
    }
    size(text).map(|size| Budget(Some(size))).map_err(|right| format!("{right}, or none"))
}

/// Checks a number of threads: a system becomes unusable before it refuses a very large one.
pub fn threads(option: &'static str, threads: Option<NonZeroUsize>) -> Result<Option<NonZeroUsize>, Refusal> {
    const MOST: usize = 256;
    match threads.filter(|threads| threads.get() > MOST) {
        Some(many) => Err(Refusal::Value { option, what: format!("{many} are too many"), right: "write 1 to 256" }),
        None => Ok(threads),
    }
}

/// Shapes of some of the model's inputs.
type ShapeSet = Vec<NamedShape>;

/// How many sets of shapes a range may stand for.
const MOST_SETS: usize = 10_000;

/// The largest file of ranges.
const LARGEST_FILE: u64 = 16 << 20;

const SET: &str = "write the inputs and their dimensions, such as \"data:1,600;info:1,600\"";
const RANGE: &str = "write ranges as a~b or a~b~step and alternatives with -, \
                     such as \"data:1,3,200~224,224-300;info:1~4\", \
                     or name a .info file with one such line per set of shapes";

/// What is wrong with the text of shapes.
#[derive(Debug, thiserror::Error)]
enum WrongShapes {
    #[error("'{0}' has no ':' behind a name")]
    NoColon(String),
    #[error("'{0}' names no input")]
    NoName(String),
    #[error("'{0}' is given twice")]
    Twice(String),
    #[error("'{0}' has too many '~'")]
    TooManyBounds(String),
    #[error("'{0}' ends before it begins")]
    Empty(String),
    #[error("'{0}' is not a dimension, which is a whole number above 0")]
    NotADimension(String),
    #[error("it stands for more than {MOST_SETS} sets of shapes")]
    TooManySets,
}

/// Reads `name:1,600;other:1,600`.
pub fn shape_set(option: &'static str, text: &str) -> Result<Vec<NamedShape>, Refusal> {
    let refuse = |wrong: WrongShapes| Refusal::Value { option, what: wrong.to_string(), right: SET };
    let dims = |dims: &str| dims.split(',').map(|dim| number(dim).map(|dim| vec![dim.get()])).collect();
    let inputs = inputs(text, dims).map_err(refuse)?;
    let one = |(name, dims): (String, Vec<Vec<usize>>)| NamedShape { name, dims: dims.concat() };
    Ok(inputs.into_iter().map(one).collect())
}

/// Reads `height,width`.
pub(super) fn height_width(text: &str) -> Result<ShapeSpec, Refusal> {
    let refuse = |what| Refusal::Value { option: "--dym-hw", what, right: "write height and width, such as 224,224" };
    let (height, width) = text.split_once(',').ok_or_else(|| refuse(format!("'{text}' is one number")))?;
    let number = |text| number(text).map_err(|wrong| refuse(wrong.to_string()));
    let (height, width) = (number(height)?, number(width)?);
    Ok(ShapeSpec::HeightWidth(height.get(), width.get()))
}

/// Reads a range such as `a:1,3,200~224,224-300;b:1~4`, or a `.info` file with one on each line. Returns every set of
/// shapes that it stands for, each once; the last dimension varies fastest.
pub(super) fn shape_range(text: &str) -> Result<Vec<Vec<NamedShape>>, Refusal> {
    let refuse = |what| Refusal::Value { option: "--dym-shape-range", what, right: RANGE };
    if !text.ends_with(".info") {
        return expand_range(text).map_err(|wrong| refuse(wrong.to_string()));
    }
    let lines = opscope::files::read_text(Path::new(text), LARGEST_FILE)
        .map_err(|error| refuse(format!("'{text}': {error}")))?;
    let mut sets = Vec::new();
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let more =
            expand_range(line.trim()).map_err(|what| refuse(format!("'{text}', line {}: {what}", number + 1)))?;
        sets.extend(more);
        if sets.len() > MOST_SETS {
            return Err(refuse(WrongShapes::TooManySets.to_string()));
        }
    }
    if sets.is_empty() {
        return Err(refuse(format!("'{text}' is empty")));
    }
    Ok(without_repeats(sets))
}

fn without_repeats(sets: Vec<ShapeSet>) -> Vec<ShapeSet> {
    let mut seen = HashSet::new();
    sets.into_iter().filter(|set| seen.insert(set.clone())).collect()
}

fn expand_range(text: &str) -> Result<Vec<ShapeSet>, WrongShapes> {
    let inputs = inputs(text, |dims| dims.split(',').map(choices).collect())?;
    let lengths = inputs.iter().flat_map(|(_, dims)| dims).map(Vec::len);
    let sets = lengths.fold(1usize, usize::saturating_mul);
    if sets > MOST_SETS {
        return Err(WrongShapes::TooManySets);
    }
    let set = |number: usize| {
        // The digits of this number, from the right, choose one alternative of each dimension.
        let mut rest = number;
        let mut shapes: Vec<NamedShape> = inputs
            .iter()
            .rev()
            .map(|(name, dims)| {
                let mut chosen: Vec<usize> = dims
                    .iter()
                    .rev()
                    .map(|choices| {
                        let choice = choices[rest % choices.len()];
                        rest /= choices.len();
                        choice
                    })
                    .collect();
                chosen.reverse();
                NamedShape { name: name.clone(), dims: chosen }
            })
            .collect();
        shapes.reverse();
        shapes
    };
    Ok(without_repeats((0..sets).map(set).collect()))
}

/// Every input's name and the alternatives of each of its dimensions.
type Alternatives = Vec<(String, Vec<Vec<usize>>)>;

fn inputs(
    text: &str,
    dims: impl Fn(&str) -> Result<Vec<Vec<usize>>, WrongShapes>,
) -> Result<Alternatives, WrongShapes> {
    let mut inputs: Alternatives = Vec::new();
    for part in text.trim_end_matches(';').split(';') {
        // ONNX names may contain a colon, as in "input:0".
        let (name, shape) = part.rsplit_once(':').ok_or_else(|| WrongShapes::NoColon(part.to_owned()))?;
        if name.is_empty() {
            return Err(WrongShapes::NoName(part.to_owned()));
        }
        if inputs.iter().any(|(other, _)| other == name) {
            return Err(WrongShapes::Twice(name.to_owned()));
        }
        inputs.push((name.to_owned(), dims(shape)?));
    }
    Ok(inputs)
}

fn choices(dim: &str) -> Result<Vec<usize>, WrongShapes> {
    let mut all = Vec::new();
    for choice in dim.split('-') {
        let bounds: Vec<_> =
            choice.split('~').map(|bound| number(bound).map(NonZeroUsize::get)).collect::<Result<_, _>>()?;
        let (first, last, step) = match bounds[..] {
            [single] => (single, single, 1),
            [first, last] => (first, last, 1),
            [first, last, step] => (first, last, step),
            _ => return Err(WrongShapes::TooManyBounds(choice.to_owned())),
        };
        if first > last {
            return Err(WrongShapes::Empty(choice.to_owned()));
        }
        if (last - first) / step >= MOST_SETS {
            return Err(WrongShapes::TooManySets);
        }
        all.extend((0..=(last - first) / step).map(|at| first + at * step));
    }
    Ok(all)
}

fn number(text: &str) -> Result<NonZeroUsize, WrongShapes> {
    let text = text.trim();
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if all_digits { text.parse().ok() } else { None };
    value.ok_or_else(|| WrongShapes::NotADimension(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_and_never_zero_or_too_large() {
        for (text, bytes) in [("4096", 4096), ("64K", 65536), ("8MiB", 8 << 20), ("1gb", 1 << 30)] {
            assert_eq!(size(text), Ok(Bytes::new(bytes)));
        }
        for text in ["", "0", "K", "-1", "1.5M", "1T", "99999999999999999999", "18446744073709551615K"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    /// Formats the set in the notation of the command line.
    fn written(set: &[NamedShape]) -> String {
        let shape = |shape: &NamedShape| {
            let dims: Vec<_> = shape.dims.iter().map(usize::to_string).collect();
            format!("{}:{}", shape.name, dims.join(","))
        };
        set.iter().map(shape).collect::<Vec<_>>().join(";")
    }

    fn table(text: &str) -> Vec<String> {
        let sets = shape_range(text).unwrap_or_else(|error| panic!("{error}"));
        sets.iter().map(|set| written(set)).collect()
    }

    #[test]
    fn names_may_have_colons_and_the_set_is_written_as_it_was_read() {
        for text in ["data:1,600;info:1,600", "input:0:1,3", "/model/x.y:7"] {
            assert_eq!(written(&shape_set("--dym-shape", text).unwrap()), text);
        }
        assert_eq!(shape_set("--dym-shape", "input:0:1,3").unwrap()[0].name, "input:0");
        assert_eq!(written(&shape_set("--dym-shape", "a: 1, 2;").unwrap()), "a:1,2");
    }

    #[test]
    fn a_range_stands_for_every_combination_the_last_dimension_first() {
        assert_eq!(table("a:1~3"), ["a:1", "a:2", "a:3"]);
        assert_eq!(table("a:2~9~3"), ["a:2", "a:5", "a:8"]);
        assert_eq!(table("a:224-300,3"), ["a:224,3", "a:300,3"]);
        assert_eq!(table("a:1-4~5"), ["a:1", "a:4", "a:5"]);
        assert_eq!(table("a:1~2,7-9;b:1~2").len(), 8);
        assert_eq!(table("a:1~2,7;b:5-6"), ["a:1,7;b:5", "a:1,7;b:6", "a:2,7;b:5", "a:2,7;b:6"]);
        assert_eq!(table("a:1-1-2"), ["a:1", "a:2"], "each set once");
        assert_eq!(table("a:1~10000").len(), 10_000);
    }

    #[test]
    fn a_file_has_a_range_on_each_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shapes.info");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            shape_range(path.to_str().unwrap())
        };
        let sets = read("a:1,3;b:2\n\na:2~3,3;b:2\n").unwrap();
        assert_eq!(sets.iter().map(|set| written(set)).collect::<Vec<_>>(), ["a:1,3;b:2", "a:2,3;b:2", "a:3,3;b:2"]);
        assert!(read("a:1\nb\n").unwrap_err().to_string().contains("line 2: 'b' has no ':'"));
        assert!(read("\n").unwrap_err().to_string().contains("is empty"));
        assert!(shape_range("/nowhere/x.info").unwrap_err().to_string().contains("No such file"));
    }

    #[test]
    fn what_is_no_shape_is_refused_with_the_part_named() {
        for (text, says) in [
            ("", "'' has no ':'"),
            ("1,2", "'1,2' has no ':'"),
            (":1", "names no input"),
            ("a:", "'' is not a dimension"),
            ("a:0", "'0' is not a dimension"),
            ("a:1;a:2", "'a' is given twice"),
            ("a:3~1", "'3~1' ends before it begins"),
            ("a:1~2~3~4", "too many '~'"),
            ("a:1~18446744073709551615", "more than 10000 sets"),
            ("a:1~101,1~100", "more than 10000 sets"),
            ("a:1~5~0", "'0' is not a dimension"),
        ] {
            let error = shape_range(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(shape_set("--dym-shape", "a:1~2").unwrap_err().to_string().contains("'1~2' is not a dimension"));
        assert!(height_width("224").is_err() && height_width("224,0").is_err());
    }
}
