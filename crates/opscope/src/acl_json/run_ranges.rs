use std::ops::RangeInclusive;
use std::str::FromStr;

/// Which runs are captured, counted from 0, as `dump_step` writes it: `0|5-10|20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRanges(Vec<RangeInclusive<u64>>);

impl RunRanges {
    /// How many parts there may be.
    pub const MOST_PARTS: usize = 100;

    /// Whether this run is one of them.
    pub fn contains(&self, run: u64) -> bool {
        self.0.iter().any(|range| range.contains(&run))
    }

    /// The ranges, as written; both ends belong to them.
    pub fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.0
    }
}

impl FromStr for RunRanges {
    type Err = String;

    /// Reads `0|5-10|20`. The error says what is wrong, without a place.
    fn from_str(text: &str) -> Result<RunRanges, String> {
        let parts: Vec<_> = text.split('|').collect();
        if parts.len() > RunRanges::MOST_PARTS {
            return Err(format!("there are {} parts, and {} are allowed", parts.len(), RunRanges::MOST_PARTS));
        }
        parts.into_iter().map(part).collect::<Result<_, _>>().map(RunRanges)
    }
}

fn part(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |digits: &str| {
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let value = if all_digits { digits.parse().ok() } else { None };
        value.ok_or_else(|| format!("\"{}\" is not a run's number", super::field::shortened(digits)))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("{first}-{last} ends before it begins"));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_belong_to_it() {
        let runs: RunRanges = "0|5-10|20".parse().unwrap();
        let captured: Vec<u64> = (0..30).filter(|run| runs.contains(*run)).collect();
        assert_eq!(captured, [0, 5, 6, 7, 8, 9, 10, 20]);
    }

    #[test]
    fn what_is_not_a_list_of_runs_is_refused_with_the_part_named() {
        for (text, says) in [
            ("", "\"\""),
            ("1|", "\"\""),
            ("3-1", "3-1 ends before it begins"),
            ("1-2-3", "\"2-3\""),
            ("+1", "\"+1\""),
            ("x", "\"x\""),
            ("18446744073709551616", "18446744073709551616"),
        ] {
            let error = text.parse::<RunRanges>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!("1|".repeat(99).to_owned().trim_end_matches('|').parse::<RunRanges>().is_ok());
        assert!(format!("{}1", "1|".repeat(100)).parse::<RunRanges>().unwrap_err().contains("101 parts"));
    }
}
