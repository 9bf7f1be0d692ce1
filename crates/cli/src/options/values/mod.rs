//! Reads the values of options.

mod shapes;

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use opscope::trace::Bytes;

use super::{refusal::Refusal, spellings};

pub use shapes::shape_set;
pub(super) use shapes::{height_width, shape_range};

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
}
