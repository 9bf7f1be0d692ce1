use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::DumpError;
use opscope_model::RunId;

/// A set of runs. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    ranges: Option<Vec<RangeInclusive<u64>>>,
}

impl Runs {
    /// The maximum number of parts in a list.
    pub const MOST_PARTS: usize = 100;

    /// Returns whether one of the first `runs` runs is in the set.
    pub(super) fn any_of(&self, runs: u64) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| *range.start() < runs))
    }

    /// Returns whether a run is in the set.
    pub fn contains(&self, run: RunId) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&run.0)))
    }
}

/// Parses a list in the syntax of acl.json's `dump_step`: `0|5-10|20`, with at most [`Runs::MOST_PARTS`] parts.
impl FromStr for Runs {
    type Err = DumpError;

    fn from_str(text: &str) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::Runs { text: text.into(), reason };
        let parts: Vec<&str> = text.split('|').collect();
        if parts.len() > Self::MOST_PARTS {
            return Err(wrong(format!("it has {} parts, more than {}", parts.len(), Self::MOST_PARTS)));
        }
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| wrong(format!("'{digits}' is no number of a run"))),
            false => Err(wrong(format!("'{digits}' is no number"))),
        };
        let mut ranges = Vec::new();
        for part in parts {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong(format!("{first} is greater than {last}")));
            }
            ranges.push(first..=last);
        }
        Ok(Self { ranges: Some(ranges) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_runs_is_read_as_acl_json_writes_it() {
        let runs: Runs = "0|5-10|20".parse().unwrap();
        let meant: Vec<u64> = (0..30).filter(|&run| runs.contains(RunId(run))).collect();
        assert_eq!(meant, [0, 5, 6, 7, 8, 9, 10, 20]);
        assert!(Runs::default().contains(RunId(u64::MAX)));
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_with_what_is_wrong() {
        for (text, reason) in [("", "no number"), ("5-3", "greater"), ("1,2", "no number"), ("1-2-3", "no number")] {
            assert!(text.parse::<Runs>().unwrap_err().to_string().contains(reason), "{text}");
        }
        assert!("1|".repeat(101).parse::<Runs>().is_err());
        assert!("99999999999999999999".parse::<Runs>().is_err());
    }
}
