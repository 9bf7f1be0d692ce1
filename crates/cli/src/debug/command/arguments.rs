//! Parsers for the arguments of commands.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use opscope::debug::expression::{TensorPart, TensorRef};
use opscope::debug::{BreakpointId, BreakpointSpec, EventName, EventSet, Moment, Target};
use opscope::tensor::Slice;

use super::Number;

/// Parses a number. An empty text stands for `otherwise`.
pub fn number<T: FromStr>(text: &str, otherwise: T, what: &str) -> Result<T> {
    match text {
        "" => Ok(otherwise),
        text => text.parse().map_err(|_| anyhow!("'{text}' is not {what}")),
    }
}

/// Parses a number for the elements of a tensor. Returns `None` for other texts.
pub fn element(text: &str) -> Option<Number> {
    if let Ok(number) = text.parse() {
        return Some(Number::Int(number));
    }
    // `inf` is a number here; `infinity.npy` is not.
    text.parse().ok().map(Number::Float)
}

/// Parses numbers of breakpoints, and ranges of them such as `2-4`.
pub fn breakpoints(text: &str) -> Result<Vec<BreakpointId>> {
    let wrong = |word: &str| anyhow!("'{word}' is not the number of a breakpoint; `info breakpoints` lists them");
    let mut ids = Vec::new();
    for word in text.split_whitespace() {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last): (u32, u32) = first.parse().ok().zip(last.parse().ok()).ok_or_else(|| wrong(word))?;
        if first > last || last - first > 10_000 {
            return Err(wrong(word));
        }
        ids.extend((first..=last).map(BreakpointId));
    }
    Ok(ids)
}

/// Parses the number of a breakpoint. Returns it with the rest of the text.
pub fn breakpoint(text: &str) -> Result<(BreakpointId, &str)> {
    let (number, rest) = first(text);
    if number.is_empty() {
        bail!("the number of a breakpoint is missing; `info breakpoints` lists them");
    }
    let id = number
        .parse()
        .map_err(|_| anyhow!("'{number}' is not the number of a breakpoint; `info breakpoints` lists them"))?;
    Ok((BreakpointId(id), rest))
}

/// Parses a place and the options of a breakpoint there.
pub fn spec(text: &str) -> Result<BreakpointSpec> {
    let (mut place, condition) = match split_word(text, "if") {
        Some((place, "")) => bail!("'if' is followed by a condition, as in `break {place} if nan`"),
        Some((place, condition)) => (place, Some(condition.to_owned())),
        None => (text.trim(), None),
    };
    let (mut moment, mut run) = (None, None);
    loop {
        let (front, word) = last(place);
        let (before, last_but_one) = last(front);
        match word {
            "before" | "after" if !front.is_empty() => {
                let said = if word == "before" { Moment::Before } else { Moment::After };
                if moment.replace(said).is_some() {
                    bail!("a breakpoint stops before an operator or after it; for both, set two");
                }
                place = front;
            }
            number if last_but_one == "run" && !before.is_empty() && number.parse::<u64>().is_ok() => {
                if run.is_some() {
                    bail!("a breakpoint is for all runs or for one; set another one for run {number}");
                }
                (place, run) = (before, number.parse().ok());
            }
            _ => break,
        }
    }
    Ok(BreakpointSpec { moment, condition, run, ..BreakpointSpec::at(target(place)?) })
}

/// Parses a target: operators of a model. Quotation marks enclose names with spaces.
pub fn target(text: &str) -> Result<Target> {
    Ok(unquoted(text.trim()).parse()?)
}

/// Parses a tensor or a part of it. A text that begins with none of the words for tensors is the name of a value.
pub fn part(text: &str) -> Result<TensorPart> {
    let text = text.trim();
    let word: String =
        text.chars().take_while(|letter| letter.is_alphanumeric() || "_/.:-".contains(*letter)).collect();
    if text.is_empty() || ["input", "output", "weight", "value"].contains(&word.as_str()) {
        return Ok(text.parse()?);
    }
    match text.parse::<TensorPart>() {
        Ok(part) => Ok(part),
        Err(_) => {
            let (name, slice) = text.find('[').map_or((text, ""), |at| text.split_at(at));
            let slice = (!slice.is_empty()).then(|| slice.parse::<Slice>()).transpose()?;
            Ok(TensorPart { tensor: TensorRef::Value(unquoted(name).to_owned()), slice })
        }
    }
}

/// Parses names of events. The words `all`, `default` and `none` stand for sets of them.
pub fn events(text: &str) -> Result<EventSet> {
    let mut names: Vec<EventName> = Vec::new();
    for word in text.split_whitespace() {
        match word {
            "all" => names.extend(EventName::ALL),
            "default" => names.extend(EventSet::default().iter()),
            "none" => names.extend(EventSet::ALWAYS.iter()),
            name => names.push(name.parse()?),
        }
    }
    Ok(names.into_iter().collect())
}

/// Parses a path. Quotation marks enclose one with spaces.
pub fn path(text: &str) -> Result<PathBuf> {
    match unquoted(text.trim()) {
        "" => bail!("the name of a file is missing"),
        path => Ok(PathBuf::from(path)),
    }
}

/// Parses paths with spaces between them.
pub fn paths(mut text: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    while !text.trim().is_empty() {
        let (word, rest) = first(text);
        paths.push(path(word)?);
        text = rest;
    }
    Ok(paths)
}

/// Splits a text at the first `=` outside of brackets and quotation marks.
pub fn assignment(text: &str) -> Result<(&str, &str)> {
    let (mut depth, mut quoted) = (0usize, false);
    let sign = text.char_indices().find(|(_, letter)| {
        match letter {
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        *letter == '=' && depth == 0 && !quoted
    });
    let at =
        sign.context("write what is changed and with what, as in `set output[0] = 0` or `set input[1] = x.npy`")?.0;
    Ok((text[..at].trim(), text[at + 1..].trim()))
}

/// Splits a text into its first word and the rest. Quotation marks enclose a word with spaces.
pub fn first(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = match text.strip_prefix('"').and_then(|inner| inner.find('"')) {
        Some(inner) => inner + 2,
        None => text.find(char::is_whitespace).unwrap_or(text.len()),
    };
    (&text[..end], text[end..].trim_start())
}

/// Splits a text before its last word. Quotation marks enclose a word with spaces.
pub fn last(text: &str) -> (&str, &str) {
    let text = text.trim();
    let start = match text.strip_suffix('"').and_then(|inner| inner.rfind('"')) {
        Some(inner) => inner,
        None => text.rfind(char::is_whitespace).map_or(0, |at| at + 1),
    };
    (text[..start].trim_end(), &text[start..])
}

/// Splits a text around the first occurrence of a word that is not its first word.
fn split_word<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut places = text.match_indices(word);
    let at = places.find(|(at, _)| {
        let (front, behind) = (&text[..*at], &text[*at + word.len()..]);
        !front.trim().is_empty()
            && front.ends_with(char::is_whitespace)
            && (behind.is_empty() || behind.starts_with(char::is_whitespace))
    })?;
    Some((text[..at.0].trim(), text[at.0 + word.len()..].trim()))
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
