//! Notes on the size of a recording, and on what it or its exports lack.

use opscope::text::{shell_path, shown_size};
use opscope::trace::Bytes;
use opscope_job::benchmark::{CaptureSpec, Job, ProfileSummary};

use crate::options::Action;

/// The size of a recording, in bytes, is announced if it is at least this.
const WORTH_A_WORD: u64 = 16 << 20;

/// Returns the size limit of the job's recording; `None` if there is none.
pub fn budget(job: &Job, action: &Action) -> Option<Bytes> {
    match (&job.capture, action) {
        (CaptureSpec::Profile { options, .. }, _) => options.budget,
        (_, Action::AclJson { profiler, .. }) => profiler.budget,
        _ => None,
    }
}

/// Returns a note on the expected size of a recording; `None` for a small one.
pub fn expected(bytes: u64, budget: Option<Bytes>) -> Option<String> {
    let size = shown_size(bytes);
    match budget.filter(|budget| budget.get() < bytes) {
        Some(budget) => {
            let budget = shown_size(budget.get());
            Some(format!(
                "all runs would take about {size} in the recording, which ends at {budget} (--profile-budget)"
            ))
        }
        None if bytes >= WORTH_A_WORD => Some(format!("the recording will take about {size}")),
        None => None,
    }
}

/// Returns notes on the size of a recording, and on what it or its exports lack.
pub fn notes(profile: &ProfileSummary) -> Vec<String> {
    let mut notes = Vec::new();
    let directory = shell_path(&profile.directory);
    if profile.recording_bytes >= WORTH_A_WORD {
        notes.push(format!("the recording takes {}", shown_size(profile.recording_bytes)));
    }
    if profile.runs_beyond_budget > 0 {
        let runs = profile.runs_beyond_budget;
        notes.push(format!(
            "the recording has reached its budget; {runs} runs after that are not in it (--profile-budget)"
        ));
    }
    if profile.skipped_exports {
        notes.push(format!("exports were skipped; make them with: opscope export {directory}"));
        if profile.account.is_none() {
            notes.push(format!("to see where the time went: opscope inspect {directory}"));
        }
    }
    if let Some(shown) = profile.shown_runs {
        notes.push(format!(
            "timelines and op_summary.csv show {shown} (--timeline-runs); all other numbers are of all runs"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_recording_is_announced_if_it_is_large_or_above_its_budget() {
        assert_eq!(expected(1 << 20, None), None);
        assert_eq!(expected(1 << 20, Some(Bytes::mib(2))), None);
        assert_eq!(expected(512 << 20, None).unwrap(), "the recording will take about 512.0 MiB");
        let above = expected(3 << 20, Some(Bytes::mib(2))).unwrap();
        assert!(above.contains("about 3.0 MiB") && above.contains("ends at 2.0 MiB"), "{above}");
    }
}
