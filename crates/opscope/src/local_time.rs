use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Local};

/// Returns the local date and time, or the beginning of 1970 if the clock is outside of the calendar.
pub fn local_time() -> DateTime<Local> {
    local_time_at(SystemTime::now())
}

fn local_time_at(time: SystemTime) -> DateTime<Local> {
    /// The years 1 to 9999, in seconds since 1970.
    const CALENDAR: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).ok(),
        Err(before) => i64::try_from(before.duration().as_secs()).ok().map(|seconds| -seconds),
    };
    let time =
        seconds.filter(|seconds| CALENDAR.contains(seconds)).and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.unwrap_or_default().with_timezone(&Local)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn any_clock_gives_a_time() {
        let year = |seconds: Option<SystemTime>| seconds.map(|time| local_time_at(time).format("%Y").to_string());
        for distance in [0, 1, 1 << 33, 62_135_596_800, 253_402_300_799, 8_200_000_000_000, 1 << 45, i64::MAX as u64] {
            let distance = Duration::from_secs(distance);
            for year in
                [UNIX_EPOCH.checked_add(distance), UNIX_EPOCH.checked_sub(distance)].map(year).into_iter().flatten()
            {
                assert!(!year.is_empty());
            }
        }
        assert_eq!(year(UNIX_EPOCH.checked_add(Duration::from_secs(7_500_000_000))).as_deref(), Some("2207"));
        assert_eq!(year(UNIX_EPOCH.checked_sub(Duration::from_secs(500_000_000))).as_deref(), Some("1954"));
    }
}
