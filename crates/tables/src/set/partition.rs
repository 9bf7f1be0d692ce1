//! The partition of a set that a recording's rows belong to.

use std::path::PathBuf;

use opscope_profile::Recording;
use xxhash_rust::xxh3::xxh3_64;

/// The maximum length of a name in a path. File systems allow 255 bytes.
const LONGEST: usize = 100;
/// The value that readers interpret as missing.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
const NANOS_PER_DAY: u64 = 86_400_000_000_000;

/// The day on which a recording began (UTC), its model and its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    date: String,
    model: String,
    host: String,
}

impl Partition {
    /// Returns the partition of a recording.
    pub(super) fn of(recording: &Recording) -> Self {
        let manifest = recording.manifest();
        Self {
            date: date(manifest.clock.start_unix_ns),
            model: path_value(&recording.model_name()),
            host: path_value(&manifest.host.name),
        }
    }

    /// Returns the directory, relative to that of a table: `date=2026-11-23/model=resnet50/host=rack4`.
    pub(super) fn directory(&self) -> PathBuf {
        let Self { date, model, host } = self;
        PathBuf::from(format!("date={date}/model={model}/host={host}"))
    }
}

/// Returns a name in a form for paths: letters, digits, `.`, `_` and `-` are kept, and other characters become `_`. If
/// that changes the name, a hash of the original is appended, so that two names never become one. A missing name is
/// `unknown`.
fn path_value(name: &str) -> String {
    if name.is_empty() {
        return "unknown".to_owned();
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if name.len() <= LONGEST && name.chars().all(plain) && name != NULL {
        return name.to_owned();
    }
    let kept: String = name.chars().take(LONGEST).map(|letter| if plain(letter) { letter } else { '_' }).collect();
    format!("{kept}-{:016x}", xxh3_64(name.as_bytes()))
}

/// Returns the day of a moment in nanoseconds since 1970, such as `2026-11-23`.
fn date(unix_nanos: u64) -> String {
    // Days are counted from March 1 of the year 0, so that a leap day ends a year.
    let days = unix_nanos / NANOS_PER_DAY + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |days: u64| date(days * NANOS_PER_DAY + 1);
        assert_eq!([0, 58, 59, 365].map(day), ["1970-01-01", "1970-02-28", "1970-03-01", "1971-01-01"]);
        assert_eq!([11_016, 11_017, 20_780].map(day), ["2000-02-29", "2000-03-01", "2026-11-23"]);
        assert_eq!(date(20_781 * NANOS_PER_DAY - 1), "2026-11-23");
        assert_eq!(date(u64::MAX), "2554-07-21");
    }

    #[test]
    fn no_name_leaves_its_directory_and_no_two_names_become_one() {
        let hostile =
            ["../../etc", "a/b", "a_b", "a b", "a=b", "%2e%2e", "..", ".", "", NULL, "é", "e\u{301}", "x\n", "x\0"];
        let long = ["l".repeat(300), "l".repeat(301), "é".repeat(200)];
        let names: Vec<&str> = hostile.into_iter().chain(long.iter().map(String::as_str)).collect();
        let values: std::collections::BTreeSet<String> = names.iter().map(|name| path_value(name)).collect();
        assert_eq!(values.len(), names.len(), "{values:?}");
        for value in values {
            assert!(value.len() < 128 && !value.contains(['/', '=', '%', '\n', '\0', ' ']), "{value}");
        }
        assert_eq!(path_value("resnet50-v1.5_int8"), "resnet50-v1.5_int8");
    }
}
